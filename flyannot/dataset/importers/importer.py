"""What an importer is: one kind of published data, and the way to a data set folder."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from flyannot.dataset.coverage import count_coverage
from flyannot.dataset.folder import read_annotations, read_images, write_annotations_csv, write_images_csv
from flyannot.runtime.atomic_file import write_text
from flyannot.runtime.digest import digest_of_file


@dataclass(frozen=True)
class Importer:
    """One kind of published data.

    help : what `flyannot import NAME --help` says; its first line is the kind in a few words
    sources : what the command calls the paths that it takes
    options : an options class
    run : function of (sources, a list of paths; folder; an options object; keyword force), which writes the
        data set folder and returns its summary, as `write_tables` does
    """

    help: str
    sources: str
    options: type
    run: Callable


def write_tables(staged, images, terms, log, sources, *, one_gene=()):
    """Write images.csv, annotations.csv, rejected.csv and import.json, the summary, into a new folder.

    Parameters
    ----------
    staged : Path of the folder, which has its images
    images, terms : rows for images.csv and annotations.csv, dicts
    log : flyannot.dataset.importers.import_log.ImportLog
    sources : dict, role -> path of a table or None
    one_gene : pairs of names that turned out to be one gene's

    Returns
    -------
    summary : dict, counted from the tables as they were written: what the next command will read
    """
    write_images_csv(staged / "images.csv", images)
    if terms:
        write_annotations_csv(staged / "annotations.csv", terms)
    log.write(staged / "rejected.csv")
    taken, annotations = read_images(staged), read_annotations(staged) if terms else None
    counts = Counter(row["term"] for row in terms)
    summary = {
        "sources": {role: digest_of_file(path) for role, path in sources.items() if path},
        "log": log.as_json(),
        "stage_ranges": count_coverage(taken, annotations),
        "n_genes": len({image.gene_id for image in taken}),
        "n_genes_without_fbgn": len({image.gene_id for image in taken if not image.fbgn}),
        "one_gene": list(one_gene),
        "terms": dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))),
    }
    write_text(staged / "import.json", json.dumps(summary, indent=2, ensure_ascii=False) + "\n")
    return summary
