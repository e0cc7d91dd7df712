"""The models that come with flyannot: a command takes their names where it takes a model file.

`models.toml`, beside their files, says where each comes from, under which licence, and what to cite.
"""

from importlib.resources import files
from pathlib import Path

from flyannot.files.hdf5.reading import open_stored

_FOLDER = Path(str(files("flyannot") / "models"))


def supplied_model_for(stage_ranges):
    """Return the path of a supplied model that knows one of these stage ranges, a set; None without one."""
    for path in sorted(_FOLDER.glob("*.h5")):
        with open_stored(path, "model") as stored:
            if stage_ranges.intersection(stored.stage_ranges):
                return path
    return None


def path_of_model(named):
    """Return the file that a Path names, or that of the supplied model of this name if there is no such
    file."""
    supplied = _FOLDER / f"{named.name}.h5"
    return supplied if len(named.parts) == 1 and not named.exists() and supplied.is_file() else named
