"""Measures the items that are not measured yet, one after the other; a failing one loses no other."""

import logging
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

from flyannot.benchmarks.papers.figures import draw
from flyannot.benchmarks.papers.page import write_pages
from flyannot.benchmarks.papers.records import Record, paths_of, read_record, settings_of, write_record
from flyannot.benchmarks.papers.table import ITEMS
from flyannot.benchmarks.speed.report import machine
from flyannot.errors import FlyannotError, WriteError
from flyannot.runtime.atomic_file import locked
from flyannot.runtime.blas_threads import one_blas_thread

log = logging.getLogger("flyannot")


@dataclass(frozen=True)
class Outcome:
    """The page, the names of what was measured and of what was there, and a dict of what failed and why."""

    page: Path
    measured: list
    kept: list
    failed: dict


def reproduce(items, setup, out, *, force=False):
    """Measure items and write the page of all of them.

    Parameters
    ----------
    items : list of flyannot.benchmarks.papers.table.Item
    setup : flyannot.benchmarks.papers.setup.Setup; its `scratch` is replaced
    out : folder; gets `items/NAME.json`, `.csv`, `.svg`, `.png`, and `index.html` and `index.md`
    force : bool, measure again what is there

    Returns
    -------
    outcome : Outcome

    Raises
    ------
    LockedError
        If another run writes into `out`.
    WriteError
        If it cannot be written.
    """
    out = Path(out)
    measured, kept, failed = [], [], {}
    with locked(out / "index.html"), tempfile.TemporaryDirectory(prefix="flyannot-reproduce-") as scratch:
        setup = replace(setup, scratch=Path(scratch))
        for item in items:
            if not force and is_finished(item, setup, out):
                kept.append(item.name)
                log.info("%-16s is there", item.name)
                continue
            why = _measure_one(item, setup, out)
            if why:
                failed[item.name] = why
            else:
                measured.append(item.name)
            write_pages(out, _records(out), failed)
        write_pages(out, _records(out), failed)
    return Outcome(out / "index.html", measured, kept, failed)


def is_finished(item, setup, out):
    """Whether the item's record was made with these settings."""
    record = read_record(out, item.name)
    return record is not None and record.settings == settings_of(item, setup)


def _measure_one(item, setup, out):
    """Measure and write one item; returns why it failed, or an empty string."""
    log.info("%-16s %s", item.name, item.title)
    started = time.process_time()
    try:
        with one_blas_thread():
            finding = item.measure(setup)
    except WriteError:
        raise
    except Exception as error:  # whatever it is, the other items are still worth having
        why = str(error) if isinstance(error, FlyannotError) else f"{type(error).__name__}: {error}"
        log.warning("%-16s failed: %s", item.name, why, exc_info=log.isEnabledFor(logging.DEBUG))
        return why or type(error).__name__
    seconds = time.process_time() - started
    record = Record(item.name, finding, settings_of(item, setup), machine(), seconds, command_of(item, setup))
    draw(finding, item, paths_of(out, item.name))
    write_record(out, record)
    log.info("%-16s %s, in %.0f s of processor time", item.name, finding.status, seconds)
    return ""


def command_of(item, setup):
    """The command that makes an item again."""
    named = [f"--data-set {setup.data_set}"] if setup.data_set else []
    named += [f"--ratings {setup.ratings}"] if setup.ratings else []
    named += [f"--seed {setup.seed}"] if setup.seed else []
    return " ".join(["flyannot reproduce", item.name, f"--{setup.scale}", *named, "-o OUT"])


def _records(out):
    """The records of all items that have one."""
    records = {name: read_record(out, name) for name in ITEMS}
    return {name: record for name, record in records.items() if record is not None}
