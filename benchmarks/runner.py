"""Measures items one after the other, whoever asks; a failing one loses no other."""

import logging
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.findings import Finding
from benchmarks.items import OURS, Item
from benchmarks.measures import processor_seconds
from benchmarks.page import PAGE, write_pages
from benchmarks.page.figures import draw
from benchmarks.records import Record, commit, machine, paths_of, read_record, settings_of, write_record
from flyannot.base.errors import FlyannotError, WriteError
from flyannot.files.atomic_file import lock_output
from flyannot.jobs.resources import limit_blas_threads

log = logging.getLogger("flyannot")


@dataclass(frozen=True)
class Outcome:
    """What became of an item: its record, or why it failed; `kept` if its record was there already."""

    item: Item
    record: Record | None
    why_failed: str = ""
    kept: bool = False


def measure_items(items, setup, out=None, *, force=False):
    """Measure items, and yield an `Outcome` as each is done; with `out`, write its page anew after each.

    Parameters
    ----------
    items : list of benchmarks.items.Item
    setup : benchmarks.setup.Setup; its `scratch` is replaced
    out : folder that gets `items/NAME.json` and `.svg`, and index.html and .md; or None
    force : bool, measure again what is there

    Raises
    ------
    LockedError
        If another run writes into `out`.
    WriteError
        If it cannot be written.
    """
    with ExitStack() as stack:
        if out is not None:
            stack.enter_context(lock_output(Path(out) / PAGE))
        scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="flyannot-benchmarks-"))
        setup = replace(setup, scratch=Path(scratch))
        failed = {}
        for item in items:
            outcome = _outcome_of(item, replace(setup, repeats=_repeats_of(item, setup)), out, force)
            if outcome.why_failed:
                failed[item.name] = outcome.why_failed
            if out is not None:
                write_pages(out, failed)
            yield outcome


def _repeats_of(item, setup):
    """Return the number of repeats: the user's, or else one for a paper and more for our own items."""
    usual = 1 if item.paper != OURS else 2 if setup.scale == "quick" else 3
    return setup.repeats or usual


def _outcome_of(item, setup, out, force):
    record = None if out is None or force else read_record(out, item.name)
    if record is not None and record.settings == settings_of(item, setup):
        log.info("%-16s is there", item.name)
        return Outcome(item, record, kept=True)
    return _measure_one(item, setup, out)


def _measure_one(item, setup, out):
    log.info("%-16s %s", item.name, item.title)
    started = processor_seconds()
    try:
        with limit_blas_threads():
            finding = Finding.from_json(item.finding(setup).as_json())  # as it will be read again
    except WriteError:
        raise
    except Exception as error:  # whatever it is, the other items are still worth having
        why = error.message if isinstance(error, FlyannotError) else f"{type(error).__name__}: {error}"
        log.warning("%-16s failed: %s", item.name, why, exc_info=log.isEnabledFor(logging.DEBUG))
        return Outcome(item, None, why or type(error).__name__)
    seconds = processor_seconds() - started
    day = datetime.now(UTC).date().isoformat()
    made_by = settings_of(item, setup), machine(), seconds, _command_of(item, setup), day, commit()
    record = Record(item.name, finding, *made_by)
    if out is not None:
        draw(finding, item.title, paths_of(out, item.name)["svg"])
        write_record(out, record)
    took = "" if finding.why_not else f", in {seconds:.0f} s of processor time"
    log.info("%-16s %s%s", item.name, record.evaluated_by(item).outcome, took)
    return Outcome(item, record)


def _command_of(item, setup):
    """Return the command that measures an item again."""
    repeats = _repeats_of(item, replace(setup, repeats=None))
    defaults = {"data_set": None, "ratings": None, "seed": 0, "repeats": repeats}
    given = {name: getattr(setup, name) for name in defaults if getattr(setup, name) != defaults[name]}
    named = [f"--{name.replace('_', '-')} {value}" for name, value in given.items()]
    full = ["--full"] if setup.scale == "full" else []
    return " ".join(["python -m benchmarks", item.name, *full, *named, "-o OUT"])
