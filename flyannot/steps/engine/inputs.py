"""Several files of one kind as one input."""

import logging
import re
from contextlib import contextmanager
from pathlib import Path

from flyannot.descriptors.extract import DescribedPatches
from flyannot.errors import DataError, InputError, did_you_mean
from flyannot.scores.metrics import NOT_ANATOMY
from flyannot.stage_ranges import STAGE_RANGES
from flyannot.store.descriptors import read_patches_of_image
from flyannot.store.file_cache import open_by_turns

log = logging.getLogger("flyannot")


@contextmanager
def open_all(paths, kind, *, all_shards=False, digests=None):
    """Open files of one kind that were made with the same options; of other stage ranges, perhaps.  However
    many they are, a few are open at a time.

    With `digests`, by path, they must be the files that were opened before.
    Shards (`--shard I/N`) come in the order of their numbers, however they are named.  One that is
    missing is noted, or refused if `all_shards` are wanted.

    Raises
    ------
    InputError
        If two hold the same, or one of `all_shards` is missing.
    DataError
        If one is damaged, of another kind, made with other options than the first, or replaced.
    """
    with open_by_turns([Path(path) for path in paths], kind, digests or {}) as found:
        files = sorted(found, key=_shard_of)
        _check_distinct(files)
        for file in files[1:]:
            if _without_stage_ranges(file.options) != _without_stage_ranges(files[0].options):
                raise DataError(
                    f"{file.path} and {files[0].path} were made with different options",
                    fix="compare them with `flyannot show`, and make one of them again as the other",
                )
        missing = _missing_shards(files)
        if missing and all_shards:
            raise InputError(f"shard {missing} is missing", fix="name the files of all shards")
        if missing and len(files) > 1:  # a single one is meant
            log.warning("note: without shard %s, which may hold more images", missing)
        yield files


def digests_of(files):
    """Path -> digest of open files, for `open_all` when they are opened again."""
    return {file.path: file.digest for file in files}


def described_image(file, stage_range, index):
    """The `flyannot.descriptors.extract.DescribedPatches` of one image of an open descriptors file."""
    return DescribedPatches(*read_patches_of_image(file, stage_range, index))


def shard_of_inputs(inputs):
    """(I, N) of a shard, by the `inputs` of its header; (0, 0) of a file that is none."""
    found = re.fullmatch(r"(\d{1,9})/(\d{1,9})", "".join(inputs.get("shard", ())))
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _shard_of(file):
    return shard_of_inputs(file.inputs)


def _without_stage_ranges(options):
    """The options of a step and of those before it, without the stage ranges that were worked on."""
    return {
        name: _without_stage_ranges(value) if isinstance(value, dict) else value
        for name, value in options.items()
        if name != "stage_ranges"
    }


def _check_distinct(files):
    first = {}
    for file in files:
        other = first.setdefault(file.digest, file)
        if other is not file:
            raise InputError(f"{other.path} and {file.path} hold the same", fix="name each file once")


def _missing_shards(files):
    found = {_shard_of(file) for file in files} - {(0, 0)}
    counts = sorted({count for _, count in found})
    return ", ".join(f"{i}/{n}" for n in counts for i in range(1, n + 1) if (i, n) not in found)


def chosen_stage_ranges(files, wanted):
    """The stage ranges to work on, in order: those wanted, or all that the files have.

    Raises
    ------
    InputError
        If one that is wanted is in no file.
    """
    present = [s for s in STAGE_RANGES if any(s in file.stage_ranges for file in files)]
    missing = [s for s in wanted or () if s not in present]
    if missing:
        raise InputError(
            f"{files[0].path} holds no stage range {missing[0]}", fix=f"choose from {', '.join(present)}"
        )
    return [s for s in present if not wanted or s in wanted]


def require_known_terms(terms, annotations, table):
    """Refuse a term to leave out that no gene carries: it is misspelt.

    The terms that `not-anatomy` stands for may be absent.

    Raises
    ------
    InputError
    """
    known = sorted(set().union(*annotations.terms_by_gene.values()) | set(NOT_ANATOMY))
    for term in terms:
        if term not in known:
            raise InputError(
                f'no gene of {table} carries the term "{term}", which is to be left out.'
                f"{did_you_mean(term, [*known, 'not-anatomy'])}",
                fix="write --exclude-terms as the table does, in quotes; capitals count",
            )
