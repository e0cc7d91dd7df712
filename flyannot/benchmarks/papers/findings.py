"""What an item found, as plain data: it goes to JSON and comes back the same."""

from dataclasses import asdict, dataclass, field

import numpy as np

KINDS = ("real", "rendered", "synthetic")
REPRODUCED, DIFFERS, NOT_RUNNABLE = "reproduced", "differs", "not runnable"


@dataclass(frozen=True)
class Claim:
    """Something the paper says, or that must hold, and what became of it here."""

    text: str
    holds: bool
    here: str


@dataclass(frozen=True)
class Compared:
    """One number of a paper beside ours; None where there is none.  `remark` says "projected" and so on."""

    what: str
    unit: str
    paper: float | None
    ours: float | None
    remark: str = ""

    @property
    def ratio(self):
        """Ours over the paper's, or None."""
        return self.ours / self.paper if self.ours is not None and self.paper else None


@dataclass(frozen=True)
class Series:
    """A line or points of a panel."""

    name: str
    x: list
    y: list
    style: str = "o-"


@dataclass(frozen=True)
class Panel:
    """One pair of axes.  x of text makes groups of bars."""

    title: str
    x_label: str
    y_label: str
    series: list
    x_log: bool = False
    y_log: bool = False


@dataclass(frozen=True)
class Finding:
    """All that is known of one item.

    data : a sentence on the data; kind : of KINDS, the least real that takes part
    variant : which variant and settings of ours were measured
    why : one sentence on why paper and we differ, or why the item cannot be run
    rows : the measurements, dicts of text and numbers
    blocked : whether it could not be run at all
    """

    data: str
    kind: str
    variant: str
    why: str
    claims: list = field(default_factory=list)
    compared: list = field(default_factory=list)
    rows: list = field(default_factory=list)
    panels: list = field(default_factory=list)
    notes: list = field(default_factory=list)
    blocked: bool = False

    @property
    def status(self):
        """One of REPRODUCED (every claim holds), DIFFERS and NOT_RUNNABLE."""
        if self.blocked:
            return NOT_RUNNABLE
        return REPRODUCED if all(claim.holds for claim in self.claims) else DIFFERS

    def as_json(self):
        """Plain dicts, lists, text and numbers."""
        return plain(asdict(self))

    @classmethod
    def from_json(cls, stored):
        """What `as_json` gave, as a finding again."""
        parts = {
            "claims": [Claim(**c) for c in stored["claims"]],
            "compared": [Compared(**c) for c in stored["compared"]],
            "panels": [
                Panel(**(panel | {"series": [Series(**s) for s in panel["series"]]}))
                for panel in stored["panels"]
            ],
        }
        return cls(**(stored | parts))


def not_runnable(why):
    """The finding of an item that cannot be run."""
    return Finding(data="none", kind="real", variant="none", why=why, blocked=True)


def plain(value):
    """NumPy's numbers and arrays as Python's; not-a-number and infinities as None."""
    if isinstance(value, dict):
        return {str(key): plain(v) for key, v in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(v) for v in value]
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value) if np.isfinite(value) else None
    return value
