"""A file in another format, written whole or not at all."""

from pathlib import Path

from flyannot.base.errors import InputError
from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.dataset.ontology import IdColumns, read_ontology
from flyannot.export import EXPORTERS
from flyannot.files.atomic_file import replacing_file
from flyannot.files.hdf5.reading import open_stored
from flyannot.pipeline.engine.task import output_file


def export(path, to, out, *, stage_ranges=(), ontology=(), force=False):
    """Write what a file of one of the kinds in EXPORTERS holds in another format, one of its EXPORTERS.

    Empty `stage_ranges` are all that the file has.  `ontology` are paths as `read_ontology` takes, and adds
    the ids of terms and stage ranges, where the format has room for them.  InputError if the kind has no such
    format, a stage range is missing, `out` is there and `force` is off, or a package is not.  DataError if
    `path` is damaged. WriteError if `out` cannot be written; it is then as it was.
    """
    out = Path(out)
    with open_stored(path) as stored:
        if stored.kind not in EXPORTERS:
            raise InputError(
                f"{stored.path} holds {stored.kind}, and nothing exports that",
                fix=f"name {' or '.join(EXPORTERS)}",
            )
        write, more = EXPORTERS[stored.kind][to], {}
        if ontology and stored.kind != "predictions":
            raise InputError(f"{stored.kind} have no place for ids", fix="export predictions, or no ids")
        if ontology:
            more["ids"] = IdColumns(read_ontology(*ontology))
        for stage_range in stage_ranges:
            stored.group(stage_range)
        chosen = [s for s in STAGE_RANGES if s in (stage_ranges or stored.stage_ranges)]
        with output_file(out, [path, *ontology], force=force), replacing_file(out) as beside:
            write(stored, chosen, beside, **more)
