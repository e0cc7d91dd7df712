"""Text for people: counts in words, and what Python shows of an object that somebody gets back."""

import numpy as np
import pytest

from flyannot import DenseSIFT, DictionaryLearning, SparseCoder
from flyannot.classifiers.options import TrainOptions
from flyannot.classifiers.training_set import curated_groups
from flyannot.dataset.folder import read_annotations, read_images
from flyannot.features.groups import groups_of
from flyannot.runtime.wording import pluralise, short_value
from flyannot.scores.metrics import TermOutcomes
from flyannot.steps.loaded_model import load_model
from flyannot.store.features import StoredFeatures
from flyannot.store.reading import open_stored


def got_back(chain):
    """One of each kind of object, with what its repr must name."""
    with open_stored(chain.features) as stored:
        features, options = StoredFeatures([stored], "4-6"), TrainOptions(min_groups=2)
        columns, annotations = features.columns, read_annotations(chain.embryos)
        curated = curated_groups(columns, annotations, "4-6", options)
        yield stored, "features file"
        yield curated, "CuratedGroups(Y=<bool 24 x"
        yield curated.training_set(features, options), "TrainingSet(X=<float64 24 x 24>"
    yield annotations, "items>"
    yield groups_of(columns), "Groups(name="
    with open_stored(chain.model) as stored:
        model = load_model(stored.path, stored.digest, "4-6").model
    yield model, "method='svm'"
    yield model.scorer, "LinearSvm(weights=<float64"
    patches = DenseSIFT(stride_px=16).transform([image.file for image in read_images(chain.embryos)[:9]])
    yield patches, "ImagePatches(rows=<float32"
    learned = DictionaryLearning(8, max_iter=1, random_state=0).fit(patches)
    yield learned, "DictionaryLearning(n_components=8, max_iter=1, random_state=0)"
    yield SparseCoder(learned.components_, alpha=0.2), "SparseCoder(dictionary=<float32 8 x 128>, alpha=0.2)"
    truth = np.zeros((500, 40), bool)
    yield TermOutcomes(("a",) * 40, truth, truth / 1, truth), "truth=<bool 500 x 40>"


def test_a_repr_is_a_short_line(chain):
    for one, named in got_back(chain):
        text = repr(one)
        assert named in text and "\n" not in text and len(text) < 420, text


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (np.zeros((3, 2), "f4"), "<float32 3 x 2>"),
        (0.5, "0.5"),
        ([1, 2], "[1, 2]"),
        (list(range(5000)), "<5,000 items>"),
        ("a" * 80, "'" + "a" * 56 + "..."),
    ],
)
def test_a_value_is_cut_or_counted(value, shown):
    assert short_value(value) == shown


def test_one_is_one_and_several_are_many():
    counts = [pluralise(n, "image") for n in (0, 1, 2, 1200)]
    assert counts == ["0 images", "1 image", "2 images", "1,200 images"]
    assert [pluralise(n, "gene is", "genes are") for n in (1, 3)] == ["1 gene is", "3 genes are"]
