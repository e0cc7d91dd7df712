"""Features and curated terms of single genes: patterns of Wu et al. 2016, else synthetic embryos."""

from collections import Counter

import numpy as np

from benchmarks.findings import Source
from benchmarks.inputs.pictures import columns_of_patterns, drawn_patterns, grey_levels
from benchmarks.scc.learning import learned_atoms
from flyannot.classifiers.training_set import LabelledRows, annotated_groups, truth_of
from flyannot.dataset.folder import read_annotations, read_images
from flyannot.dataset.importers.wu2016 import STAGE_RANGE
from flyannot.dataset.synthetic import SynthesizeOptions
from flyannot.dataset.synthetic.generate import synthesize
from flyannot.descriptors.extract import describe_patches
from flyannot.descriptors.options import ExtractOptions
from flyannot.features.groups import group_features, groups_of, normalise_features
from flyannot.features.image_features import atoms_of_features, features_of
from flyannot.features.options import PoolOptions
from flyannot.scores.metrics import NOT_ANATOMY
from flyannot.steps.extract import image_columns

EXTRACT = ExtractOptions(patch_px=64, stride_px=16, min_std=2)
POOL = PoolOptions(grid=((2, 4),))
N_ATOMS, _N_EPOCHS = 500, 10
_N_SYNTHETIC = 150  # genes, each with one picture
FEATURES = f"stride {EXTRACT.stride_px}, {N_ATOMS} atoms, 2x4 grid"


def labelled_pictures(setup, min_genes):
    """`LabelledRows` of all annotated genes of stage range 4-6, and the `Source`.

    Terms are those of anatomy that at least `min_genes` genes carry.
    """
    X, genes, carried, source = setup.once("labelled pictures", lambda: _described(setup))
    terms = sorted(term for term, count in counts_of_anatomy(carried).items() if count >= min_genes)
    return LabelledRows(X=X, Y=truth_of(carried, terms), genes=genes, terms=terms), source


def counts_of_anatomy(carried):
    """How many genes carry each term of anatomy, a `Counter`, from the set of terms of each."""
    return Counter(term for terms in carried for term in terms if term not in NOT_ANATOMY)


def _described(setup):
    greys, columns, folder, source = _pictures(setup)
    described = [describe_patches(grey, EXTRACT) for grey in greys]
    descriptors = np.concatenate([one.descriptors for one in described])
    D, lam = learned_atoms(descriptors, N_ATOMS, setup.rng("atoms"), n_epochs=_N_EPOCHS)
    atoms = atoms_of_features(D, lam, np.unique(EXTRACT.patch_px))
    features = np.stack([features_of(one, atoms, POOL).features for one in described])
    groups, carried = annotated_groups(groups_of(columns), read_annotations(folder), STAGE_RANGE)
    X = normalise_features(group_features(features, groups), "l2")
    X = np.linalg.qr(X.T)[1].T  # as many numbers as genes, of the same products: linear SVMs see no other
    return X, groups.gene_ids, carried, source


def _pictures(setup):
    """Pictures, the columns of images, the folder of the annotations, and the `Source`."""
    patterns = drawn_patterns(setup)
    if patterns is not None:
        greys, arrays, source = patterns
        return greys, columns_of_patterns(arrays), setup.data_file("wu2016").parent, source
    folder = setup.scratch / "labelled-embryos"
    n_genes = setup.sizes.get("n_synthetic", _N_SYNTHETIC)
    made = SynthesizeOptions(n_genes=n_genes, max_images=1, stage_range=(STAGE_RANGE,))
    synthesize(folder, made, seed=setup.seed, force=True)
    images = read_images(folder)
    return (
        [grey_levels(image.path) for image in images], image_columns(images), folder,
        Source(f"{len(images)} SYNTHETIC embryos", "synthetic"),
    )  # fmt: skip
