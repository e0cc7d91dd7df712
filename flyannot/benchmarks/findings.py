"""What an item found, as plain data: it goes to JSON and comes back the same.  Rows are dicts by column."""

from dataclasses import asdict, dataclass, field

import numpy as np

KINDS = ("real", "rendered", "synthetic")
PROJECTED = "projected"  # the remark on a rate times a number of samples that were not run
REPRODUCED, DIFFERS, MEASURED, NOT_RUNNABLE = "reproduced", "differs", "measured", "not runnable"


@dataclass(frozen=True)
class Source:
    """Where data are from: a sentence, and how real they are (of KINDS)."""

    text: str
    kind: str = "real"


def all_of(sources):
    """Several sources as one: each is named once, and the least real kind counts."""
    sources = list(dict.fromkeys(sources))
    text = "; ".join(source.text for source in sources)
    return Source(text, max((source.kind for source in sources), key=KINDS.index))


@dataclass(frozen=True)
class Check:
    """A statement of a paper, whether it holds here, and the numbers that decided."""

    text: str
    holds: bool
    here: str


@dataclass(frozen=True)
class Target:
    """A performance target of our own: a number, None where it was not measured, and its bound."""

    text: str
    value: float | None
    bound: float
    at_least: bool = True

    @property
    def verdict(self):
        """In words: met, not met or not measured."""
        if self.value is None:
            return "not measured"
        is_met = self.value >= self.bound if self.at_least else self.value <= self.bound
        return "met" if is_met else "not met"


@dataclass(frozen=True)
class Comparison:
    """A number of a paper beside ours, None where there is none.  `remark` says "projected" and so on."""

    what: str
    unit: str
    paper_value: float
    ours: float | None
    remark: str = ""

    @property
    def ratio(self):
        """Ours over the paper's, or None."""
        return self.ours / self.paper_value if self.ours is not None and self.paper_value else None


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

    source : the data; variant : which variant and settings of ours were measured
    why : one sentence on why paper and we differ, or why the item cannot be run
    rows : the measurements, dicts of text, numbers, and lists that no table shows
    """

    source: Source
    variant: str
    why: str = ""
    checks: list = field(default_factory=list)
    targets: list = field(default_factory=list)
    comparisons: list = field(default_factory=list)
    rows: list = field(default_factory=list)
    panels: list = field(default_factory=list)
    notes: list = field(default_factory=list)
    runnable: bool = True

    @property
    def status(self):
        """REPRODUCED (every check holds), DIFFERS, MEASURED (there is nothing to check) or NOT_RUNNABLE."""
        if not self.runnable:
            return NOT_RUNNABLE
        if not self.checks:
            return MEASURED
        return REPRODUCED if all(check.holds for check in self.checks) else DIFFERS

    def as_json(self):
        """Plain dicts, lists, text and numbers."""
        return plain_value(asdict(self))

    @classmethod
    def from_json(cls, stored):
        """What `as_json` gave, as a finding again."""
        kinds = {"checks": Check, "targets": Target, "comparisons": Comparison}
        parts = {name: [kind(**one) for one in stored[name]] for name, kind in kinds.items()}
        panels = [Panel(**p | {"series": [Series(**s) for s in p["series"]]}) for p in stored["panels"]]
        return cls(**stored | parts | {"source": Source(**stored["source"]), "panels": panels})


def not_runnable(why):
    """The finding of an item that cannot be run."""
    return Finding(source=Source("none"), variant="none", why=why, runnable=False)


def plain_value(value):
    """NumPy's numbers and arrays as Python's; not-a-number and infinities as None."""
    if isinstance(value, dict):
        return {str(key): plain_value(v) for key, v in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain_value(v) for v in value]
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and not np.isfinite(value) else value


class Rows(list):
    """Dicts of text and numbers by column."""

    def where(self, **wanted):
        """The rows that have these values."""
        return Rows(row for row in self if all(row.get(name) == value for name, value in wanted.items()))

    def column(self, name, **wanted):
        """The values of a column, of the rows that have what is wanted."""
        return [row[name] for row in self.where(**wanted)]

    def value(self, name, **wanted):
        """The value of a column in the first row that has what is wanted; None without one."""
        return next((row.get(name) for row in self.where(**wanted)), None)

    def lines(self, by, x, y, name="{}"):
        """A `Series` of y against x for every value of the column `by`."""
        keys = dict.fromkeys(row[by] for row in self)
        return [Series(name.format(k), self.column(x, **{by: k}), self.column(y, **{by: k})) for k in keys]


def exponent(sizes, costs):
    """The a of costs ~ sizes^a: the slope of the least-squares line through the logarithms, or None."""
    if len(set(sizes)) < 2:
        return None
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])
