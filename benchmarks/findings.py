"""What an item found, as plain data: it goes to JSON and comes back the same.  Rows are dicts by column."""

from dataclasses import asdict, dataclass, field, replace

import numpy as np

from benchmarks.claims import FAILS, HOLDS, NOT_MEASURED, PAPER, UNDECIDED, Claim
from benchmarks.rows import Panel, Series

KINDS = ("real", "rendered", "synthetic")
PROJECTED = "projected"  # the remark on a rate times a number of samples that were not run
REPRODUCED, AGREES, DIFFERS = "reproduced", "agrees", "differs"
MEASURED, NOT_RUNNABLE = "measured", "not runnable"


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
        if self.share is None:
            return f"{data}, {self.ours:,} {self.what}; the paper's number is not known"
        size = "the paper's size" if self.share >= 1 else f"{100 * self.share:.2g} % of the paper's size"
        return f"{data}, {size}: {self.ours:,} of {self.papers:,} {self.what}"


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
    claims : what the paper and we claim, evaluated from the rows
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
    def status(self):
        """One of the words at the top, and how real the data are where claims of a paper were evaluated.

        REPRODUCED is for claims that all hold on the paper's own data at its full size, AGREES for those that
        all hold on others, DIFFERS where one fails, UNDECIDED where none fails and one is not decided.
        """
        if self.why_not:
            return NOT_RUNNABLE
        found = [claim.verdict for claim in self.claims if claim.by == PAPER]
        if not found:
            return MEASURED
        whole = self.size is not None and self.size.is_papers_data and (self.size.share or 0) >= 1
        word = AGREES if set(found) == {HOLDS} else DIFFERS if FAILS in found else UNDECIDED
        if word == AGREES and whole and self.source.kind == "real":
            return REPRODUCED
        return f"{word} on {self.source.kind} data"

    @property
    def outcome(self):
        """What came of the paper's claims, in one sentence."""
        if self.why_not:
            return self.why_not
        claims = [claim for claim in self.claims if claim.by == PAPER]
        if not claims:
            return "Nothing of the paper is evaluated here."
        parts = [f"{self.n_holding(PAPER)} of {len(claims)} claims of the paper hold"]
        for verdict, words in ((FAILS, "not"), (UNDECIDED, "undecided"), (NOT_MEASURED, "not measured")):
            texts = [claim.text for claim in claims if claim.verdict == verdict]
            parts += [f"{words}: {', '.join(texts)}"] if texts else []
        return "; ".join(parts) + "."

    def n_holding(self, by):
        """How many claims of PAPER or OURS hold."""
        return sum(claim.by == by and claim.verdict == HOLDS for claim in self.claims)

    def evaluated_by(self, statements):
        """This finding with the claims that the statements make of its rows."""
        stated = [] if self.why_not else statements
        return replace(self, claims=[claim for statement in stated for claim in statement.of(self.rows)])

    def as_json(self):
        """Plain dicts, lists, text and numbers."""
        return plain_value(asdict(self))

    @classmethod
    def from_json(cls, stored):
        """What `as_json` gave, as a finding again."""
        kinds = {"claims": Claim, "targets": Target, "comparisons": Comparison}
        parts = {name: [kind(**one) for one in stored[name]] for name, kind in kinds.items()}
        panels = [Panel(**p | {"series": [Series(**s) for s in p["series"]]}) for p in stored["panels"]]
        size = stored["size"] and Size(**stored["size"])
        return cls(**stored | parts | {"source": Source(**stored["source"]), "size": size, "panels": panels})


def not_runnable(why):
    """The finding of an item that cannot be run."""
    return Finding(source=Source("none"), variant="none", why_not=why)


def plain_value(value):
    """NumPy's numbers and arrays as Python's; not-a-number and infinities as None."""
    if isinstance(value, dict):
        return {str(key): plain_value(v) for key, v in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain_value(v) for v in value]
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and not np.isfinite(value) else value
