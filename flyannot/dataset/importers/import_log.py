"""What an import took and what it rejected, and why: no row is lost without a word.

The tables of the data set folder are written here, and the summary, as JSON and in words.
"""

import json
from collections import Counter
from typing import NamedTuple

from flyannot.dataset.folder import (
    count_coverage,
    read_annotations,
    read_images,
    write_annotations_csv,
    write_images_csv,
)
from flyannot.dataset.table_warnings import first_names
from flyannot.files.atomic_file import write_text
from flyannot.files.digest import digest_of_file
from flyannot.files.tables import write_table

SORTS = ("image rows", "images", "annotation rows", "terms")
_COLUMNS = {
    "n_images": "images",
    "n_genes": "genes",
    "n_groups": "groups",
    "n_annotated_groups": "annotated",
    "n_genes_without_images": "no image",
}


class Rejected(NamedTuple):
    """One thing that was rejected: where it stands, what it is, and why."""

    table: str
    line: int
    item: str
    reason: str
    detail: str


class ImportLog:
    """How many of every sort of thing were taken, how many were rejected for each reason, and which."""

    def __init__(self, sorts=SORTS):
        self.taken, self.reasons = dict.fromkeys(sorts, 0), {sort: Counter() for sort in sorts}
        self.rejected = []

    def take(self, sort):
        """Count one thing that was taken."""
        self.taken[sort] += 1

    def reject(self, sort, table, line, item, reason, detail=""):
        """Count and list one thing that was rejected."""
        self.reasons[sort][reason] += 1
        self.rejected.append(Rejected(table, line, item, reason, detail))

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


def write_imported_tables(staged, images, terms, log, sources, *, one_gene=()):
    """Write images.csv, annotations.csv, rejected.csv and import.json, the summary, into a new folder.

    `images` and `terms` are rows, dicts; `sources` map a role to the path of a table or None; `one_gene` are
    pairs of names that turned out to be one gene's.  The summary, which is returned, is counted from the
    tables as they were written: what the next command will read.
    """
    write_images_csv(staged / "images.csv", images)
    if terms:
        write_annotations_csv(staged / "annotations.csv", terms)
    write_table(staged / "rejected.csv", Rejected._fields, log.rejected)
    taken, annotations = read_images(staged), read_annotations(staged) if terms else None
    counts = Counter(row["term"] for row in terms)
    summary = {
        "sources": {role: digest_of_file(path) for role, path in sources.items() if path},
        "log": log.as_json(),
        "stage_ranges": count_coverage(taken, annotations),
        "n_genes": len({image.gene_id for image in taken}),
        "n_genes_without_fbgn": len({image.gene_id for image in taken if not image.fbgn}),
        "n_turned": sum(bool(row.get("turned")) for row in images),
        "one_gene": list(one_gene),
        "terms": dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))),
    }
    write_text(staged / "import.json", json.dumps(summary, indent=2, ensure_ascii=False) + "\n")
    return summary


def text_of_summary(summary):
    """What was taken, what was rejected and why, stage range by stage range, and the terms by frequency."""
    blocks = []
    for sort, counts in summary["log"].items():
        reasons = [f"  {n:>9,}  rejected: {reason}" for reason, n in counts["rejected"].items()]
        blocks.append([f"{sort}: {counts['total']:,} read, {counts['taken']:,} taken", *reasons])
    head = f"{'stages':<8}" + "".join(f"{word:>11}" for word in _COLUMNS.values())
    rows = [
        f"{stage_range:<8}" + "".join(f"{numbers[name]:>11,}" for name in _COLUMNS)
        for stage_range, numbers in summary["stage_ranges"].items()
    ]
    blocks.append([head, *rows, "(groups: genes with images; no image: annotated genes without one)"])
    if summary["n_turned"]:
        blocks.append([f"images that lie inverted, and are turned: {summary['n_turned']:,}"])
    unknown, merged = summary["n_genes_without_fbgn"], summary["one_gene"]
    blocks.append([f"genes: {summary['n_genes']:,}, {unknown:,} of them without FlyBase number"])
    if merged:
        pairs = first_names([f"{a} = {b}" for a, b in merged])
        blocks[-1].append(f"one gene under two names, because they share an image: {pairs}")
    blocks.append([f"terms: {len(summary['terms']):,}, in genes and stage ranges; import.json has them"])
    return "\n\n".join("\n".join(block) for block in blocks)
