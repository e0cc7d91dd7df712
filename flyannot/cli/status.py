"""flyannot status: how far a run is."""

import json
import time
from dataclasses import asdict

import click

from flyannot.cli.shared.options import IN_FOLDER, Command, json_option, say
from flyannot.runtime.wording import pluralise

_N_NAMED = 5  # images that were skipped; --json has them all
_HOUR, _MINUTE = 3600, 60


@click.command("status", cls=Command)
@click.argument("run", metavar="FOLDER", type=IN_FOLDER)
@json_option
def command(run, as_json):
    """Print how far a run is: each step, its images, their rate, and the time left.

    FOLDER is the output folder of `flyannot run` or of a workflow. Ask at any time, from any machine that
    sees the folder: nothing is locked or written. "interrupted" means that parts of a step are missing and no
    process works on them: give the same command again to continue. The rate is the mean since the step
    began, known once a part is finished.

    \b
    Example:
        flyannot status results
    """
    from flyannot.steps.runs.status import status_of_run

    status = status_of_run(run)
    say(json.dumps(_as_json(status), indent=1, ensure_ascii=False) if as_json else _as_table(status))


def _as_json(status):
    steps = [asdict(step) for step in status.steps]
    for step in steps:
        step["skipped"] = [{"image": image, "reason": reason} for image, reason in step["skipped"]]
    return {"folder": str(status.folder), "state": status.state, "steps": steps}


def _as_table(status):
    rows = [["step", "state", "done", "skipped", "per second", "time left"], *map(_row, status.steps)]
    widths = [max(map(len, column)) for column in zip(*rows)]
    table = ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths)).rstrip() for row in rows]
    return "\n".join([f"{status.folder}: {status.state}", "", *table, *_notes(status)])


def _row(step):
    rate = f"{step.per_second:.3g} {step.unit}s" if step.per_second else ""
    left = _duration(step.seconds_left) if step.seconds_left is not None else ""
    skipped = f"{len(step.skipped):,}" if step.skipped else ""
    return [step.step, step.state, _amount(step), skipped, rate, left]


def _amount(step):
    if not step.unit or step.n_done is None or step.state == "waiting" and not step.n_done:
        return ""
    done = "" if step.n_total is None else f"{step.n_done:,} of "
    return done + pluralise(step.n_done if step.n_total is None else step.n_total, step.unit)


def _notes(status):
    lines = [f"{step.step}: {step.state}: {step.why}" for step in status.steps if step.why]
    for step in status.steps:
        lines += [_work(step.step, holder) for holder in step.holders]
        lines += [f"{step.step}: skipped {image}: {reason}" for image, reason in step.skipped[:_N_NAMED]]
        n_more = len(step.skipped) - _N_NAMED
        if n_more > 0:
            lines.append(f"{step.step}: {n_more:,} more: add --json, or see failures.csv")
    return ["", *lines] if lines else []


def _work(step, holder):
    """Of another machine we know only what its lock says."""
    by = f"process {holder.process}" if holder.process else "a process"
    far = "" if holder.is_here else "; only that machine knows whether it still lives"
    return f"{step}: {by} of {holder.machine}, for {_duration(time.time() - holder.since)}{far}"


def _duration(seconds):
    """A length of time in words, no finer than is known."""
    if seconds < 100:
        return f"{max(0, seconds):.0f} s"
    if seconds < 100 * _MINUTE:
        return f"{seconds / _MINUTE:.0f} min"
    return f"{seconds / _HOUR:.0f} h" if seconds >= 10 * _HOUR else f"{seconds / _HOUR:.1f} h"
