"""The public data sets of `registry.toml`: what each is, where it comes from, and whether it is there.

A data set is the folder of its name below the folder that FLYANNOT_DATA names.
"""

import hashlib
import os
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from flyannot.errors import InputError
from flyannot.runtime.digest import digest_of_file

VARIABLE = "FLYANNOT_DATA"


@dataclass(frozen=True)
class PublicDataSet:
    """One data set.

    name : also of its folder; what, source, licence, cite, get : sentences
    files : dict from path within the folder to SHA-256 of the copy that was measured; of a path that ends in
        "/", the SHA-256 of `digest_of_folder`
    """

    name: str
    what: str
    source: str
    licence: str
    cite: str
    get: str
    files: dict

    def state(self, data):
        """ "absent", "as measured", or which files are "missing" or "other" in `data`, a Path or None."""
        folder = None if data is None else data / self.name
        if folder is None or not folder.is_dir():
            return "absent"
        lists = {"missing": [], "other": []}
        for name, measured in self.files.items():
            path = folder / name
            if not path.exists():
                lists["missing"].append(name)
            elif (digest_of_folder if path.is_dir() else digest_of_file)(path) != measured:
                lists["other"].append(name)
        state = "; ".join(f"{word}: {', '.join(names)}" for word, names in lists.items() if names)
        return state or "as measured"


def public_data_sets():
    """Every `PublicDataSet` of the registry, in its order."""
    text = (files("flyannot.dataset") / "registry.toml").read_text(encoding="utf-8")
    return [PublicDataSet(name=name, **table) for name, table in tomllib.loads(text).items()]


def data_folder():
    """The folder of data sets that FLYANNOT_DATA names, or None.  InputError if what it names is no
    folder."""
    named = os.environ.get(VARIABLE)
    if named and not Path(named).is_dir():
        raise InputError(
            f"{VARIABLE} names no folder: {named}", fix="name the folder that holds the data sets"
        )
    return Path(named) if named else None


def data_set_facts():
    """The registry and what is there of it, as a dict that JSON can hold."""
    data = data_folder()
    return {
        "folder": None if data is None else str(data),
        "data_sets": [vars(data_set) | {"state": data_set.state(data)} for data_set in public_data_sets()],
    }


def data_sets_in_words(facts):
    """What `data_set_facts` returns as lines of text."""
    lines = [f"{VARIABLE} names {facts['folder'] or 'no folder'}"]
    for data_set in facts["data_sets"]:
        lines += ["", f"{data_set['name']}: {data_set['state']}"]
        lines += [f"  {what:<8} {data_set[what]}" for what in ("what", "source", "licence", "cite", "get")]
        digests = [f"{digest}  {name}" for name, digest in data_set["files"].items()]
        lines += [f"  {'' if i else 'sha256':<8} {line}" for i, line in enumerate(digests)]
    return "\n".join(lines)


def digest_of_folder(folder):
    """SHA-256 of the lines "DIGEST  FOLDER/FILE" of its files by name: `sha256sum FOLDER/* | sha256sum`."""
    lines = [f"{digest_of_file(path)}  {folder.name}/{path.name}\n" for path in sorted(folder.iterdir())]
    return hashlib.sha256("".join(lines).encode()).hexdigest()
