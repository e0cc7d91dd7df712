"""Scores of what looks alike, against counting by hand."""

import math

import numpy as np
import pytest

from flyannot.scores.retrieval import N_NEAREST, aucs_of_images, same_gene_score, shared_terms_score


def test_shared_terms_weigh_rare_ones_more_and_are_a_part_of_what_either_carries(rng):
    names = ["gut", "brain", "pole cell", "trachea"]
    carried = [{"gut"}, *({str(t) for t in rng.choice(names, rng.integers(1, 4))} for _ in range(19))]
    order = np.array([[j for j in rng.permutation(20) if j != i] for i in range(20)])
    weight = {t: math.log(20 / sum(t in one for one in carried)) for t in set().union(*carried)}

    def shared(a, b):
        either = sum(weight[t] for t in carried[a] | carried[b])
        return sum(weight[t] for t in carried[a] & carried[b]) / either if either else 0

    found = shared_terms_score(order, carried, [f"g{i:02d}" for i in range(20)])
    by_hand = [np.mean([shared(i, j) for j in order[i][:N_NEAREST]]) for i in range(20)]
    assert found["value"] == pytest.approx(np.mean(by_hand))
    chance = [np.mean([shared(i, j) for j in range(20) if j != i]) for i in range(20)]
    assert found["chance"] == pytest.approx(np.mean(chance))
    assert found["interval"][0] < found["value"] < found["interval"][1] and found["n_genes"] == 20


def test_genes_that_are_all_nearest_are_not_scored():
    order = np.array([[j for j in range(11) if j != i] for i in range(11)])
    assert shared_terms_score(order, [{"gut"}] * 11, [str(i) for i in range(11)]) is None


def test_an_image_is_scored_by_the_images_of_its_gene():
    similarity = np.array([[1, 0.9, 0.2, 0.8], [0.9, 1, 0.95, 0.1], [0.2, 0.95, 1, 0], [0.8, 0.1, 0, 1]])
    aucs = aucs_of_images(similarity, ["a", "a", "b", "c"])
    assert aucs == [("a", 1.0), ("a", 0.5)]  # b and c have no other image
    assert same_gene_score(aucs)["value"] == 0.75 and same_gene_score(aucs)["n_images"] == 2
    assert same_gene_score([]) is None
