"""What was taken and what was dropped, and why: no row is lost without a word."""

from collections import Counter
from dataclasses import astuple, dataclass, field, fields

from flyannot.runtime.csv_table import write_table

ACCOUNTS = ("image rows", "images", "annotation rows", "terms")
SEVERAL_REASONS = "none of its images could be taken, for several reasons"


@dataclass
class Account:
    """How many of one sort of thing were taken, and how many were dropped for each reason."""

    taken: int = 0
    dropped: Counter = field(default_factory=Counter)

    @property
    def total(self):
        return self.taken + self.dropped.total()

    def as_json(self):
        """Plain numbers, the most frequent reason first."""
        return {"total": self.total, "taken": self.taken, "dropped": dict(self.dropped.most_common())}


@dataclass(frozen=True, slots=True)
class Drop:
    """One thing that was dropped: where it stands, what it is, and why."""

    table: str
    line: int
    item: str
    reason: str
    detail: str = ""


class Accounts:
    """The accounts of one import by name, and the list of all that was dropped."""

    def __init__(self, names=ACCOUNTS):
        self.by_name, self.drops = {name: Account() for name in names}, []

    def take(self, name, n=1):
        self.by_name[name].taken += n

    def count_drop(self, name, reason):
        self.by_name[name].dropped[reason] += 1

    def drop(self, name, drop):
        """Count a `Drop` and list it."""
        self.count_drop(name, drop.reason)
        self.drops.append(drop)


def reason_of_row(reasons):
    """Why a row gave nothing, from the reasons of its parts."""
    (first, *others) = dict.fromkeys(reasons)
    return SEVERAL_REASONS if others else first


def write_drops(path, accounts):
    """Write dropped.csv: everything in the list of `accounts`, in the order in which it was met."""
    columns = [field.name for field in fields(Drop)]
    write_table(path, columns, (astuple(drop) for drop in accounts.drops))
