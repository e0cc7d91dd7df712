"""The models that come with flyannot: a command takes their names where it takes a model file."""

import tomllib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from flyannot.files.hdf5.model import read_method, read_terms, read_train_genes
from flyannot.files.hdf5.reading import open_stored

_FOLDER = Path(str(files("flyannot") / "models"))


@dataclass(frozen=True)
class SuppliedModel:
    """One of them.  name : what commands take; what, source, licence, cite : sentences"""

    name: str
    what: str
    source: str
    licence: str
    cite: str

    @property
    def path(self):
        return _FOLDER / f"{self.name}.h5"

    @property
    def stage_ranges(self):
        with open_stored(self.path, "model") as stored:
            return stored.stage_ranges


def supplied_models():
    """Every `SuppliedModel`, by its name."""
    tables = tomllib.loads((files("flyannot") / "models" / "models.toml").read_text(encoding="utf-8"))
    return {name: SuppliedModel(name, **table) for name, table in tables.items()}


def path_of_model(named):
    """The file that a Path names, or that of the supplied model of this name where there is no such file."""
    if named.exists() or len(named.parts) > 1:
        return named
    supplied = supplied_models().get(named.name)
    return supplied.path if supplied else named


def model_facts():
    """What each is, and what it knows, as a dict that JSON can hold."""
    facts = {}
    for name, supplied in supplied_models().items():
        known = {}
        with open_stored(supplied.path, "model") as stored:
            for s in stored.stage_ranges:
                genes, method = len(read_train_genes(stored, s)), read_method(stored, s)
                known[s] = {"n_genes": genes, "method": method, "terms": read_terms(stored, s)}
            about = {"file": str(supplied.path), "digest": stored.digest}
        facts[name] = vars(supplied) | about | {"stage_ranges": known}
    return facts


def models_in_words(facts):
    """What `model_facts` returns as lines of text."""
    lines = []
    for name, model in facts.items():
        told = ("what", "source", "licence", "cite", "file", "digest")
        lines += [name, *(f"  {what:<8} {model[what]}" for what in told)]
        for s, known in model["stage_ranges"].items():
            terms = ", ".join(known["terms"])
            lines.append(f"  {s:<8} {len(known['terms'])} terms from {known['n_genes']} genes: {terms}")
    return "\n".join(lines)
