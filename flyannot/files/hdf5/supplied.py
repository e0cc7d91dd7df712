"""Look-up of the models that come with flyannot, whose names commands accept in place of a model file.

`models.toml`, beside the files, is the card of each model: its source and licence, where it was measured, and
what to cite.
"""

from functools import cache
from importlib.resources import files
from pathlib import Path

from flyannot.base.errors import DataError, InputError, did_you_mean
from flyannot.files.hdf5.reading import open_stored_file
from flyannot.files.text_files import read_toml

_FOLDER = Path(str(files("flyannot") / "models"))
_CARDS = _FOLDER / "models.toml"
_HEADINGS = {"what": "Model", "use": "Intended use", "source": "Training data", "evaluation": "Evaluation"}
_RESPONSIBLE = {"author": "Author", "licence": "Licence", "contact": "Contact"}  # of every shared model
_HEADINGS |= {"not_measured": "Not measured", "cite": "Citation"} | _RESPONSIBLE
STAGE_MODEL = _FOLDER / "stages.h5"  # its terms are stage ranges, see `flyannot.pipeline.models.stage_model`


def find_supplied_model(stage_ranges):
    """Return the Path of a model that comes with flyannot and predicts terms in one of some stage ranges.

    `stage_ranges` is a set of str. Returns None if there is no such model.
    """
    for path in sorted({*supplied_models()} - {STAGE_MODEL}):
        if stage_ranges.intersection(open_stored_file(path, "model").stage_ranges):
            return path
    return None


def supplied_models():
    """Return the Paths of the models that come with flyannot."""
    return sorted(_FOLDER.glob("*.h5"))


@cache
def _names_by_digest():
    """Return a dict from the digest of each model that comes with flyannot to its name."""
    return {open_stored_file(path, "model").digest: path.stem for path in supplied_models()}


def supplied_name(digests):
    """Return the name of the supplied model whose digest is one of some; "" if none is."""
    return next((name for digest, name in _names_by_digest().items() if digest in digests), "")


def format_card(name):
    """Format the card of a supplied model; raise InputError if there is no such model."""
    cards = read_toml(_CARDS)
    if name not in cards:
        what = f'no model "{name}" comes with flyannot.{did_you_mean(name, cards)}'
        raise InputError(what, fix=f"use one of {', '.join(cards)}; for a file: flyannot show {name}")
    return "\n".join(f"- **{heading}**: {cards[name][key]}" for key, heading in _HEADINGS.items())


def format_responsible(model):
    """Say who made a model, its licence, and whom to ask; raise DataError if its card lacks one of these.

    The card is in `models.toml` beside the model, under the name of the model.

    model : Path
    """
    path = model.with_name(_CARDS.name)
    card = read_toml(path).get(model.stem)
    said = {name: card.get(name) for name in _RESPONSIBLE} if isinstance(card, dict) else {}
    if lacking := [name for name in _RESPONSIBLE if not isinstance(said.get(name), str)]:
        what = f"{path} does not say {', '.join(lacking)} of {model.stem}"
        raise DataError(what, fix=f'write [{model.stem}] and lines such as {lacking[0]} = "..."')
    return "; ".join(f"{name}: {text}" for name, text in said.items())


def measured_on(stored):
    """Return " on ..." with the genes on which a supplied model was measured; "" for another model.

    stored : open StoredFile of a model, or of predictions
    """
    name = supplied_name({stored.digest, *stored.inputs.get("model", ())})
    return f" on {read_toml(_CARDS)[name]['measured']}" if name else ""


def supplied_path(name):
    """Return the Path of the model file of this name that comes with flyannot; it may be missing."""
    return _FOLDER / f"{name}.h5"


def resolve_model_path(named):
    """Return the Path of the model file that a user named by its path, or by the name of a supplied model.

    `named` is a Path. If it is the name of a supplied model, the Path of the supplied model is returned;
    otherwise `named` itself.

    Raises
    ------
    InputError
        If a file or folder has the name of a supplied model: nobody knows which of both is meant.
    """
    supplied = supplied_path(named.name)
    if len(named.parts) > 1 or not supplied.is_file():
        return named
    if named.exists():
        what = f'"{named}" is the name of a model that comes with flyannot, and of something in this folder'
        raise InputError(what, fix=f"rename {named}, or give the file by a longer path: {named.absolute()}")
    return supplied
