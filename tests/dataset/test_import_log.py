"""The log of an import: what is counted, and how it is told."""

from flyannot.dataset.importers.import_log import ImportLog, Rejection, format_import_summary

COUNTS = {
    "n_images": 1200,
    "n_genes": 34,
    "n_groups": 35,
    "n_annotated_groups": 5,
    "n_genes_without_images": 6,
}
SUMMARY = {
    "stage_ranges": {"4-6": COUNTS, "11-12": dict.fromkeys(COUNTS, 0)},
    "n_genes": 1034,
    "n_genes_without_fbgn": 2,
    "n_turned": 0,
    "one_gene": [],
    "terms": {"gap": 3, "gut": 1},
}
TABLE = """\
stages       images      genes     groups  annotated   no image
4-6           1,200         34         35          5          6
11-12             0          0          0          0          0
(groups: genes with images; no image: annotated genes without an image)"""


def test_what_is_taken_and_rejected_is_counted_by_sort_and_reason():
    log = ImportLog(("images", "terms"))
    for _ in range(3):
        log.taken["images"] += 1
    log.reject("images", "a.csv", 7, "x.png", "a part", "a corner", ["x.png", "y.png"])
    for line in (8, 9):
        log.reject("images", "a.csv", line, "z.png", "damaged")
    assert log.to_json() == {
        "images": {"total": 6, "taken": 3, "rejected": {"damaged": 2, "a part": 1}},
        "terms": {"total": 0, "taken": 0, "rejected": {}},
    }
    assert list(log.to_json()["images"]["rejected"]) == ["damaged", "a part"], "the most frequent first"
    assert log.rejected[0] == Rejection("a.csv", 7, "x.png", "a part", "a corner", "x.png; y.png")


def test_a_summary_tells_its_counts_and_only_what_there_is():
    images = {"images": {"total": 1234, "taken": 1200, "rejected": {"damaged": 34}}}
    shown = format_import_summary(SUMMARY | {"log": images})
    assert shown.split("\n\n") == [
        "images: 1,234 read, 1,200 taken\n         34  rejected: damaged",
        TABLE,
        "genes: 1,034, 2 of them without FlyBase number",
        "terms: 2, in genes and stage ranges; import.json has them",
    ]
    more = {"log": {}, "n_turned": 1000, "one_gene": [("a", "b"), ("c", "d")]}
    _, turned, genes, _ = format_import_summary(SUMMARY | more).split("\n\n")
    assert turned == "inverted images, which are turned: 1,000"
    assert genes.splitlines()[1:] == ["two names of one gene, because they share an image: a = b, c = d"]
