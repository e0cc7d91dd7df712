"""Text for people: counts in words, and what Python shows of an object that somebody gets back."""

import numpy as np
import pytest

from flyannot import DenseSIFT, DictionaryLearning, SparseCoder
from flyannot.classifiers.options import TrainOptions
from flyannot.classifiers.training_set import curated_groups
from flyannot.dataset.folder import read_annotations, read_images
from flyannot.features.groups import groups_of
from flyannot.runtime.wording import is_fit_for_cells, pluralise, printable_text, short_value
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
        *((kind(range(5000)), "<5,000 items>") for kind in (list, tuple, set, dict.fromkeys)),
        ("a" * 58, repr("a" * 58)),
        ("a" * 59, "'" + "a" * 56 + "..."),
    ],
)
def test_a_value_is_cut_or_counted(value, shown):
    assert short_value(value) == shown


def test_one_is_one_and_several_are_many():
    counts = [pluralise(n, "image") for n in (0, 1, 2, 1200)]
    assert counts == ["0 images", "1 image", "2 images", "1,200 images"]
    assert [pluralise(n, "gene is", "genes are") for n in (1, 3)] == ["1 gene is", "3 genes are"]


def test_what_would_direct_a_terminal_or_part_a_cell_is_told_and_escaped():
    good, bad = 'β-Tub ＝1, \u201ea"', "a\x1b[2J\x9bb\u202ec\ud800"
    assert is_fit_for_cells(good) and printable_text(good) == good
    assert not any(is_fit_for_cells(text) for text in ("a\nb", "a\x1bb", "a\x9bb", "a\ud800b"))
    assert printable_text(f"{bad}\n") == "a\\u001b[2J\\u009bb\\u202ec\\ud800\n"
    assert printable_text(f"é{bad[:2]}\n", keep="") == "éa\\u001b\\n"
