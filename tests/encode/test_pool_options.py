"""Tests of pyramids, patches of several sizes, mirror images and shared dictionaries."""

from dataclasses import replace

import h5py
import numpy as np
import pytest

from flyannot.base.errors import DataError, InputError
from flyannot.dataset.folder import read_images
from flyannot.dataset.synthetic import SynthesizeOptions
from flyannot.dataset.synthetic.generate import synthesize
from flyannot.encode import encoder as encoder_module
from flyannot.encode.encoder import Encoder, batch_images
from flyannot.encode.groups import group_images, pool_groups
from flyannot.encode.options import GridType, PoolOptions
from flyannot.files.hdf5.dictionary import read_dictionary
from flyannot.files.hdf5.reading import open_stored_file, verify_stored_file
from flyannot.images.embryo import read_grey
from flyannot.images.extract import DescribedPatches, describe_patches
from flyannot.images.options import ExtractOptions, sorted_patch_sizes
from flyannot.images.sift import mirror_descriptors
from flyannot.pipeline.engine.inputs import read_options
from flyannot.pipeline.steps.learn_dict import PatchSamples
from tests.planted_samples import unit_rows
from tests.small_embryos import LEARN, STAGE_RANGES, Chain, make, make_files

SIZE = (128, 320)
GRID = (2, 3)
TIGHT = PoolOptions(tol=1e-8, grid=GRID)
OPTIONS = PoolOptions(grid=((1, 1), (2, 2)), mirror=("dorsal",))
SHARED = replace(LEARN, shared=True, max_patches="all")


# --- grids and sizes of patches ---


def test_several_sizes_describe_what_each_describes_alone(rng):
    grey = rng.uniform(0, 255, SIZE).astype(np.float32)
    both = describe_patches(grey, ExtractOptions(patch_px=(32, 16), stride_px=16))
    alone = [describe_patches(grey, ExtractOptions(patch_px=side, stride_px=16)) for side in (16, 32)]
    np.testing.assert_array_equal(both.descriptors, np.concatenate([d.descriptors for d in alone]))
    np.testing.assert_array_equal(both.patch_px, np.repeat([16, 32], [len(d.descriptors) for d in alone]))
    assert both.n_candidates == sum(d.n_candidates for d in alone)


def test_a_grid_comes_back_from_its_lists():
    for spelling in ("2x4", [2, 4], [[2, 4]], ((2, 4),)):
        assert GridType().parse(spelling) == ((2, 4),)
    assert GridType().parse("1x1+2x4") == GridType().parse([[1, 1], [2, 4]]) == ((1, 1), (2, 4))
    assert GridType().to_text(((1, 1), (2, 4))) == "1x1+2x4" and sorted_patch_sizes([32, 16, 32]) == (16, 32)


@pytest.mark.parametrize(
    "wrong", ["", "2", "2x", "0x4", "2x4+", "x", [], [2], [[2, 4], 3], [2.5, 1], None, 3]
)
def test_what_is_no_grid_is_refused(wrong):
    with pytest.raises(ValueError, match="rows x columns"):
        GridType().parse(wrong)


def test_patches_of_unknown_size_are_refused(rng):
    D = rng.normal(size=(5, 128)).astype(np.float32)
    encoder = Encoder(ExtractOptions(patch_px=(16, 32)), PoolOptions(), D, 0.1)
    described = DescribedPatches(np.zeros((2, 128), np.uint8), np.ones((2, 2)), np.array([16, 24]))
    with pytest.raises(DataError, match="for patches of"):
        encoder.encode_patches(described)


# --- mirror images ---


@pytest.fixture(scope="module")
def encoder():
    D = unit_rows(np.random.default_rng(1).normal(size=(30, 128)))
    return Encoder(ExtractOptions(stride_px=8), TIGHT, D.astype(np.float32), 0.1)


@pytest.fixture(scope="module")
def grey(chain):
    return read_grey(read_images(chain.embryos)[0].path)


def test_mirroring_a_view_is_pooling_the_image_and_its_mirror_image_as_a_group(grey, encoder):
    both = [encoder.encode(one).features for one in (grey, grey[::-1])]
    group = group_images({"group": ["g"] * 2, "gene": ["g"] * 2, "fbgn": [""] * 2})
    expected = pool_groups([(0, np.stack(both))], group)[0]
    assert np.abs(both[0] - expected).max() > 0.1
    mirroring = replace(encoder, pool=replace(TIGHT, mirror=("dorsal", "ventral")))
    for view in ("dorsal", "ventral"):
        for image in (grey, grey[::-1]):
            np.testing.assert_allclose(mirroring.encode(image, view).features, expected, atol=0.01)
    for view in ("lateral", ""):
        np.testing.assert_array_equal(mirroring.encode(grey, view).features, both[0])


def test_images_that_are_coded_together_have_the_bits_of_each_alone(grey, encoder):
    described = [encoder.describe(one) for one in (grey, grey[::-1], grey * 0, grey)]
    images = list(zip(described, ("dorsal", "", "dorsal", "lateral")))
    mirroring = replace(encoder, pool=replace(TIGHT, mirror=("dorsal",)))
    batches = list(batch_images(images * 9))
    assert len(batches) > 1 and sum(batches, []) == images * 9
    for one, together in zip(images, mirroring.encode_all(images)):
        alone = mirroring.encode_patches(*one)
        assert (alone.features == together.features).all() and (alone.winner == together.winner).all()
        assert alone.is_exact == together.is_exact


def test_a_mirrored_patch_keeps_its_number(grey, encoder):
    """Check that the winner of a cell, mirrored or not, gives the feature that it won."""
    described = encoder.describe(grey)
    mirroring = replace(encoder, pool=replace(TIGHT, mirror=("dorsal",)))
    pooled = mirroring.encode_patches(described, "dorsal")
    whole = replace(encoder, pool=replace(TIGHT, grid=(1, 1)))
    for column in np.argsort(-pooled.features)[:20]:
        patch = pooled.winner[column]
        one, place = described.descriptors[[patch]], (described.centres_px[[patch]], np.array([16]))
        either = [DescribedPatches(d, *place) for d in (one, mirror_descriptors(one))]
        best = max(whole.encode_patches(patch).features[column % 30] for patch in either)
        assert pooled.features[column] == pytest.approx(best, abs=1e-3)


# --- the whole chain ---


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Make the whole chain with all these options at once, from embryos of both views."""
    chain = Chain(tmp_path_factory.mktemp("options"))
    embryos = SynthesizeOptions(n_genes=12, max_images=3, stage_range=STAGE_RANGES)
    synthesize(chain.embryos, embryos)
    images = read_images(chain.embryos)
    assert {image.view for image in images} == {"lateral", "dorsal"}
    extracted = ExtractOptions(patch_px=(16, 32), stride_px=16)
    make_files(chain, images, descriptors=extracted, dictionary=SHARED, features=OPTIONS)
    return chain


def test_every_file_says_how_it_was_made_and_fits_it(made):
    for path in made.kinds.values():
        verify_stored_file(path)
    stored = open_stored_file(made.predictions)
    assert read_options(stored, PoolOptions) == OPTIONS
    assert stored.options["learn-dict"]["shared"] is True
    stored = open_stored_file(made.features)
    n_atoms, width = (stored.datasets("4-6")[n].shape for n in ("D", "features"))
    assert width[1] == 2 * 5 * n_atoms[0]


def test_other_options_make_other_files_and_too_few_patches_none(made, tmp_path):
    with pytest.raises(DataError, match="patches of 4-6, 11-12: too few"):
        make(made.task("dictionary", tmp_path / "d.h5", options=replace(SHARED, n_atoms=10**6)))
    with pytest.raises(InputError, match="mirror"):
        make(made.task("features", options=replace(OPTIONS, mirror=())))
    with pytest.raises(InputError, match="shared"):
        make(made.task("dictionary", options=LEARN))


def test_a_shared_dictionary_is_one_for_all_stage_ranges_and_of_one_its_own(made, tmp_path):
    stored = open_stored_file(made.dictionary)
    descriptors = open_stored_file(made.descriptors)
    first, second = (read_dictionary(stored, s) for s in STAGE_RANGES)
    np.testing.assert_array_equal(first, second)
    counts = [len(descriptors.datasets(s)["descriptors"]) for s in STAGE_RANGES]
    with h5py.File(made.dictionary) as h5:
        assert {h5[s].attrs["n_patches"] for s in STAGE_RANGES} == {sum(counts)}

    found = []
    for name, options in (("own.h5", LEARN), ("shared.h5", SHARED)):
        make(made.task("dictionary", tmp_path / name, options=options, stage_ranges=["4-6"]))
        stored = open_stored_file(tmp_path / name)
        found.append(read_dictionary(stored, "4-6"))
    np.testing.assert_array_equal(*found)


def test_patches_of_all_stage_ranges_are_drawn_from(made):
    """Draw each patch at most once, and from each stage range in proportion."""
    drawn = np.random.default_rng(3)
    stored = open_stored_file(made.descriptors)
    whole = [stored.read_array(s, "descriptors") for s in STAGE_RANGES]
    samples = PatchSamples([stored], STAGE_RANGES)
    every = samples.draw(sum(map(len, whole)), drawn).stored
    some = samples.draw(200, drawn).stored
    np.testing.assert_array_equal(every, np.concatenate(whole))
    known = {row.tobytes(): s for s, rows in enumerate(whole) for row in rows}
    share = np.mean([known[row.tobytes()] for row in some])
    assert len(some) == 200 and len({row.tobytes() for row in some}) == 200
    assert share == pytest.approx(len(whole[1]) / len(every), abs=0.1)


def test_codes_that_miss_their_tolerance_are_a_quality_warning(own_chain, tmp_path, monkeypatch):
    """Replace the check by one that no code passes, as for a nearly singular dictionary."""
    some = read_images(own_chain.embryos)[:3]
    monkeypatch.setattr(encoder_module, "unconverged_rows", lambda gaps, tol: gaps)
    predicted = make(own_chain.task("predictions", tmp_path / "p.h5", images=some))
    assert ["inexact codes" in fate.reason for fate in predicted.fates] == [True] * 3
    outcome = make(own_chain.task("features", tmp_path / "f.h5"))
    stored = open_stored_file(tmp_path / "f.h5", "features")
    warnings = [text for s in stored.stage_ranges for text in stored.read_array(s, "quality_warnings")]
    assert all("inexact codes" in text for text in warnings) and "with inexact codes" in outcome.summary
