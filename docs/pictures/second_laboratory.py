"""BDTNP's nuclei drawn as patterns, and how well a model annotates them without having seen their genes.

BDTNP measured the expression of 84 genes at the nuclei of the blastoderm (Fowlkes et al. 2008).  The table of
docs/models.md compares these drawings with the BDGP patterns of the genes that have both.
"""

import csv
import json
from collections import defaultdict

import numpy as np
from PIL import Image

from flyannot.dataset.folder import read_images, write_images_csv
from flyannot.images.pattern import GRID, ellipse_mask, extract_pattern, render_patterns
from flyannot.terms.bootstrap import compare_outcomes

MIN_GENES = 8  # a term with fewer genes is only counted in the mean F1


def read_nuclei(folder):
    """Read BDTNP's files.

    Returns
    -------
    genes : list of str
    places : array (n_nuclei, 3) of the nuclei of one side: along the axis, across, and upwards
    levels : array (n_nuclei, n_genes) of expression levels, at least 0
    """
    genes = np.loadtxt(folder / "dge.txt.gz", dtype=str, max_rows=1).tolist()
    levels = np.loadtxt(folder / "dge.txt.gz", skiprows=1)
    places = np.loadtxt(folder / "geometry.txt.gz", skiprows=1)
    return genes, places[: len(levels)], levels  # the other places are those of the other side


def draw_nuclei(places, levels):
    """Yield a drawn pattern of each gene, seen from the side: uint8 (128, 320).

    A pixel of a pattern is the mean over the nuclei near it, with Gaussian weights of one pixel.  The
    arguments are as `read_nuclei` returns them.
    """
    mask = ellipse_mask()
    columns, rows = np.nonzero(mask.T)
    x, _, z = ((places - places.min(axis=0)) / np.ptp(places, axis=0)).T
    across = columns[:, None] + 0.5 - GRID[1] * x
    down = rows[:, None] + 0.5 - GRID[0] * (1 - z)
    weights = np.exp(-(across**2 + down**2) / 2)
    patterns = (weights @ levels / weights.sum(axis=1, keepdims=True)).T
    return render_patterns(patterns / patterns.max(axis=1, keepdims=True), mask)


def second_laboratory_table(work, data, images, photographs, flyannot):
    """Yield the lines of the table.

    Parameters
    ----------
    work : folder with the data set `embryos` of BDGP's patterns, and the run `blastoderm` on them
    data : folder of the public data sets
    images : list of the rows of images.csv, as dicts, of BDGP's patterns, with absolute paths
    photographs : data set folder of photographs of stage range 4-6
    flyannot : function that runs a command of flyannot, of its words
    """
    names, places, levels = read_nuclei(data / "bdtnp")
    with open(work / "embryos" / "annotations.csv", newline="") as file:
        annotations = list(csv.DictReader(file))
    annotated = {row["gene"] for row in annotations} & {row["gene"] for row in images}
    drawn = work / "bdtnp"
    drawn.mkdir(exist_ok=True)
    rows = []
    for gene, picture in zip(names, draw_nuclei(places, levels)):
        if gene in annotated:
            Image.fromarray(picture).save(drawn / f"{len(rows)}.png")
            rows.append({"image": f"{len(rows)}.png", "gene": gene, "stage_range": "4-6", "view": "lateral"})
    write_images_csv(drawn / "images.csv", rows)
    genes = {row["gene"] for row in rows}
    (work / "same-genes").mkdir(exist_ok=True)
    same = [row | {"group": row["gene"]} for row in images if row["gene"] in genes]
    write_images_csv(work / "same-genes" / "images.csv", same)
    with open(photographs / "images.csv", newline="") as file:
        unseen = genes | {row["gene"] for row in csv.DictReader(file)}
    with open(work / "seen-annotations.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, annotations[0])
        writer.writeheader()
        writer.writerows(row for row in annotations if row["gene"] not in unseen)
    run, model = work / "blastoderm", work / "without-bdtnp.h5"
    words = ("--min-groups", 10, "-o", model, "--force", "-q")
    flyannot("train", run / "features.h5", work / "seen-annotations.csv", *words)
    scores = {}
    for folder, truth in (
        (work / "same-genes", work / "embryos"),
        (drawn, work / "embryos"),
        (photographs, data / "flyexpress"),
    ):
        answers, json_file = folder / "answers.h5", folder / "scores.json"
        flyannot("annotate", model, folder, "-o", answers, "--force", "-q")
        flyannot("evaluate", answers, truth / "annotations.csv", "--json", json_file, "-q")
        scores[folder.name] = json.loads(json_file.read_text())
    yield from _format_table(*scores.values())
    with_yolk = {row["gene"] for row in annotations if row["term"] == "yolk nuclei"}
    patterns, nuclei = (_compare_middles(folder, with_yolk) for folder in (work / "same-genes", drawn))
    yield (
        f"\nMean level in the middle of the embryo, for genes with *yolk nuclei* and for the others: "
        f"{patterns[0]:.2f} and {patterns[1]:.2f} in BDGP's patterns, {nuclei[0]:.2f} and {nuclei[1]:.2f} in "
        f"BDTNP's nuclei."
    )


def _compare_middles(folder, chosen):
    """Return the mean level in the middle of the patterns of the chosen genes, and of the other genes.

    folder : Path of a data set of drawn patterns; chosen : set of genes
    """
    column, row = np.nonzero(ellipse_mask().T)
    is_middle = np.hypot((column + 0.5) / GRID[1] - 0.5, (row + 0.5) / GRID[0] - 0.5) < 0.275
    levels = defaultdict(list)
    for image in read_images(folder):
        pattern = extract_pattern(np.asarray(Image.open(image.file), np.float32))
        levels[image.gene].append(pattern[is_middle].mean())
    means = {gene: np.mean(of_images) for gene, of_images in levels.items()}
    return [np.mean([m for g, m in means.items() if (g in chosen) == is_in]) for is_in in (True, False)]


def _format_table(same, drawn, photographs):
    """Yield the lines of the table, from three files of scores as dicts."""
    counts = {row["term"]: row["n_positive"] for row in drawn["terms"]}
    for result in (same, drawn):
        for row in result["terms"]:
            if counts.get(row["term"], 0) < MIN_GENES:
                row["reason"] = row["reason"] or "few genes"
    compared = compare_outcomes(same, drawn)
    yield "| term | genes | AUC: BDGP's patterns | BDTNP's nuclei | difference, 95% interval |"
    yield "|---|---|---|---|---|"
    for row in sorted(compared["terms"], key=lambda row: -row["second"]):
        yield f"| {row['term']} | {counts[row['term']]} {_format_difference(row)}"
    yield f"| mean of {len(compared['terms'])} terms | {_format_difference(compared['mean'])}"
    yield "\n| pictures | genes | suggested terms | curated terms | mean F1 of a gene, 95% interval |"
    yield "|---|---|---|---|---|"
    named = {"BDGP's patterns": same, "BDTNP's nuclei": drawn, "photographs (FlyExpress)": photographs}
    for name, result in named.items():
        groups = result["summary"]["all"]["groups"]
        low, high = groups["f1_interval"]
        n = sum(len(part["group"]) for part in result["evaluated"].values())
        yield (
            f"| {name} | {n} | {groups['n_yes']:.1f} | {groups['n_curated']:.1f} | "
            f"{groups['f1']:.2f}, {low:.2f} to {high:.2f} |"
        )


def _format_difference(row):
    """Return the last cells of a row of `compare_outcomes`."""
    low, high = row["interval"]
    cells = f"{row['first']:.2f} | {row['second']:.2f} | {row['difference']:+.2f}"
    return f"| {cells}, {low:+.2f} to {high:+.2f} |"
