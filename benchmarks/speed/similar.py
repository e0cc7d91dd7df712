"""What looks alike: `flyannot similar` beside the correlation of pixels and the overlap of thresholded stain.

An image ranks the others of its stage range; its score is the AUC of those of its own gene.  For the patterns
of Wu et al. 2016, drawn without colour, genes share terms with their nearest 10; the features of
`configs/similar.toml` are scored there by `flyannot evaluate --retrieval`.

The overlap is that of Kumar et al., Genetics 2002, as FlyExpress ranks: of two thresholded patterns, the area
that both fill over that which either fills.
"""

import numpy as np

from benchmarks.findings import Finding, Target, all_of
from benchmarks.inputs.pictures import columns_of_patterns, drawn_patterns, embryo_images
from benchmarks.scc.learning import learned_atoms
from flyannot.classifiers.training_set import annotated_groups
from flyannot.dataset.folder import read_annotations
from flyannot.dataset.importers.wu2016 import STAGE_RANGE
from flyannot.descriptors.extract import describe_patches
from flyannot.descriptors.images.geometry import scaled_image
from flyannot.descriptors.images.picture import read_embryo
from flyannot.descriptors.options import ExtractOptions
from flyannot.features.groups import groups_of
from flyannot.features.image_features import atoms_of_features, features_of
from flyannot.features.options import PoolOptions
from flyannot.features.similarity import collection_of, most_similar
from flyannot.scores.metrics import NOT_ANATOMY
from flyannot.scores.retrieval import N_NEAREST, aucs_of_images, same_gene_score, shared_terms_score
from flyannot.steps.extract import image_columns

_CELLS = (40, 16)  # width and height of what pixels are averaged to
_PATCH_PX = (16, 32, 64)
_WAY = {  # as configs/similar.toml
    "extract": {"channel": "stain", "register": "axis", "min_std": 2.0, "intensity": 1.0},
    "pool": {"grid": ((2, 4),)},
    "n_atoms": 500, "shared": False, "views": (),
}  # fmt: skip
_STRIDE_PX = 8
_N_EPOCHS = 5
_TARGET = 0.85


def measure_similarity(setup):
    """The scores of every method, with intervals by bootstrap over genes."""
    images, source = embryo_images(setup)
    rows, sources = _rows_of_images(setup, images), [source]
    reached = rows[-1]["score"]
    patterns = drawn_patterns(setup)
    if patterns is not None:
        greys, arrays, source = patterns
        rows += _rows_of_patterns(setup, greys, arrays)
        sources.append(source)
    return Finding(
        source=all_of(sources), rows=rows, variant="pixels in 16 x 40 cells; configs/similar.toml",
        targets=[Target("AUC of a gene's other images", reached, _TARGET)],
        notes=["Intervals of 95 %, by bootstrap over genes."],
    )  # fmt: skip


def _rows_of_images(setup, images):
    grey, stain = (
        np.array([1 - read_embryo(image.path, options)[0] / 255 for image in images])
        for options in (ExtractOptions(), ExtractOptions(channel="stain", register="axis"))
    )
    features = features_of_images(setup, images, _PATCH_PX, _WAY)
    methods = {
        "overlap of thresholded stain": lambda rows: overlaps(stain[rows]),
        "correlation of grey levels": lambda rows: correlations(grey[rows]),
        "correlation of registered stain": lambda rows: correlations(stain[rows]),
        "features, cosine": lambda rows: _products(features[rows]),
        "flyannot similar": lambda rows: _as_searched(features[rows], [images[i] for i in rows]),
        "the same, the query being new": lambda rows: _as_new(features[rows], [images[i] for i in rows]),
    }
    return [
        {"method": name, "score": one["value"], "low": one["interval"][0], "high": one["interval"][1],
         "of": "a gene's other images, AUC", "n": one["n_images"]}
        for name, method in methods.items()
        if (one := same_gene_score(_aucs(images, method)))
    ]  # fmt: skip


def features_of_images(setup, images, patch_px, way):
    """One row for every image."""
    extract = ExtractOptions(**({"patch_px": patch_px, "stride_px": _STRIDE_PX} | way["extract"]))
    described = [describe_patches(read_embryo(image.path, extract)[0], extract) for image in images]
    options, rows = PoolOptions(**way["pool"]), {}
    ranges = [None if way["shared"] else image.stage_range for image in images]
    for stage_range in dict.fromkeys(ranges):
        mine = [i for i, s in enumerate(ranges) if s == stage_range]
        descriptors = np.concatenate([described[i].descriptors for i in mine])
        D, lam = learned_atoms(descriptors, way["n_atoms"], setup.rng("atoms"), n_epochs=_N_EPOCHS)
        atoms = atoms_of_features(D, lam, extract.patch_px)
        for i in mine:
            rows[i] = features_of(described[i], atoms, options, view=images[i].view).features
    return np.array([rows[i] for i in range(len(images))])


def _aucs(images, method):
    found = []
    for stage_range in dict.fromkeys(image.stage_range for image in images):
        rows = [i for i, image in enumerate(images) if image.stage_range == stage_range]
        found += aucs_of_images(method(rows), [images[i].gene_id for i in rows])
    return found


def _as_searched(features, images):
    found = _collection(features, images).images
    return found @ found.T


def _as_new(features, images):
    """Every image as a query that is not in the collection, of which nothing is learned from it."""
    similarity = np.zeros((len(images), len(images)))
    for i in range(len(images)):
        others = [j for j in range(len(images)) if j != i]
        found = _collection(features[others], [images[j] for j in others])
        similarity[i, others] = found.images @ found.coordinates(features[i : i + 1])[0]
    return similarity


def _collection(features, images):
    return collection_of(lambda: [features], groups_of(image_columns(images)))


def correlations(stain):
    """The correlation of every two pictures, averaged over cells, (n, n)."""
    cells = np.array([scaled_image(one, _CELLS).ravel() for one in stain], np.float64)
    return _products(cells - cells.mean(axis=1, keepdims=True))


def overlaps(stain):
    """Of every two pictures, thresholded by Otsu's method, the area of both over that of either, (n, n)."""
    from skimage.filters import threshold_otsu

    filled = np.array([(one > threshold_otsu(one)).ravel() for one in stain], np.float32)
    both, areas = filled @ filled.T, filled.sum(axis=1)
    return both / np.maximum(areas[:, None] + areas - both, 1)


def _products(rows):
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    units = rows / np.where(lengths > 0, lengths, 1)
    return units @ units.T


def _rows_of_patterns(setup, greys, arrays):
    stain = 1 - np.array(greys, np.float32) / 255
    all_groups = groups_of(columns_of_patterns(arrays))
    annotations = read_annotations(setup.data_file("wu2016").parent)
    groups, carried = annotated_groups(all_groups, annotations, STAGE_RANGE)
    kept = [g for g, terms in enumerate(carried) if terms - set(NOT_ANATOMY)]
    groups, carried = groups.subset(kept), [carried[g] - set(NOT_ANATOMY) for g in kept]
    rows = []
    methods = {"overlap of thresholded stain": overlaps, "correlation of grey levels": correlations}
    for name, method in methods.items():
        images = method(stain)
        between = np.array([[images[np.ix_(a, b)].max() for b in groups.rows] for a in groups.rows])
        order = [most_similar(one, N_NEAREST, without=[i]) for i, one in enumerate(between)]
        one = shared_terms_score(order, carried, groups.gene_ids)
        rows.append(
            {"method": name, "score": one["value"], "low": one["interval"][0], "high": one["interval"][1],
             "of": f"terms shared with the nearest {N_NEAREST}", "n": one["n_genes"], "chance": one["chance"]}
        )  # fmt: skip
    return rows
