"""What an item found, as plain data: it goes to JSON and comes back the same.  Rows are dicts by column."""

from dataclasses import asdict, dataclass, field, replace

import numpy as np

from benchmarks.claims import CONTRADICTED, HOLDS, OPEN, OUTSIDE, PAPER, REGIMES, REPRODUCED
from benchmarks.rows import Panel, Series

KINDS = ("real", "rendered", "synthetic")
PROJECTED = "projected"  # the remark on a rate times a number of samples that were not run
WORDS = {
    REPRODUCED: "reproduced",
    HOLDS: "hold",
    CONTRADICTED: "contradicted",
    OPEN: "open",
    OUTSIDE: "outside",
}


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
class Size:
    """How much was measured, and how much in the paper (None where it is not known).

    is_papers_data : whether the data are the paper's own, not others in their place
    """

    what: str
    ours: int
    papers: int | None = None
    is_papers_data: bool = False

    @property
    def share(self):
        """Ours over the paper's, or None."""
        return self.ours / self.papers if self.papers else None

    @property
    def in_words(self):
        """As the page has it."""
        data = "the paper's data" if self.is_papers_data else "other data than the paper's"
        of_paper = f"of the paper's {self.papers:,} " if self.papers else ""
        return f"{data}: {self.ours:,} {of_paper}{self.what}"


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
class Finding:
    """All that is known of one item.

    source : the data; variant : which variant and settings of ours were measured
    size : how much was measured, None for a measurement of our own
    claims : what the paper and we state, evaluated from the rows (`benchmarks.claims.Claim`); not stored
    explanation : why paper and we may differ: a reading, not a measurement
    why_not : why the item cannot be run, "" where it can
    rows : the measurements, dicts of text, numbers, and lists that no table shows
    """

    source: Source
    variant: str
    size: Size | None = None
    explanation: str = ""
    why_not: str = ""
    claims: list = field(default_factory=list)
    targets: list = field(default_factory=list)
    comparisons: list = field(default_factory=list)
    rows: list = field(default_factory=list)
    panels: list = field(default_factory=list)
    notes: list = field(default_factory=list)

    @property
    def facts(self):
        """What a regime may ask for beside columns of the rows."""
        facts = {"is_real": self.source.kind != "synthetic"}
        if self.size is None:
            return facts
        whole = self.size.is_papers_data and (self.size.share or 0) >= 1
        return facts | {"share": self.size.share or 0, "size": self.size.ours, "is_papers_data": whole}

    @property
    def of_paper(self):
        """The paper's claims."""
        return [claim for claim in self.claims if claim.by == PAPER]

    @property
    def regime(self):
        """The best of any case of the paper's claims; "" without any."""
        found = {case.regime for claim in self.of_paper for case in claim.cases}
        return next((regime for regime in REGIMES if regime in found), "")

    @property
    def outcome(self):
        """Regime and findings of the paper's claims, in words."""
        stated = f"{self.regime}: {counted(self.of_paper)}" if self.of_paper else "measured"
        return self.why_not or stated

    def evaluated_by(self, statements, regime=None):
        """Return this finding with the claims that the statements make of its rows."""
        stated = [] if self.why_not else statements
        return replace(self, claims=[statement.of(self.rows, regime, self.facts) for statement in stated])

    def as_json(self):
        """Plain dicts, lists, text and numbers; without the claims, which are made anew of the rows."""
        return plain_value(asdict(replace(self, claims=[])))

    @classmethod
    def from_json(cls, stored):
        """Build a finding from what `to_json` returned."""
        kinds = {"targets": Target, "comparisons": Comparison}
        parts = {name: [kind(**one) for one in stored[name]] for name, kind in kinds.items()} | {"claims": []}
        panels = [Panel(**p | {"series": [Series(**s) for s in p["series"]]}) for p in stored["panels"]]
        size = stored["size"] and Size(**stored["size"])
        return cls(**stored | parts | {"source": Source(**stored["source"]), "size": size, "panels": panels})


def counted(claims):
    """Say how many claims have each finding; findings that no claim has are left out."""
    findings = [claim.finding for claim in claims]
    return ", ".join(f"{findings.count(word)} {name}" for word, name in WORDS.items() if word in findings)


def not_runnable(why):
    """Return the finding of an item that cannot be run."""
    return Finding(source=Source("none"), variant="none", why_not=why)


def plain_value(value):
    """NumPy's numbers and arrays as Python's; not-a-number and infinities as None."""
    if isinstance(value, dict):
        return {str(key): plain_value(v) for key, v in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain_value(v) for v in value]
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and not np.isfinite(value) else value
