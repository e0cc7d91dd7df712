"""A file in another format, written whole or not at all."""

from importlib import import_module
from pathlib import Path

from flyannot.dataset.ontology import Ids, read_ontology
from flyannot.errors import InputError
from flyannot.export.formats import EXPORTS, WITH_IDS
from flyannot.runtime.atomic_file import locked, replacing
from flyannot.stage_ranges import STAGE_RANGES
from flyannot.store.reading import open_stored


def export(path, to, out, *, stage_ranges=(), ontology=(), force=False):
    """Write what a file holds in another format.

    Parameters
    ----------
    path : path of a file of one of the kinds in EXPORTS
    to : the format, one of its EXPORTS
    out : path of the file to write
    stage_ranges : those to export; empty for all that the file has
    ontology : paths of OBO files; adds the ids of terms and stage ranges, in the formats WITH_IDS
    force : bool
        Replace `out` if it is there.

    Raises
    ------
    InputError
        If the kind has no such format, a stage range is missing, `out` is there, or a package is not.
    DataError
        If `path` is damaged.
    WriteError
        If `out` cannot be written; it is then as it was.
    """
    out = Path(out)
    with open_stored(path) as stored:
        write = _writer(stored, to)
        chosen = _chosen(stored, stage_ranges)
        more = _ids(stored, to, ontology)
        if out.exists() and (not force or out.samefile(path)):
            raise InputError(f"{out} is there already", fix="add --force to replace it")
        with locked(out), replacing(out) as beside:
            write(stored, chosen, beside, **more)


def _writer(stored, to):
    formats = EXPORTS.get(stored.kind)
    if formats is None:
        raise InputError(
            f"{stored.path} holds {stored.kind}, and nothing exports that", fix=f"name {' or '.join(EXPORTS)}"
        )
    if to not in formats:
        raise InputError(
            f"{stored.kind} are not exported to {to}", fix=f"choose --to from {', '.join(formats)}"
        )
    module, function = formats[to]
    return getattr(import_module(f"flyannot.export.{module}"), function)


def _ids(stored, to, ontology):
    if not ontology:
        return {}
    if stored.kind != "predictions" or to not in WITH_IDS:
        raise InputError(
            f"{stored.kind} as {to} have no place for ids", fix=f"export predictions to {', '.join(WITH_IDS)}"
        )
    return {"ids": Ids(read_ontology(*ontology))}


def _chosen(stored, stage_ranges):
    for stage_range in stage_ranges:
        stored.group(stage_range)
    return [s for s in STAGE_RANGES if s in stored.stage_ranges and (not stage_ranges or s in stage_ranges)]
