"""Export of a file to another format; the output is written whole or not at all."""

from pathlib import Path

from flyannot.base.errors import InputError
from flyannot.dataset.ontology import IdColumns, find_ontology, read_ontology
from flyannot.export import EXPORTERS, all_formats
from flyannot.files.atomic_file import atomic_write
from flyannot.files.hdf5.reading import open_stored_file
from flyannot.pipeline.engine.inputs import choose_stage_ranges
from flyannot.pipeline.engine.task import locked_output


def export(path, to, out, *, stage_ranges=(), ontology=(), force=False):
    """Write a file of one of the kinds in EXPORTERS in another format.

    Parameters
    ----------
    path : path of the file
    to : name of the format
    out : path of the output
    stage_ranges : stage ranges to write; all of the file if empty
    ontology : tuple of Paths of ontologies, for the ids of terms and stage ranges, see `find_ontology`
    force : whether an output that exists is replaced

    Raises
    ------
    InputError
        If the kind of file has no such format, a stage range or a package is missing, or `out` exists.
    DataError
        If `path` is damaged.
    WriteError
        If `out` cannot be written; it is then as it was before.
    """
    out = Path(out)
    stored = open_stored_file(path)
    if stored.kind not in EXPORTERS:
        what = f"{stored.path} holds {stored.kind}, which cannot be exported"
        raise InputError(what, fix=f"give {' or '.join(EXPORTERS)}")
    write = EXPORTERS[stored.kind][to]
    if ontology and stored.kind != "predictions":
        raise InputError(f"{stored.kind} have no place for ids", fix="export predictions, or no ids")
    ontology = find_ontology(stored.path, ontology)
    more = {"ids": IdColumns(read_ontology(*ontology))} if ontology else {}
    suffix = out.suffix[1:].lower()
    if suffix != to and suffix in all_formats():
        fix = f"write to {out.with_suffix(f'.{to}')}, or use --to {suffix}"
        raise InputError(f"{out} would be {to}, and its name says {suffix}", fix=fix)
    chosen = choose_stage_ranges([stored], stage_ranges)
    with locked_output(out, [path, *ontology], force=force), atomic_write(out) as beside:
        write(stored, chosen, beside, **more)
