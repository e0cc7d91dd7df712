"""flyannot status: how far a run is."""

import json
import time
from dataclasses import asdict

import click

from flyannot.cli.shared.options import OUT_FOLDER, Command, json_option
from flyannot.runtime.wording import pluralise

_N_NAMED = 5  # images that were skipped; --json has them all
_HOUR, _MINUTE = 3600, 60


@click.command("status", cls=Command)
@click.argument("run", metavar="FOLDER", type=OUT_FOLDER)
@json_option
def command(run, as_json):
    """Print how far a run is: each step, its images, their rate, and the time left.

    FOLDER is the output folder of `flyannot run` or of a workflow. All is seen from the files that lie there,
    so it may be asked for while the run goes on, also from another machine: nothing is locked or written.
    "interrupted" means that parts of a step wait and nobody works on them: the same command as before
    continues. The rate is that of the parts since the step runs; there is none before the first of them.

    \b
    Example:
        flyannot status results
    """
    from flyannot.report.build import report_task
    from flyannot.steps.runs.status import status_of_run

    found = status_of_run(run, report_task)
    click.echo(json.dumps(_as_json(found), indent=1, ensure_ascii=False) if as_json else _in_words(found))


def _as_json(found):
    steps = [asdict(one) for one in found.steps]
    for one in steps:
        one["skipped"] = [{"image": image, "reason": reason} for image, reason in one["skipped"]]
    return {"folder": str(found.folder), "state": found.state, "steps": steps}


def _in_words(found):
    rows = [["step", "state", "done", "skipped", "per second", "time left"], *map(_row, found.steps)]
    widths = [max(map(len, column)) for column in zip(*rows)]
    table = ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths)).rstrip() for row in rows]
    return "\n".join([f"{found.folder}: {found.state}", "", *table, *_notes(found)])


def _row(one):
    rate = f"{one.per_second:.3g} {one.unit}s" if one.per_second else ""
    left = _duration(one.seconds_left) if one.seconds_left is not None else ""
    return [one.step, one.state, _amount(one), f"{len(one.skipped):,}" if one.skipped else "", rate, left]


def _amount(one):
    n_shards = sum(one.shards.values())
    shards = f"{one.shards.get('done', 0)} of {pluralise(n_shards, 'shard')}" if one.shards else ""
    if not one.unit or one.n_done is None or one.state == "waiting" and not one.n_done:
        return shards
    done = "" if one.n_total is None else f"{one.n_done:,} of "
    done += pluralise(one.n_done if one.n_total is None else one.n_total, one.unit)
    return ", ".join(filter(None, [shards, done]))


def _notes(found):
    lines = [f"{one.step}: {one.state}: {one.why}" for one in found.steps if one.why]
    for one in found.steps:
        lines += [_work(one.step, holder) for holder in one.holders]
        lines += [f"{one.step}: skipped {image}: {reason}" for image, reason in one.skipped[:_N_NAMED]]
        if len(one.skipped) > _N_NAMED:
            lines.append(f"{one.step}: {len(one.skipped) - _N_NAMED:,} more: add --json, or see failures.csv")
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
