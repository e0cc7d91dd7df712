"""Tests of folds by gene."""

import numpy as np
import pytest

from flyannot.base.errors import InputError
from flyannot.terms.folds import assign_gene_folds, look_up_folds


def folds_of_rows(genes, *how, **more):
    return look_up_folds(genes, assign_gene_folds(genes, *how, **more))


def genes_with_images(rng, n_genes=23):
    return rng.permutation(np.repeat([f"gene{i}" for i in range(n_genes)], rng.integers(1, 6, n_genes)))


@pytest.mark.parametrize("n_folds", [2, 3, 5, 23])
def test_no_gene_is_in_two_folds_and_folds_differ_by_one_gene_at_most(n_folds, rng):
    genes = genes_with_images(rng)
    folds = folds_of_rows(genes, n_folds, rng)
    members = [set(genes[folds == fold]) for fold in range(n_folds)]
    assert sum(map(len, members)) == len(set(genes)) == len(set.union(*members))
    assert max(map(len, members)) - min(map(len, members)) <= 1


def test_the_split_depends_on_the_genes_and_the_seed_but_not_on_the_order_of_rows(rng):
    genes = genes_with_images(rng)
    order = rng.permutation(len(genes))
    positive = np.isin(genes, ["gene1", "gene5", "gene8"])
    for seed in range(3):
        for term in (None, positive):
            folds = folds_of_rows(genes, 3, np.random.default_rng(seed), positive=term)
            term = None if term is None else term[order]
            shuffled = folds_of_rows(genes[order], 3, np.random.default_rng(seed), positive=term)
            assert (folds[order] == shuffled).all()
    one, other = (folds_of_rows(genes, 5, np.random.default_rng(seed)) for seed in range(2))
    assert (one != other).any()


def test_one_split_serves_all_stage_ranges(rng):
    early, late = ["a", "A", "c", "d"], ["c", "d", "e", "D"]
    assert set(assign_gene_folds(["Dl", "dl", "Dl"], 2, rng).values()) == {0, 1}, "two genes, by case"
    folds = assign_gene_folds(early + late, 3, rng)
    found = dict(zip(early, look_up_folds(early, folds)))
    assert all(found[gene] == fold for gene, fold in zip(late, look_up_folds(late, folds)) if gene in found)


@pytest.mark.parametrize("n_positive", [3, 4, 7, 20])
def test_stratified_folds_share_positive_genes_and_all_genes_evenly(n_positive, rng):
    genes = genes_with_images(rng)
    positive = np.isin(genes, [f"gene{i}" for i in range(n_positive)])
    folds = folds_of_rows(genes, 3, rng, positive=positive)
    for some in (positive, np.ones(len(genes), bool)):
        counts = [len(set(genes[some & (folds == fold)])) for fold in range(3)]
        assert max(counts) - min(counts) <= 1
        assert min(counts) >= 1


def test_fewer_genes_than_folds_is_an_error_that_names_the_remedy(rng):
    with pytest.raises(InputError, match="2 genes cannot be split into 3 folds") as error:
        assign_gene_folds(["a", "b", "a"], 3, rng)
    assert error.value.fix == "use at most 2 folds, or add genes"
    with pytest.raises(InputError, match="leaves nothing to train on"):
        assign_gene_folds(["a", "b", "a"], 1, rng)
