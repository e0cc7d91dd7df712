"""The files of shards to one file, as if one run had made it."""

from functools import partial

from flyannot.errors import InputError
from flyannot.runtime.wording import pluralise
from flyannot.stage_ranges import STAGE_RANGES
from flyannot.steps.embryos import write_places
from flyannot.steps.engine.inputs import open_all
from flyannot.steps.engine.task import Outcome, carry_out, file_task
from flyannot.steps.predictions_table import check_table, write_predictions_table
from flyannot.store.concatenation import concatenate, part_of
from flyannot.store.header import Header
from flyannot.store.reading import open_stored
from flyannot.store.writing import create_stored

KINDS = ("descriptors", "features", "predictions")


def join_files(paths, out, execution):
    """Join files of one kind that were made of different images; predictions get their table too.

    Parameters
    ----------
    paths : list of Path; shards are joined in the order of their numbers, other files in that given
    out : Path of the file to write
    execution : flyannot.steps.engine.task.Execution

    Raises
    ------
    InputError
        If they are of a kind that has no shards, hold an image twice, or a shard is missing.
    DataError
        If one is damaged, of another kind, or made with other options than the first.
    """
    with open_stored(paths[0]) as first:
        kind = first.kind
    if kind not in KINDS:
        raise InputError(f"{paths[0]} holds a {kind}, which is never cut", fix=f"name {' or '.join(KINDS)}")
    if kind == "predictions":
        check_table(out)
    with open_all(paths, kind, all_shards=True) as files:
        _check_images(files)
        header = _header(files)

        def make(execution):
            with create_stored(out, header) as file:
                concatenate(file, [part_of(one) for one in files])
            write_places(out)
            return Outcome(out, True, _summary(out), header.failures)

        beside = {"write_beside": partial(write_predictions_table, out)} if kind == "predictions" else {}
        return carry_out(file_task(out, header, make, paths, **beside), execution)


def _check_images(files):
    """An image in two files would count twice."""
    first = {}
    for file in files:
        for stage_range in file.stage_ranges:
            for image in file.array(stage_range, "image"):
                other = first.setdefault((stage_range, image), file)
                if other is not file:
                    raise InputError(
                        f"{other.path} and {file.path} both hold the image {image} ({stage_range})",
                        fix="name files that were made of different images",
                    )


def _header(files):
    """What the files were made from, each input once; the number of a shard means nothing any more."""
    roles = [role for role in files[0].inputs if role != "shard"]
    inputs = {
        role: list(dict.fromkeys(digest for file in files for digest in file.inputs[role])) for role in roles
    }
    options = {name: _joined([file.options[name] for file in files]) for name in files[0].options}
    failures = tuple(failure for file in files for failure in file.failures)
    return Header(files[0].kind, options, inputs, files[0].seed, failures)


def _joined(tables):
    """The options of one step of several files: equal, but for the stage ranges that were worked on."""
    made = {s for table in tables for s in table.get("stage_ranges", ())}
    chosen = {"stage_ranges": [s for s in STAGE_RANGES if s in made]} if made else {}
    return tables[0] | chosen


def _summary(out):
    with open_stored(out) as stored:
        lines = [f"{s:>5}: {pluralise(len(stored.array(s, 'image')), 'image')}" for s in stored.stage_ranges]
        table = [f"table: {out.with_suffix('.csv')}"] if stored.kind == "predictions" else []
    return "\n".join([*lines, *table])
