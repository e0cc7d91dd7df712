"""What an import took and what it rejected, and why: no row is lost without a word."""

from collections import Counter
from dataclasses import astuple, dataclass, fields

from flyannot.runtime.csv_table import write_table

SORTS = ("image rows", "images", "annotation rows", "terms")
SEVERAL_REASONS = "none of its images could be taken, for several reasons"


@dataclass(frozen=True, slots=True)
class Rejected:
    """One thing that was rejected: where it stands, what it is, and why."""

    table: str
    line: int
    item: str
    reason: str
    detail: str = ""


class ImportLog:
    """How many of every sort of thing were taken, how many were rejected for each reason, and which."""

    def __init__(self, sorts=SORTS):
        self.taken, self.reasons = dict.fromkeys(sorts, 0), {sort: Counter() for sort in sorts}
        self.rejected = []

    def take(self, sort):
        """Count one thing that was taken."""
        self.taken[sort] += 1

    def reject(self, sort, rejected):
        """Count and list one thing that was rejected."""
        self.reasons[sort][rejected.reason] += 1
        self.rejected.append(rejected)

    def settle(self, sort, n_taken, reasons):
        """Count a row of several things: it is taken if any of them was."""
        if n_taken:
            self.take(sort)
        else:
            first, *others = dict.fromkeys(reasons)
            self.reasons[sort][SEVERAL_REASONS if others else first] += 1

    def as_json(self):
        """Plain numbers for every sort, the most frequent reason first."""
        return {
            sort: {
                "total": taken + self.reasons[sort].total(),
                "taken": taken,
                "rejected": dict(self.reasons[sort].most_common()),
            }
            for sort, taken in self.taken.items()
        }

    def write(self, path):
        """Write rejected.csv: everything that was rejected, in the order in which it was met."""
        write_table(path, [field.name for field in fields(Rejected)], map(astuple, self.rejected))
