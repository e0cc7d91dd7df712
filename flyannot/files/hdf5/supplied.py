"""Look-up of the models that come with flyannot, whose names commands accept in place of a model file.

`models.toml`, beside the files, names the source and licence of each model, and what to cite.
"""

from importlib.resources import files
from pathlib import Path

from flyannot.files.hdf5.reading import open_stored_file

_FOLDER = Path(str(files("flyannot") / "models"))
STAGE_MODEL = _FOLDER / "stages.h5"  # its terms are stage ranges, see `flyannot.pipeline.models.stage_model`


def find_supplied_model(stage_ranges):
    """Return the Path of a model that comes with flyannot and predicts terms in one of some stage ranges.

    `stage_ranges` is a set of str. Returns None if there is no such model.
    """
    for path in sorted({*_FOLDER.glob("*.h5")} - {STAGE_MODEL}):
        stored = open_stored_file(path, "model")
        if stage_ranges.intersection(stored.stage_ranges):
            return path
    return None


def supplied_digests():
    """Return a dict from the name of each model that comes with flyannot to the digest of its file."""
    digests = {}
    for path in sorted(_FOLDER.glob("*.h5")):
        stored = open_stored_file(path, "model")
        digests[path.stem] = stored.digest
    return digests


def supplied_path(name):
    """Return the Path of the model file of this name that comes with flyannot; it may be missing."""
    return _FOLDER / f"{name}.h5"


def resolve_model_path(named):
    """Return the Path of the model file that a user named by its path, or by the name of a supplied model.

    `named` is a Path. If it is the name of a supplied model, and no file has this path, the Path of the
    supplied model is returned; otherwise `named` itself.
    """
    supplied = supplied_path(named.name)
    return supplied if len(named.parts) == 1 and not named.exists() and supplied.is_file() else named
