"""Tests of pooling: order, cells, winners, and groups from images."""

import numpy as np
import pytest
import scipy.sparse as sp

from flyannot.base.errors import DataError
from flyannot.encode.groups import Groups, group_images, normalise_features, pool_groups
from flyannot.encode.pooling import NO_PATCH, pool_image

SIZE = (128, 320)


@pytest.fixture
def coded(rng):
    """Return sparse codes of 60 patches over 9 atoms, one of which is never used, and their centres."""
    Z = sp.random(60, 9, density=0.3, random_state=rng, data_rvs=lambda n: rng.normal(size=n)).tolil()
    Z[:, 4] = 0
    return Z.tocsr().astype(np.float32), rng.uniform((0, 0), SIZE, size=(60, 2))


def dense_twin(Z, centres_px, grid):
    """Pool by loops over cells and patches, as in the definition."""
    Z, (rows, columns) = abs(Z.toarray()).astype(np.float64), grid
    features = []
    for r in range(rows):
        for c in range(columns):
            inside = [
                z
                for z, (y, x) in zip(Z, centres_px)
                if r * SIZE[0] / rows <= y < (r + 1) * SIZE[0] / rows
                and c * SIZE[1] / columns <= x < (c + 1) * SIZE[1] / columns
            ]
            cell = np.array(inside) if inside else np.zeros((1, Z.shape[1]))
            features.append(cell.max(axis=0))
    return np.concatenate(features)


@pytest.mark.parametrize("grid", [(1, 1), (2, 4), (9, 7)])
def test_pooling_equals_its_definition(coded, grid):
    pooled = pool_image(*coded, SIZE, grid=(grid,))
    np.testing.assert_allclose(pooled.features, dense_twin(*coded, grid), rtol=1e-6)


def test_the_winner_is_a_patch_of_the_cell_that_has_the_value(coded):
    Z, centres_px = coded
    pooled = pool_image(Z, centres_px, SIZE, grid=((2, 4),))
    dense = abs(Z.toarray())
    for k, (value, patch) in enumerate(zip(pooled.features, pooled.winner)):
        cell, atom = divmod(k, 9)
        if patch == NO_PATCH == -1:  # what docs/file-format.md says
            assert value == 0
        else:
            assert dense[patch, atom] == value
            assert np.floor(centres_px[patch] / SIZE * (2, 4)) @ (4, 1) == cell
    assert (pooled.winner[4::9] == NO_PATCH).all(), "an atom that no patch uses"


def test_a_group_pools_its_images_as_if_they_were_one(coded):
    Z, centres_px = coded
    whole = pool_image(Z, centres_px, SIZE, grid=((3, 3),))
    cuts = [slice(0, 7), slice(7, 31), slice(31, 31), slice(31, 60)]  # one image kept no patch
    images = [pool_image(Z[c], centres_px[c], SIZE, grid=((3, 3),)) for c in cuts]
    group = Groups(["g"], ["g"], [""], [np.arange(len(cuts))])
    pooled = pool_groups([(0, np.array([i.features for i in images]))], group)
    np.testing.assert_array_equal(pooled[0], whole.features)


def test_patches_of_each_part_are_pooled_as_if_alone(coded):
    """Check that the parts of one grid follow one another, and the parts of the next grid come after them."""
    (Z, centres_px), part, grids = coded, np.arange(60) % 3, ((1, 2), (2, 2))
    pooled = pool_image(Z, centres_px, SIZE, grid=grids, side_index=part, n_sides=3)
    of_parts = [(Z[part == p], centres_px[part == p], SIZE) for p in range(3)]
    alone = [pool_image(*of_part, grid=(grid,)) for grid in grids for of_part in of_parts]
    np.testing.assert_array_equal(pooled.features, np.concatenate([one.features for one in alone]))
    assert len({one.features.tobytes() for one in alone}) == len(alone)


def test_an_image_without_patches_pools_to_zero():
    pooled = pool_image(sp.csr_matrix((0, 9), dtype=np.float32), np.empty((0, 2)), SIZE)
    assert pooled.features.shape == (9,)
    assert not pooled.features.any()


def test_of_equal_codes_the_earlier_patch_wins_whatever_their_signs():
    Z = sp.csr_matrix(np.array([[0.5, 0], [-2, 1], [2, -1], [2, 1]], np.float32))
    pooled = pool_image(Z, np.full((4, 2), 5.0), SIZE)
    assert pooled.winner.tolist() == [1, 1] and pooled.features.tolist() == [2, 1]


@pytest.mark.parametrize("centre", [(-0.01, 5), (5, -0.01), (128, 5), (5, 320), (5, np.nan)])
def test_a_centre_on_or_beyond_any_side_is_refused(centre):
    Z = sp.csr_matrix(np.ones((1, 3), np.float32))
    found = r"row {:g}, column {:g} lies outside the image of \(128, 320\) px".format(*centre)
    with pytest.raises(DataError, match=found) as caught:
        pool_image(sp.vstack([Z, Z], "csr"), np.array([(3, 3), centre], float), SIZE, grid=((2, 3),))
    assert "a step that moves patches" in caught.value.fix
    pool_image(Z, np.array([[0.0, 0.0]]), SIZE, grid=((2, 3),))  # the first corner lies in the image


def test_normalised_features_have_length_one_and_zeros_stay_zeros(rng):
    X = 1e-3 * rng.random((4, 6))
    X[2] = 0
    found = normalise_features(X, "l2")
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), [1, 1, 0, 1])
    np.testing.assert_allclose(found[0] * X[0, 0], X[0] * found[0, 0])
    assert normalise_features(X, "none") is X


def test_images_of_one_name_are_a_group_known_by_the_best_that_its_first_image_says_of_the_gene():
    found = group_images(
        {
            "group": ["b", "a", "b", "c", "a"],
            "gene": ["bcd", "", "other", "cad", "x"],
            "fbgn": ["FBgn2", "", "", "", "FBgn9"],
        }
    )
    assert found.name == ["a", "b", "c"]
    assert [rows.tolist() for rows in found.rows] == [[1, 4], [0, 2], [3]]
    assert found.group_numbers.tolist() == [1, 0, 1, 2, 0]
    assert (found.gene, found.fbgn) == (["", "bcd", "cad"], ["", "FBgn2", ""])
    assert found.gene_ids == ["a", "FBgn2", "cad"]
    some = found.subset([2, 0])
    assert (some.name, some.gene_ids) == (["c", "a"], ["cad", "a"])
    assert [rows.tolist() for rows in some.rows] == [[3], [1, 4]]
