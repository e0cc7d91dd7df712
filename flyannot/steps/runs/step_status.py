"""The state of one step of a run, from the pieces of its output."""

from dataclasses import dataclass, field, replace

from flyannot.runtime.locks import holder_of
from flyannot.runtime.wording import pluralise
from flyannot.store.writing import option_changes


@dataclass(frozen=True)
class StepStatus:
    """How far a step is.

    state : "done", "running", "interrupted" (parts wait, and nobody works on them), "waiting", "outdated" (it
        was made with other options or inputs than it would be now) or "damaged"
    n_done, n_total : of its `unit` ("image", "epoch", or "" of a step that counts neither); None where it is
        not known
    skipped : (image, reason) of the images that could not be used
    per_second, seconds_left : by the parts that were finished since it runs; None where there are none yet
    shards : state -> number of shards; {} of a step that is not cut
    holders : who works on it
    why : what is outdated or damaged
    """

    step: str
    state: str
    n_done: int | None = None
    n_total: int | None = None
    unit: str = ""
    skipped: tuple = ()
    per_second: float | None = None
    seconds_left: float | None = None
    shards: dict = field(default_factory=dict)
    holders: tuple = ()
    why: str = ""

    def with_state(self, state, why):
        """The same in another state."""
        return replace(self, state=state, why=why)


@dataclass(frozen=True)
class Wanted:
    """What a step is to make.

    tables : name in a header -> options; {} where they are not known
    seed : None where it is not known
    digests : role of an input -> digests of the files that there are
    total, unit : how many images or epochs
    n_shards : into how many its work is cut; 0 for none
    """

    tables: dict
    seed: int | None
    digests: dict
    total: int | None
    unit: str
    n_shards: int

    def difference(self, header):
        """Why a file with that header would be made anew, in words; "" if it would not."""
        changes = []
        for name, wanted in self.tables.items():
            if name in header.options:
                found = {key: header.options[name].get(key) for key in wanted}
                changes += option_changes(found, wanted, f"{name}.")
        if None not in (self.seed, header.seed) and self.seed != header.seed:
            changes.append(f"seed was {header.seed} and is now {self.seed}")
        for role, known in self.digests.items():
            if known and not set(header.inputs.get(role, ())) <= known:
                changes.append(f"it was made from other {role}")
        return ", ".join(changes)


def status_of_file(step, path, made=""):
    """The StepStatus of a step without parts, done when `path`, or `made` in that folder, is there."""
    holder = holder_of(path)
    if holder is not None:
        return StepStatus(step, "running", holders=(holder,))
    return StepStatus(step, "done" if (path / made if made else path).is_file() else "waiting")


def status_of_pieces(step, pieces, wanted):
    """The StepStatus of a step that makes HDF5 files, from its list of `Piece`."""
    seen = [_seen(piece, wanted) for piece in pieces]
    whole = [one for one in seen if one.is_whole and one.state != "waiting"]
    kept = whole or [one for one in seen if not one.is_whole]
    n_shards = 0 if whole else max(wanted.n_shards, len(kept))
    state, why = _together(kept, n_shards)
    n_done = sum(one.n_done for one in kept) if wanted.unit else None
    if n_done is not None and wanted.total is not None:
        if state == "done" and n_done != wanted.total and wanted.unit == "image":
            state, why = "outdated", f"it is of {pluralise(n_done, 'image')}, and there are {wanted.total:,}"
        n_done = min(n_done, wanted.total)
    rates = [one.per_second for one in kept if one.per_second]
    rate = sum(rates) if state == "running" and rates else None
    return StepStatus(
        step, state, n_done, wanted.total, wanted.unit,
        skipped=tuple(failure for one in kept for failure in one.skipped),
        per_second=rate,
        seconds_left=(wanted.total - n_done) / rate if rate and wanted.total is not None else None,
        shards=_shards(kept, n_shards),
        holders=tuple(holder for one in pieces for holder in one.holders),
        why=why,
    )  # fmt: skip


@dataclass(frozen=True)
class _Seen:
    """What is seen of one piece."""

    state: str
    why: str
    is_whole: bool
    n_done: int
    skipped: tuple
    per_second: float | None


def _seen(piece, wanted):
    parts = [(one, written) for one, written in piece.parts if not wanted.difference(one.header)]
    why = wanted.difference(piece.made.header) if piece.made else ""
    is_damaged = piece.made is None and piece.path.exists()
    if piece.holders:
        state, why = "running", ""
    elif is_damaged:
        state, why = "damaged", f"{piece.path.name} cannot be read: flyannot verify {piece.path}"
    elif piece.made is not None:
        state = "outdated" if why else "done"
    else:
        state = "interrupted" if parts else "waiting"
    counts_file = piece.made is not None and (state in ("done", "outdated") or not (parts or why))
    kept = [piece.made] if counts_file else [one for one, _ in parts]
    n_done = sum(_amount(one, wanted) for one in kept)
    if counts_file and wanted.unit == "epoch":  # a dictionary has been through all
        n_done = wanted.total or 0
    return _Seen(
        state, why, not piece.is_shard, n_done,
        tuple(failure for one in kept for failure in one.header.failures),
        _rate(parts, min(one.since for one in piece.holders), wanted) if piece.holders else None,
    )  # fmt: skip


def _amount(seen, wanted):
    return seen.n_epochs if wanted.unit == "epoch" else seen.n_images + len(seen.header.failures)


def _rate(parts, since, wanted):
    """Images or epochs per second since the step runs; None before the first part."""
    if wanted.unit == "epoch":
        seconds = sum(one.seconds for one, _ in parts)
        return sum(one.n_epochs for one, _ in parts) / seconds if seconds else None
    made_now = [(_amount(one, wanted), written) for one, written in parts if written > since]
    if not made_now:
        return None
    return sum(amount for amount, _ in made_now) / (max(written for _, written in made_now) - since)


def _together(kept, n_shards):
    """The state of a step, and why, from those of its pieces."""
    found = {one.state: one.why for one in kept}
    for state in ("running", "damaged", "interrupted", "outdated"):
        if state in found:
            return state, found[state]
    is_done = "done" in found and len([one for one in kept if one.state == "done"]) >= n_shards
    return ("done" if is_done else "waiting"), ""


def _shards(kept, n_shards):
    counts: dict = {}
    for one in kept if n_shards else ():
        counts[one.state] = counts.get(one.state, 0) + 1
    if counts and n_shards > len(kept):
        counts["waiting"] = counts.get("waiting", 0) + n_shards - len(kept)
    return counts
