"""The models that come with flyannot: commands take their names as well as model files.

`models.toml`, beside the files, names the source and licence of each model, and what to cite.
"""

from importlib.resources import files
from pathlib import Path

from flyannot.files.hdf5.reading import open_stored

_FOLDER = Path(str(files("flyannot") / "models"))


def find_supplied_model(stage_ranges):
    """Return the path of a supplied model that knows one of these stage ranges, a set.

    None if there is no such model.
    """
    for path in sorted(_FOLDER.glob("*.h5")):
        with open_stored(path, "model") as stored:
            if stage_ranges.intersection(stored.stage_ranges):
                return path
    return None


def resolve_model_path(named):
    """Return the file of a supplied model if the Path is its name; otherwise return the Path itself."""
    supplied = _FOLDER / f"{named.name}.h5"
    return supplied if len(named.parts) == 1 and not named.exists() and supplied.is_file() else named
