"""The log of an import: counts of what was imported, and every rejected row with its reason."""

import json
from collections import Counter
from typing import NamedTuple

from flyannot.dataset.folder import (
    count_per_stage_range,
    read_annotations,
    read_images,
    write_annotations_csv,
    write_images_csv,
)
from flyannot.dataset.table_warnings import abbreviate_names
from flyannot.files.atomic_file import write_text
from flyannot.files.digest import file_digest
from flyannot.files.tables import write_table

SORTS = ("image rows", "images", "annotation rows", "terms")
_COLUMNS = {"n_images": "images", "n_genes": "genes", "n_groups": "groups"}
_COLUMNS |= {"n_annotated_groups": "annotated", "n_genes_without_images": "no image"}


class Rejection(NamedTuple):
    """A rejected row of a published table, or a rejected image or term in it, with place and reason.

    `image` has the names of the pictures of a row of images, separated by semicolons.
    """

    table: str
    line: int
    item: str
    reason: str
    detail: str
    image: str


class ImportLog:
    """The counts of imported and rejected things by sort, such as images and terms, and all rejections.

    sorts : names of the sorts
    """

    def __init__(self, sorts=SORTS):
        self.taken = dict.fromkeys(sorts, 0)
        self.reasons = {sort: Counter() for sort in sorts}
        self.rejected = []

    def reject(self, sort, table, line, item, reason, detail="", images=()):
        """Count and list one rejected thing.

        Parameters
        ----------
        sort : str
        table, line : name of the table, and the line in it
        item : str, the image, term or gene
        reason : str, one of a few texts, by which rejections are counted
        detail : str, more about this case
        images : names of the pictures of the row
        """
        self.reasons[sort][reason] += 1
        self.rejected.append(Rejection(table, line, item, reason, detail, "; ".join(images)))

    def to_json(self):
        """Return a dict from each sort of rows to its counts: "total", "taken", and "rejected" by reason."""
        counts = {}
        for sort, taken in self.taken.items():
            of = self.reasons[sort]
            counts[sort] = {"total": taken + of.total(), "taken": taken, "rejected": dict(of.most_common())}
        return counts


def write_imported_tables(staged, images, terms, log, sources, *, one_gene=()):
    """Write images.csv, annotations.csv, rejected.csv and import.json into a new folder.

    Parameters
    ----------
    staged : Path of the folder
    images, terms : rows of the two tables, dicts
    log : ImportLog
    sources : dict, role -> path of a table, or None
    one_gene : pairs of names that turned out to belong to one gene

    Returns
    -------
    summary : dict, the contents of import.json, counted from the tables as they were written
    """
    write_images_csv(staged / "images.csv", images)
    if terms:
        write_annotations_csv(staged / "annotations.csv", terms)
    write_table(staged / "rejected.csv", Rejection._fields, log.rejected)
    taken = read_images(staged)
    annotations = read_annotations(staged) if terms else None
    counts = Counter(row["term"] for row in terms)
    summary = {
        "sources": {role: file_digest(path) for role, path in sources.items() if path},
        "log": log.to_json(),
        "stage_ranges": count_per_stage_range(taken, annotations),
        "n_genes": len({image.gene_id for image in taken}),
        "n_genes_without_fbgn": len({image.gene_id for image in taken if not image.fbgn}),
        "n_turned": sum(bool(row.get("turned")) for row in images),
        "one_gene": list(one_gene),
        "terms": dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))),
    }
    write_text(staged / "import.json", json.dumps(summary, indent=2, ensure_ascii=False) + "\n")
    return summary


def format_import_summary(summary):
    """Format the summary of an import as text: counts of imported and rejected rows, and by stage range."""
    blocks = []
    for sort, counts in summary["log"].items():
        reasons = [f"  {n:>9,}  rejected: {reason}" for reason, n in counts["rejected"].items()]
        blocks.append([f"{sort}: {counts['total']:,} read, {counts['taken']:,} taken", *reasons])
    head = f"{'stages':<8}" + "".join(f"{word:>11}" for word in _COLUMNS.values())
    rows = [
        f"{stage_range:<8}" + "".join(f"{numbers[name]:>11,}" for name in _COLUMNS)
        for stage_range, numbers in summary["stage_ranges"].items()
    ]
    blocks.append([head, *rows, "(groups: genes with images; no image: annotated genes without an image)"])
    if summary["n_turned"]:
        blocks.append([f"inverted images, which are turned: {summary['n_turned']:,}"])
    unknown = summary["n_genes_without_fbgn"]
    blocks.append([f"genes: {summary['n_genes']:,}, {unknown:,} of them without FlyBase number"])
    if merged := summary["one_gene"]:
        pairs = abbreviate_names([f"{a} = {b}" for a, b in merged])
        blocks[-1].append(f"two names of one gene, because they share an image: {pairs}")
    blocks.append([f"terms: {len(summary['terms']):,}, in genes and stage ranges; import.json has them"])
    return "\n\n".join("\n".join(block) for block in blocks)
