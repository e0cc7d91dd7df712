"""`make models`: the model that comes with flyannot, and what docs/models.md says of it, from the real data.

The patterns of Wu et al. lie in FLYANNOT_DATA/wu2016, FlyExpress's photographs in FLYANNOT_DATA/flyexpress.
"""

import csv
import json
import os
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image
from second_laboratory import second_laboratory_table

from flyannot.base.quality_warnings import QualityWarning
from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.dataset.folder import read_annotations, read_images, write_images_csv
from flyannot.encode.groups import group_images, normalise_features, pool_groups
from flyannot.files.hdf5.features import read_features
from flyannot.files.hdf5.header import Header
from flyannot.files.hdf5.model import write_model
from flyannot.files.hdf5.reading import open_stored_file
from flyannot.files.hdf5.supplied import STAGE_MODEL, format_card
from flyannot.files.hdf5.writing import create_stored_file
from flyannot.images.address import split_address
from flyannot.images.embryo import Embryo, read_picture
from flyannot.images.options import ExtractOptions
from flyannot.images.quality import EITHER_WAY
from flyannot.pipeline.models.stage_model import STORED_UNDER, UNEVEN, RatedEmbryo, contradicted, log_odds
from flyannot.terms.bootstrap import bootstrap_gene_weights, bootstrap_interval
from flyannot.terms.metrics import concordant_pairs
from flyannot.terms.model import fit_model
from flyannot.terms.options import TrainOptions
from flyannot.terms.scorer import FitOptions
from flyannot.terms.unlikeness import UNLIKE, NoveltyReference

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("FLYANNOT_DATA", ROOT.parent / "shared" / "data"))
WORK = ROOT / "results" / "models"
PAGE = ROOT / "docs" / "models.md"
STAGE_RANGE = STORED_UNDER
TURNED = ("", "left-right", "top-bottom", "both")  # the stage model learns from photographs turned so
HOW_STAGES = TrainOptions(method="ridge", min_groups=5)  # of the stage model
PAIR_RULE = "pair rule"  # stripes of stain
N_OWN, N_TESTED, N_DRAWS = (0, 10, 30, 100), 150, 3  # genes of the learning curve


def flyannot(*words):
    """Run a command."""
    subprocess.run([sys.executable, "-m", "flyannot", *map(str, words)], check=True, cwd=ROOT)


def build():
    """Make the model itself, from all patterns."""
    embryos, out = WORK / "embryos", WORK / "blastoderm"
    flyannot("import", "wu2016", DATA / "wu2016" / "patterns.npz", "-o", embryos, "--force", "-q")
    flyannot("run", "configs/blastoderm.toml", "--data-set", embryos, "-o", out, "-q")
    shutil.copyfile(out / "model.h5", ROOT / "flyannot" / "models" / "blastoderm.h5")
    return out


def build_stage_model(images):
    """Make the stage model, and return the files of its images and its rows.

    The rows are features, stage ranges (one column each) and genes.

    The steps learn a dictionary for each stage range, and terms of genes.  Here photographs have the terms,
    and all are given as one stage range.  The first rows are the photographs as they are, then come the
    turned ones, in the same order.
    """
    folder = photographs(WORK / "stages", images)
    descriptors, dictionary = folder / "descriptors.h5", folder / "dictionary.h5"
    how = ("--register", "axis", "--channel", "blue", "--patch-px", 32, "--stride-px", 8)
    flyannot("extract", folder, *how, "-o", descriptors, "--force", "-q")
    flyannot("learn-dict", descriptors, "--n-atoms", 500, "-o", dictionary, "--force", "-q")
    true = {image.file: image.stage_range for image in images}
    digests, X, names, genes = [], [], [], []
    for turned in TURNED:
        turned_folder = photographs(WORK / f"stages-{turned}", images, turned)
        features = turned_folder / "features.h5"
        flyannot("pool", turned_folder, dictionary, "--grid", "2x4", "-o", features, "--force", "-q")
        stored = open_stored_file(features, "features")
        columns, of_turned = read_features([stored], STAGE_RANGE)
        options = stored.options | {"train": HOW_STAGES.to_header() | {"stage_ranges": [STAGE_RANGE]}}
        D = stored.read_array(STAGE_RANGE, "D")
        digests.append(stored.digest)
        X.append(of_turned)
        names += columns["image"]
        genes += columns["gene"]
    X = np.concatenate(X)
    Y = np.array([[true[split_address(name)[0]] == s for s in STAGE_RANGES] for name in names])
    rows = normalise_features(X, HOW_STAGES.normalisation), Y, np.array(genes)
    of_images = range(len(X)), genes, [""] * len(X)
    known = NoveltyReference.from_images([(0, X)], *of_images, np.random.default_rng(0))
    model = fit_stages(*rows)
    header = Header("model", options, {"features": digests}, 0)
    with create_stored_file(STAGE_MODEL, header) as file:
        about = HOW_STAGES.method, model.arrays(), set(genes), known.arrays()
        write_model(file, STAGE_RANGE, D, STAGE_RANGES, *about)
    return names[: len(images)], rows


def fit_stages(X, Y, genes):
    """Fit the classifier of the stage model, which is calibrated by leaving out one gene after another."""
    options = FitOptions.of_training(replace(HOW_STAGES, inner_folds=len(set(genes))), 1)
    return fit_model(HOW_STAGES.method, X, Y, genes, rng=np.random.default_rng(0), options=options)


def held_out_odds(X, Y, genes):
    """Return the `log_odds` of photographs by models whose training and calibration leave out their gene."""
    odds = np.empty(Y.shape)
    for gene in np.unique(genes):
        new = genes == gene
        odds[new] = log_odds(fit_stages(X[~new], Y[~new], genes[~new]), X[new])
    return odds


def stage_table(odds, Y, genes):
    """Say how well the stage model rates photographs of genes that it did not learn from."""
    n = len(Y) // len(TURNED)
    turned_odds, odds, Y, genes = odds[n:], odds[:n], Y[:n], genes[:n]
    true, likely, named = Y.argmax(axis=1), odds.argmax(axis=1), contradicted(odds)
    off, away = np.abs(likely - true), np.abs(np.arange(len(STAGE_RANGES)) - true[:, None])
    yield "| true stage range | photographs | AUC | guessed right | within one | named, given as 4-6 |"
    yield "|---|---|---|---|---|---|"
    for j, s in enumerate(STAGE_RANGES):
        here = true == j
        won, pairs = concordant_pairs(odds[:, j], Y[:, j], np.zeros(len(Y), int))
        of_all = named[here, STAGE_RANGES.index(STAGE_RANGE)].mean()
        cells = " | ".join(f"{f:.0%}" for f in ((off[here] == 0).mean(), (off[here] <= 1).mean(), of_all))
        yield f"| {s} | {here.sum()} | {np.sum(won) / np.sum(pairs):.2f} | {cells} |"
    low, high = _interval(off == 0)
    yield (
        f"\nOf all {len(Y)} photographs {(off == 0).mean():.0%} ({low:.0%} to {high:.0%}) are guessed right, "
        f"and {(off <= 1).mean():.0%} within one stage range."
    )
    wrongly = named[away == 0]
    most = Counter(genes).most_common(1)[0][0]
    low, high = _interval(wrongly)
    yield (
        f"\nOf photographs with their true stage range {wrongly.mean():.1%} ({low:.1%} to {high:.1%}) are "
        f"named: {wrongly[genes == most].sum()} of the {np.sum(genes == most)} of *{most}*, and "
        f"{wrongly[genes != most].sum()} of the {np.sum(genes != most)} others."
    )
    repeated = np.tile(true, len(TURNED) - 1)
    named_turned = contradicted(turned_odds)[np.arange(len(repeated)), repeated]
    yield (
        f"\nOf the same photographs mirrored, upside down, or turned by half a turn, "
        f"{(turned_odds.argmax(axis=1) == repeated).mean():.0%} are guessed right, and "
        f"{named_turned.mean():.1%} are named with their true stage range."
    )
    yield "\n| the stage range given is wrong by | 1 | 2 | 3 | 4 | 5 | any |\n|---|---|---|---|---|---|---|"
    named_at = [named[away == steps].mean() for steps in range(1, len(STAGE_RANGES))]
    yield "| named | " + " | ".join(f"{f:.0%}" for f in (*named_at, named[away > 0].mean())) + " |"


def _interval(happened):
    """Return Wilson's 95% interval of a proportion.

    happened : bool array (n,)
    """
    from scipy.stats import binomtest

    return binomtest(int(happened.sum()), len(happened)).proportion_ci(method="wilson")


def terms_table(out):
    """Of every term the genes, and the AUC by five folds of genes with its interval."""
    terms = json.loads((out / "scores.json").read_text())["terms"]
    yield "| term | genes | AUC | 95% interval |\n|---|---|---|---|"
    evaluated = [row for row in terms if row["auc"] is not None]
    for row in sorted(evaluated, key=lambda row: -row["auc"]):
        low, high = row["auc_interval"]
        yield f"| {row['term']} | {row['n_positive']} | {row['auc']:.2f} | {low:.2f} to {high:.2f} |"
    yield f"\nMean AUC of the {len(evaluated)} terms: {np.mean([row['auc'] for row in evaluated]):.3f}."


def photographs(folder, chosen, turned=""):
    """Make a data set folder of some FlyExpress photographs, all given as stage range 4-6; return it."""
    folder.mkdir(parents=True, exist_ok=True)
    about = {"stage_range": STAGE_RANGE, "turned": turned}
    rows = [{"image": i.file, "gene": i.gene} | about for i in chosen]
    write_images_csv(folder / "images.csv", rows)
    return folder


def transfer_table(embryos, images):
    """Rank the curated terms of FlyExpress genes that the models have not seen, by channel."""
    truth, genes = read_annotations(DATA / "flyexpress"), {i.gene for i in images}
    seen = WORK / "without-flyexpress"
    seen.mkdir(parents=True, exist_ok=True)
    rows = [vars_of(i) for i in read_images(embryos) if i.gene not in genes]
    write_images_csv(seen / "images.csv", rows)
    shutil.copyfile(embryos / "annotations.csv", seen / "annotations.csv")
    here = photographs(WORK / "photographs", [i for i in images if i.stage_range == STAGE_RANGE])
    yield "| gene | curated terms | ranks | AUC: pattern | stain | grey |\n|---|---|---|---|---|---|"
    ranked, areas = {}, defaultdict(dict)
    for channel in ("pattern", "stain", "grey"):
        out = WORK / f"seen-{channel}"
        set_channel = ("--set", f"extract.channel={channel}", "-q")
        flyannot("run", "configs/blastoderm.toml", "--data-set", seen, "-o", out, *set_channel)
        flyannot("annotate", out / "model.h5", here, "-o", out / "photographs.h5", "--force", "-q")
        by_gene = defaultdict(list)
        with open(out / "photographs.csv", newline="") as file:
            for row in csv.DictReader(file):
                margin = float(row["probability"]) / float(row["threshold"])
                by_gene[row["gene"]].append((margin, row["term"]))
        for gene, terms in by_gene.items():
            order = [term for _, term in sorted(terms, reverse=True)]
            ranks = [1 + order.index(t) for t in truth.terms_of(gene, STAGE_RANGE) or () if t in order]
            if ranks:
                n, n_others = len(ranks), len(order) - len(ranks)
                areas[gene][channel] = 1 - (sum(ranks) - n * (n + 1) / 2) / (n * n_others)
                if channel == "pattern":
                    ranked[gene] = sorted(
                        (order.index(t) + 1, t) for t in truth.terms_of(gene, STAGE_RANGE) if t in order
                    )
    for gene, of_channels in sorted(areas.items()):
        names, ranks = ", ".join(t for _, t in ranked[gene]), ", ".join(str(r) for r, _ in ranked[gene])
        yield (
            f"| *{gene}* | {names} | {ranks} | " + " | ".join(f"{a:.2f}" for a in of_channels.values()) + " |"
        )
    means = [np.mean([areas[gene][channel] for gene in areas]) for channel in ("pattern", "stain", "grey")]
    yield f"| mean of {len(areas)} genes | | | " + " | ".join(f"{mean:.2f}" for mean in means) + " |"


def unlike_table(images, others, simulated):
    """Count the photographs of every stage range that get a warning, if all are given as 4-6.

    others : set of the files that look like another stage range to models without their gene
    simulated : folder of the data set of simulated photographs
    """
    out = WORK / "seen-pattern"
    here = photographs(WORK / "all-photographs", images)
    flyannot("annotate", out / "model.h5", here, "-o", out / "all.h5", "--force", "-q")
    stored = open_stored_file(out / "all.h5", "predictions")
    names, ranks, texts = (
        stored.read_array(STAGE_RANGE, name) for name in ("image", "unlikeness", "quality_warnings")
    )
    unlike, uneven = np.asarray(ranks) > UNLIKE, np.array([str(UNEVEN) in text for text in texts])
    another = np.array([name in others for name in names])
    both = unlike | uneven
    columns = np.stack([unlike, uneven, another, both, both | another])
    image_of = {image.file: image for image in images}
    true = np.array([STAGE_RANGES.index(image_of[name].stage_range) for name in names])
    (weights,) = bootstrap_gene_weights([image_of[name].gene for name in names])
    yield "| true stage range | photographs | unlike | uneven | looks like another | unlike or uneven | any |"
    yield "|---|---|---|---|---|---|---|"
    for j, s in enumerate(STAGE_RANGES):
        counts = columns[:, true == j].sum(axis=1)
        yield f"| {s} | {np.sum(true == j)} | {' | '.join(map(str, counts))} |"
    given = STAGE_RANGES.index(STAGE_RANGE)
    yield "\n| warning | of stage range 4-6, 95% interval | of later ones, 95% interval |\n|---|---|---|"
    kinds = "unlike", "uneven", "looks like another", "unlike or uneven", "any"
    for kind, named in zip(kinds, columns):
        cells = (_count_named(named[here], weights[:, here]) for here in (true == given, true > given))
        yield f"| {kind} | {' | '.join(cells)} |"
    annotations, counts = read_annotations(WORK / "embryos"), Counter()
    for image in read_images(simulated):
        is_striped = PAIR_RULE in (annotations.terms_of(image.gene, STAGE_RANGE, image.fbgn) or ())
        embryo = RatedEmbryo(read_picture(image.address))
        counts[is_striped, UNEVEN in embryo.stage_warnings(STAGE_RANGE)] += 1
    n, n_striped = counts.total(), counts[True, True] + counts[True, False]
    yield (
        f"\nOf {n:,} simulated photographs of stage range 4-6 {counts[True, True] + counts[False, True]} are "
        f"uneven, among them {counts[True, True]} of the {n_striped} with the term *{PAIR_RULE}*."
    )


def _count_named(named, weights):
    """Return how many photographs are named, as text, with an interval over genes.

    named : bool array (n_photographs,); weights : as `bootstrap_gene_weights` returns
    """
    low, high = bootstrap_interval((weights * named).sum(axis=1)[1:] / weights.sum(axis=1)[1:])
    if not named.any():  # all samples are 0; this is the exact binomial interval
        high = 1 - 0.025 ** (1 / len(named))
    return f"{named.sum()} of {len(named)} ({named.mean():.0%}), {low:.0%} to {high:.0%}"


def orientation(images):
    """How often --orient is right, on photographs that are mirrored, or upside down, at random."""
    rng, folder, counts = np.random.default_rng(0), WORK / "turned", Counter()
    folder.mkdir(parents=True, exist_ok=True)
    asked, plain = ExtractOptions(register="axis", orient=True), ExtractOptions(register="axis")
    for image in images:
        picture, (is_mirrored, is_upside_down) = Image.open(image.file).convert("RGB"), rng.random(2) < 0.5
        picture = picture.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if is_mirrored else picture
        picture = picture.transpose(Image.Transpose.FLIP_TOP_BOTTOM) if is_upside_down else picture
        picture.save(folder / "turned.png")
        view = Embryo(read_picture(folder / "turned.png")).view(asked)
        grey = view.grey
        wanted = Embryo(read_picture(image.file)).view(plain).grey[:: -1 if is_upside_down else 1]
        is_right = np.abs(grey - wanted).mean() < np.abs(grey[:, ::-1] - wanted).mean()
        counts[
            "undecided" if QualityWarning(EITHER_WAY) in view.warnings else "correct" if is_right else "wrong"
        ] += 1
    yield f"Of {len(images)} photographs turned at random: " + ", ".join(
        f"{counts[word]} {word}" for word in ("correct", "wrong", "undecided")
    )


def vars_of(image):
    """Return the row of images.csv for an image, with its absolute path."""
    names = ("gene", "stage_range", "view", "fbgn", "group")
    return {"image": image.file} | {name: getattr(image, name) for name in names}


def photographed(grey, rng):
    """Simulate, in colour, how another laboratory might photograph a drawn pattern."""
    import cv2

    stain = np.clip((180 - grey) / 180, 0, 1) ** rng.uniform(0.6, 1.6) * rng.uniform(0.4, 1.2)
    body, (y, x) = np.clip((255 - grey) / 75, 0, 1), np.mgrid[-1:1:128j, -1:1:320j]
    yolk = rng.uniform(0, 0.25) * np.exp(
        -((x - rng.normal(0, 0.2)) ** 2 * 2 + (y - rng.normal(0, 0.2)) ** 2 * 4)
    )
    light = rng.uniform(0, 0.08) * (x * rng.choice([-1, 1]) + y)
    density = [
        stain * s + body * t * (0.15 + yolk) + light for s, t in zip((0.7, 0.67, 0.23), (0.57, 0.54, 0.61))
    ]
    rgb = 245 * 10 ** -np.stack(density, axis=2) + rng.normal(0, 3, (128, 320, 1))
    turn = cv2.getRotationMatrix2D((200, 110), rng.uniform(-20, 20), rng.uniform(0.8, 1.0))
    turn[:, 2] += rng.uniform(-10, 10, 2)
    padded = np.pad(rgb, ((46, 46), (40, 40), (0, 0)), constant_values=245)
    turned = cv2.warpAffine(padded, turn, (400, 220), flags=cv2.INTER_CUBIC, borderValue=(245, 245, 245))
    return np.clip(cv2.GaussianBlur(turned, (0, 0), rng.uniform(0.5, 2.5)), 0, 255).astype(np.uint8)


def simulate_photographs(rng):
    """Simulate a photograph of every pattern, and return the folder of this data set."""
    folder, rows = WORK / "simulated", []
    folder.mkdir(parents=True, exist_ok=True)
    for number, image in enumerate(read_images(WORK / "embryos")):
        file = folder / f"{number}.png"
        Image.fromarray(photographed(np.asarray(Image.open(image.file), float), rng)).save(file)
        rows.append(vars_of(image) | {"image": str(file)})
    write_images_csv(folder / "images.csv", rows)
    return folder


def learning_curve(out, folder, rng):
    """Measure the mean AUC on simulated photographs of other genes, by the number of own genes added."""
    flyannot(
        "pool", folder, out / "dictionary.h5", "-o", WORK / "simulated.h5", "--grid", "2x4", "--force", "-q"
    )
    drawn, terms, Y, genes = _rows_of(out / "features.h5")
    simulated, _, Y_simulated, genes_simulated = _rows_of(WORK / "simulated.h5")
    yield "| own genes, photographed | own alone | with the patterns |\n|---|---|---|"
    areas = defaultdict(list)
    for _ in range(N_DRAWS):
        order = rng.permutation(np.unique(genes))
        tested, own, base = (
            order[:N_TESTED],
            order[N_TESTED : N_TESTED + max(N_OWN)],
            order[N_TESTED + max(N_OWN) :],
        )
        is_tested = np.isin(genes_simulated, tested)
        for n in N_OWN:
            mine = np.isin(genes_simulated, own[:n])
            first = (simulated[mine], Y_simulated[mine], genes_simulated[mine])
            both = tuple(
                np.concatenate([of_drawn[np.isin(genes, base)], of_own])
                for of_drawn, of_own in zip((drawn, Y, genes), first)
            )
            for name, (X, truth, of_genes) in (("own", first), ("both", both)):
                if len(X):
                    tested_rows = simulated[is_tested], Y_simulated[is_tested]
                    areas[n, name].append(_mean_auc(X, truth, of_genes, *tested_rows))
    for n in N_OWN:
        cells = [f"{np.mean(areas[n, name]):.3f}" if areas[n, name] else "" for name in ("own", "both")]
        yield f"| {n} | {cells[0]} | {cells[1]} |"


def _rows_of(features):
    """Features, terms, truth and genes of the annotated groups of a features file."""
    annotations = read_annotations(WORK / "embryos")
    stored = open_stored_file(features, "features")
    columns, X = read_features([stored], STAGE_RANGE)
    groups = group_images(columns)
    carried = [annotations.terms_of(g, STAGE_RANGE, f) for g, f in zip(groups.gene, groups.fbgn)]
    kept = [k for k, terms in enumerate(carried) if terms is not None]
    groups, carried = groups.subset(kept), [carried[k] for k in kept]
    terms = [t for t, n in sorted(annotations.counts(STAGE_RANGE).items()) if n >= 20]
    Y = np.array([[t in of_gene for t in terms] for of_gene in carried])
    return normalise_features(pool_groups([(0, X)], groups), "l2"), terms, Y, np.array(groups.gene_ids)


def _mean_auc(X, Y, genes, X_tested, Y_tested):
    """Of all terms; of a term that cannot be learned it is .5."""
    areas = np.full(Y.shape[1], 0.5)
    able = [j for j in range(Y.shape[1]) if 2 <= Y[:, j].sum() <= len(Y) - 2]
    if able:
        fitted = fit_model("ridge", X, Y[:, able], genes, rng=np.random.default_rng(0))
        values, one_fold = fitted.decision_values(X_tested), np.zeros(len(X_tested), int)
        for k, j in enumerate(able):
            won, pairs = concordant_pairs(values[:, k], Y_tested[:, j], one_fold)
            areas[j] = np.sum(won) / np.sum(pairs)
    return areas[Y_tested.any(axis=0)].mean()


def write_between(page, mark, lines):
    """Put lines between two marks of a page."""
    before, _, rest = page.read_text(encoding="utf-8").partition(f"<!-- {mark} -->")
    after = rest.partition(f"<!-- end of {mark} -->")[2]
    text = "\n".join(lines)
    page.write_text(f"{before}<!-- {mark} -->\n{text}\n<!-- end of {mark} -->{after}", encoding="utf-8")


def main():
    shutil.rmtree(WORK, ignore_errors=True)  # another version of flyannot may have made its files
    out, images, rng = build(), read_images(DATA / "flyexpress"), np.random.default_rng(0)
    simulated = simulate_photographs(rng)
    files, rows = build_stage_model(images)
    odds = held_out_odds(*rows)
    is_other = contradicted(odds)[:, STAGE_RANGES.index(STAGE_RANGE)]
    others = {file for file, is_named in zip(files, is_other) if is_named}
    write_between(PAGE, "card", [format_card("blastoderm")])
    write_between(PAGE, "terms", terms_table(out))
    write_between(PAGE, "stages", stage_table(odds, *rows[1:]))
    write_between(PAGE, "transfer", transfer_table(WORK / "embryos", images))
    patterns = [vars_of(i) for i in read_images(WORK / "embryos")]
    lines = second_laboratory_table(WORK, DATA, patterns, WORK / "photographs", flyannot)
    write_between(PAGE, "second laboratory", lines)
    write_between(PAGE, "unlike", unlike_table(images, others, simulated))
    write_between(PAGE, "orientation", orientation(images))
    write_between(PAGE, "learning curve", learning_curve(out, simulated, rng))


if __name__ == "__main__":
    main()
