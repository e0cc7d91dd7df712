"""SCC, Figure 5: annotation with dictionaries of OL and of SCC, by a weighted average over ten terms."""

import numpy as np

from flyannot.benchmarks.papers.annotated import annotated_pictures
from flyannot.benchmarks.papers.findings import Claim, Compared, Finding, Panel, Series
from flyannot.benchmarks.papers.papers import stated
from flyannot.classifiers.cross_validation import cross_validate
from flyannot.classifiers.folds import folds_of_genes
from flyannot.classifiers.linear_svm import TrainOptions
from flyannot.classifiers.training_set import LabelledRows
from flyannot.descriptors.extract import describe
from flyannot.descriptors.sift import normalise
from flyannot.features.groups import group_features, normalise_features
from flyannot.features.image_features import PoolOptions, atoms_of, features_of
from flyannot.scores.metrics import evaluate
from flyannot.sparse.fit import default_lam, learn, random_patches
from flyannot.sparse.learners import LEARNERS

_METRICS = ("accuracy", "auc", "sensitivity", "specificity")
_N_LEARN = (20_000, 100_000)  # patches, quick and full
_GRID = (2, 4)
_N_FOLDS = 5
_CLOSE = 0.01
_LEARNERS = {
    "SCC": ("scc", {"variant": "paper"}, 10),
    "OL": ("ol", {"batch_size": 512}, 3),
}


def measure(setup):
    """Learn, code, pool by maximum, and judge linear SVMs by cross-validation over genes."""
    paper, pictures = stated("scc", "fig-5"), annotated_pictures(setup)
    options = pictures.extract_options(setup.pick(2, 1))
    described = [describe(grey, options) for grey in pictures.greys()]
    scores = {
        (who, m): _score(setup, pictures, described, who, m) for m in paper["sizes"] for who in _LEARNERS
    }
    n_patches = sum(len(d.descriptors) for d in described)
    claims = list(_claims(paper, scores))
    return Finding(
        data=f"{pictures.source.text}; {n_patches:,} patches of {options.patch_px[0]} px",
        kind=pictures.source.kind,
        variant="SCC paper (10 epochs), our own OL (batch 512, 3 epochs), cd codes, max of |z|, 2x4 grid, "
        f"linear SVM, {_N_FOLDS} folds by gene",
        why=_why(claims),
        claims=claims,
        compared=[
            Compared(f"{metric}, {who}, m={m}", "", None, found["weighted_top10"][metric],
                     "no number in the paper's text")
            for (who, m), found in scores.items() for metric in _METRICS
        ],
        rows=[_row(who, m, kind, found[kind]) for (who, m), found in scores.items()
              for kind in ("weighted_top10", "macro")],
        panels=_panels(paper, scores),
        notes=[pictures.note],
    )  # fmt: skip


def _score(setup, pictures, described, who, m):
    """The summary of one learner's dictionary: averages over the ten most frequent terms."""
    D, lam = _dictionary(setup, described, who, m)
    options = PoolOptions(grid=_GRID)
    pooled = [features_of(d.descriptors, d.centres_px, atoms_of(D, lam), options) for d in described]
    features, n_patches = (np.stack([getattr(p, name) for p in pooled]) for name in ("features", "n_patches"))
    X = group_features(features, n_patches, pictures.groups, pooling=options.pooling)
    genes = pictures.groups.gene_ids
    X = normalise_features(X, "l2")
    outcome = cross_validate(
        LabelledRows(X=X, Y=pictures.truth, genes=genes, terms=pictures.terms),
        folds=folds_of_genes(genes, _N_FOLDS, setup.rng("folds")),
        rng=setup.rng("svm"),
        options=TrainOptions(Cs=(0.1, 1.0, 10.0), n_folds=3),
    )
    return evaluate({pictures.stage_range: outcome})["summary"]["all"]


def _dictionary(setup, described, who, m):
    descriptors = np.concatenate([d.descriptors for d in described])
    rng = setup.rng("atoms")
    X = normalise(descriptors[rng.permutation(len(descriptors))[: setup.pick(*_N_LEARN)]])
    name, settings, n_epochs = _LEARNERS[who]
    lam = default_lam(X.shape[1])
    learner = LEARNERS[name](random_patches(X, m, rng), len(X), lam=lam, **settings)
    for _ in learn(X, learner, n_epochs=n_epochs, rng=rng):
        pass
    return np.ascontiguousarray(learner.D, np.float32), lam


def _why(claims):
    if all(claim.holds for claim in claims):
        return (
            "As in the paper, both kinds of dictionary annotate equally well, and more atoms help a little."
        )
    if claims[0].holds:
        return (
            "Both kinds of dictionary annotate equally well, but more atoms bring next to nothing: the "
            "patterns have 405 values each, too little detail for them."
        )
    return "The two dictionaries differ by more than the noise that so few genes allow."


def _auc(scores, who, m, kind="weighted_top10"):
    return scores[who, m][kind]["auc"]


def _gap(scores, m):
    return abs(_auc(scores, "SCC", m) - _auc(scores, "OL", m))


def _claims(paper, scores):
    small, large = min(paper["sizes"]), max(paper["sizes"])
    here = ", ".join(f"{who} {_auc(scores, who, large):.3f}" for who in _LEARNERS)
    yield Claim(f"at m={large} SCC and OL are within {_CLOSE} AUC", _gap(scores, large) <= _CLOSE, here)
    ahead = _auc(scores, "OL", small) - _auc(scores, "SCC", small)
    yield Claim(f"at m={small} OL is slightly better", ahead >= -0.002, f"by {ahead:+.3f} AUC")
    for who in _LEARNERS:
        gain = _auc(scores, who, large) - _auc(scores, who, small)
        yield Claim(f"more atoms improve {who}", gain > 0, f"{gain:+.3f} AUC from {small} to {large}")


def _row(who, m, kind, metrics):
    return {"learner": who, "n_atoms": m, "average": kind} | metrics


def _panels(paper, scores):
    names = [f"m={m}" for m in paper["sizes"]]
    return [
        Panel(f"{metric}, weighted over ten terms", "", metric, [
            Series(who, names, [scores[who, m]["weighted_top10"][metric] for m in paper["sizes"]])
            for who in _LEARNERS
        ])
        for metric in _METRICS
    ]  # fmt: skip
