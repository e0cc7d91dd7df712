"""What all steps share: is there anything to do, may we, and what came of it."""

import logging
from collections.abc import Callable
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path

from flyannot.errors import InputError
from flyannot.runtime.atomic_file import locked
from flyannot.steps.shards import drop_parts
from flyannot.store.reading import is_hdf5
from flyannot.store.writing import difference

log = logging.getLogger("flyannot")
_SUFFIXES = (".h5", ".hdf5")  # --force may replace a file of such a name even if it is damaged throughout
_only_asking = ContextVar("only_asking", default=False)


@dataclass(frozen=True)
class Outcome:
    """What a step did.  `made` is false where the output was up to date."""

    path: object
    made: bool
    summary: str = ""
    failures: tuple = ()  # (image, reason) of what was skipped


@dataclass(frozen=True)
class Work:
    """How a step is carried out; nothing here changes the bits of its output."""

    jobs: int = 1
    force: bool = False
    progress: Callable = field(default=lambda done, total, unit: None)  # called as items end


class WouldMake(Exception):
    """In a dry run: the output that would be made, and why."""

    def __init__(self, path, why):
        super().__init__(path, why)
        self.path, self.why = path, why


@contextmanager
def dry_run_of_steps():
    """Within this context steps make nothing: they raise `WouldMake`, or find all up to date."""
    token = _only_asking.set(True)
    try:
        yield
    finally:
        _only_asking.reset(token)


@contextmanager
def output_of(path, header, work, *, inputs=()):
    """Hold an output; yields whether it must be made.

    Raises
    ------
    InputError
        If it is one of the `inputs` (paths), or exists, was made in another way, and `work.force` is
        off; with `work.force` too if it is no HDF5 file, which no step has made.
    """
    keep_apart(path, inputs)
    if path.suffix not in _SUFFIXES and path.is_file() and not is_hdf5(path):
        raise InputError(
            f"{path} exists and is not an HDF5 file", fix="name another output with -o, such as NAME.h5"
        )
    if _only_asking.get():
        yield ask(path, difference(path, header))
        return
    with locked(path):
        why = difference(path, header)
        if why and path.exists() and not work.force:
            raise InputError(
                f"{path} exists and is not what this command would make: {why}",
                fix="add --force to replace it, or name another output with -o",
            )
        if why:
            log.info("making %s: %s", path, why)
        else:
            drop_parts(path)  # a run may have been killed just before it removed them
        yield why != ""


def keep_apart(out, inputs):
    """Refuse an output that would replace what it is made from."""
    if out.exists() and any(Path(one).exists() and out.samefile(one) for one in inputs):
        raise InputError(f"{out} is both input and output", fix="name another output")


def ask(path, why):
    """In a dry run, raise WouldMake if there is a reason; else False."""
    if why:
        raise WouldMake(path, why)
    return False


def is_dry_run():
    """Whether steps are only asked what they would do."""
    return _only_asking.get()
