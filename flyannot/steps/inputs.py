"""Several files of one kind as one input."""

from contextlib import ExitStack, contextmanager

from flyannot.errors import DataError, InputError, did_you_mean
from flyannot.scores import NOT_ANATOMY
from flyannot.stage_ranges import STAGE_RANGES
from flyannot.store.reading import open_stored


@contextmanager
def open_all(paths, kind):
    """Open files of one kind that were made with the same options.

    Raises
    ------
    DataError
        If one is damaged, of another kind, or made with other options than the first.
    """
    with ExitStack() as stack:
        files = [stack.enter_context(open_stored(path, kind)) for path in paths]
        for file in files[1:]:
            if file.options != files[0].options:
                raise DataError(
                    f"{file.path} and {files[0].path} were made with different options",
                    fix="compare them with `flyannot show`, and make one of them again as the other",
                )
        yield files


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
