"""Measures items one after the other, whoever asks; a failing one loses no other."""

import logging
import os
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from flyannot.benchmarks.code_version import commit
from flyannot.benchmarks.findings import Finding
from flyannot.benchmarks.items import Item
from flyannot.benchmarks.page import PAGE, write_pages
from flyannot.benchmarks.page.figures import draw
from flyannot.benchmarks.records import Record, machine, paths_of, read_record, settings_of, write_record
from flyannot.errors import FlyannotError, WriteError
from flyannot.runtime.atomic_file import locked_output
from flyannot.runtime.resources import one_blas_thread

log = logging.getLogger("flyannot")


@dataclass(frozen=True)
class Outcome:
    """What became of an item: its record, or why it failed; `kept` if its record was there already."""

    item: Item
    record: Record | None
    why_failed: str = ""
    kept: bool = False


def measure_items(items, setup, out=None, *, force=False):
    """Measure items, and yield an `Outcome` as each is done.

    Parameters
    ----------
    items : list of flyannot.benchmarks.items.Item
    setup : flyannot.benchmarks.setup.Setup; its `scratch` is replaced
    out : folder that gets `items/NAME.json`, `.csv`, `.svg` and `.png`, or None
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
            stack.enter_context(locked_output(Path(out) / PAGE))
        scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="flyannot-benchmarks-"))
        setup = replace(setup, scratch=Path(scratch))
        for item in items:
            record = None if out is None or force else read_record(out, item.name)
            if record is not None and record.settings == settings_of(item, setup):
                log.info("%-16s is there", item.name)
                yield Outcome(item, _evaluated_anew(item, record, out), kept=True)
            else:
                yield _measure_one(item, setup, out)


def reproduce(items, setup, out, *, force=False):
    """Measure items and write the page of all that `out` holds, anew after each; the list of `Outcome`.

    Parameters and errors as `measure_items`.
    """
    outcomes = []
    for outcome in measure_items(items, setup, out, force=force):
        outcomes.append(outcome)
        write_pages(out, {o.item.name: o.why_failed for o in outcomes if o.why_failed})
    return outcomes


def _evaluated_anew(item, record, out):
    """The record with the claims as they are stated now; written where they changed."""
    finding = Finding.from_json(record.finding.evaluated_by(item.statements).as_json())
    if finding == record.finding:
        return record
    record = replace(record, finding=finding)
    write_record(out, record)
    return record


def _measure_one(item, setup, out):
    log.info("%-16s %s", item.name, item.title)
    started = _processor_seconds()
    try:
        with one_blas_thread():
            finding = Finding.from_json(item.finding(setup).as_json())  # as it will be read again
    except WriteError:
        raise
    except Exception as error:  # whatever it is, the other items are still worth having
        why = error.message if isinstance(error, FlyannotError) else f"{type(error).__name__}: {error}"
        log.warning("%-16s failed: %s", item.name, why, exc_info=log.isEnabledFor(logging.DEBUG))
        return Outcome(item, None, why or type(error).__name__)
    seconds = _processor_seconds() - started
    day = datetime.now(UTC).date().isoformat()
    made_by = settings_of(item, setup), machine(), seconds, _command_of(item, setup), day, commit()
    record = Record(item.name, finding, *made_by)
    if out is not None:
        draw(finding, item.title, paths_of(out, item.name))
        write_record(out, record)
    took = "" if finding.why_not else f", in {seconds:.0f} s of processor time"
    log.info("%-16s %s%s", item.name, finding.status, took)
    return Outcome(item, record)


def _processor_seconds():
    """Of this process and of all its workers so far."""
    return sum(os.times()[:4])


def _command_of(item, setup):
    """The command that makes an item again."""
    defaults = {"data_set": None, "ratings": None, "seed": 0, "repeats": 1}
    given = {name: getattr(setup, name) for name in defaults if getattr(setup, name) != defaults[name]}
    named = [f"--{name.replace('_', '-')} {value}" for name, value in given.items()]
    return " ".join(["flyannot reproduce", item.name, f"--{setup.scale}", *named, "-o OUT"])
