"""python -m benchmarks.retrieval: how well similar images are found, which is a table of docs/measured.md.

The score of a gene is the weight of the terms that it shares with its nearest genes, over the weight of the
terms that either has.  The weight of a term is the logarithm of the number of genes over the number of genes
with the term.  The score of an image is the AUC of the images of its own gene over those of others, ranked by
similarity.  Intervals are by bootstrap over genes.
"""

from pathlib import Path

import click
import numpy as np
from sklearn.metrics import roc_auc_score

from flyannot.dataset.folder import read_annotations
from flyannot.encode.groups import group_images
from flyannot.encode.similarity import N_LEAST, build_image_index, find_most_similar, map_patterns
from flyannot.files.hdf5.features import StoredFeatures
from flyannot.files.hdf5.reading import open_stored_file
from flyannot.terms.bootstrap import bootstrap_gene_weights, bootstrap_interval
from flyannot.terms.metrics import NOT_ANATOMY
from flyannot.terms.training_set import annotated_groups

N_NEAREST = 10
_WORDS = {
    "shared_terms": f"terms shared with the nearest {N_NEAREST} genes",
    "shared_terms_on_map": f"terms shared with the nearest {N_NEAREST} genes on the map of patterns",
    "same_gene": "AUC of a gene's other images",
}


def score_features(features, annotations):
    """Score what is found in a features file: a dict of scores for each stage range."""
    scores = {}
    stored = open_stored_file(features, "features")
    for stage_range in stored.stage_ranges:
        rows = StoredFeatures([stored], stage_range)
        groups = group_images(rows.columns)
        collection = build_image_index(
            lambda rows=rows: (block for _, block in rows.iterate_blocks()), groups
        )
        genes = [groups.gene_ids[g] for g in groups.group_numbers]
        similarities = (collection.images @ image for image in collection.images)
        annotated, terms = annotated_groups(groups, annotations, stage_range)
        number = {name: g for g, name in enumerate(groups.name)}
        carried = {
            number[name]: anatomy
            for name, some in zip(annotated.name, terms)
            if (anatomy := some.difference(NOT_ANATOMY))
        }
        scores[stage_range] = {"same_gene": same_gene_score(similarities, genes)}
        if carried:
            scores[stage_range] |= _score_neighbours(groups, collection.groups, carried)
    return scores


def _score_neighbours(groups, rows, carried):
    """Score what is nearest by similarity, and on the map of patterns."""
    kept = list(carried)
    genes, n = [groups.gene_ids[g] for g in kept], min(N_NEAREST, len(kept) - 1)

    def score(places):
        far = (((places - place) ** 2).sum(axis=1) for place in places)
        order = [find_most_similar(-distance, n, without=[i]) for i, distance in enumerate(far)]
        return shared_terms_score(order, list(carried.values()), genes)

    scores = {"shared_terms": score(rows[kept])}
    if len(rows) >= N_LEAST:
        scores["shared_terms_on_map"] = score(map_patterns(rows)[kept])
    return scores


def shared_terms_score(order, carried, genes):
    """Score how much of their terms genes share with what is nearest; None if all others are nearest.

    Parameters
    ----------
    order : int array (n_groups, n), for each group the numbers of the others, the nearest first
    carried : list of the set of terms of each group
    genes : the gene of each group

    Returns
    -------
    score : dict with value, interval, chance (the mean over all others) and n_genes
    """
    if len(carried) <= N_NEAREST + 1:
        return None
    shared = _shared_weights(carried)
    values = np.take_along_axis(shared, np.asarray(order)[:, :N_NEAREST], axis=1).mean(axis=1)
    others = (shared.sum(axis=1) - shared.diagonal()) / (len(shared) - 1)
    return _with_interval(values, genes) | {"chance": float(others.mean())}


def same_gene_score(similarities, genes):
    """Score how well images find the other images of their gene; None if no image has both kinds of others.

    `similarities` are float arrays (n_images,), of each image to all, in order; `genes` those of the images.
    """
    genes, scored, aucs = np.asarray(genes), [], []
    for i, similarity in enumerate(similarities):
        others = np.arange(len(genes)) != i
        is_same = genes[others] == genes[i]
        if 0 < is_same.sum() < len(is_same):
            scored.append(str(genes[i]))
            aucs.append(roc_auc_score(is_same, similarity[others]))
    return _with_interval(np.array(aucs), scored) | {"n_images": len(aucs)} if aucs else None


def _shared_weights(carried):
    """Return, for every two groups, the weight of their common terms over the weight of all their terms."""
    terms = sorted(set().union(*carried))
    Y = np.array([[term in of_group for term in terms] for of_group in carried], float)
    both = (Y * np.log(len(Y) / Y.sum(axis=0))) @ Y.T
    own = both.diagonal()
    either = own[:, None] + own - both
    return np.divide(both, either, out=np.zeros_like(both), where=either > 1e-12)


def _with_interval(values, genes):
    (weights,) = bootstrap_gene_weights(genes)
    interval = bootstrap_interval((weights[1:] @ values) / weights[1:].sum(axis=1))
    return {"value": float(values.mean()), "interval": interval, "n_genes": len(set(genes))}


def format_retrieval(scores):
    """Format a line for each score of each stage range."""
    lines = ["What looks alike (95% intervals by bootstrap over genes):"]
    for name, what in _WORDS.items():
        for stage_range, of_range in scores.items():
            if score := of_range.get(name):
                low, high = score["interval"]
                sure = f"{low:.3f} to {high:.3f}; guessing {score.get('chance', 0.5):.3f}"
                lines.append(
                    f"{stage_range:>5}: {what} {score['value']:.3f} ({sure}), {score['n_genes']} genes"
                )
    return "\n".join(lines)


@click.command("retrieval")
@click.argument("features", type=click.Path(path_type=Path))
@click.argument("annotations", type=click.Path(path_type=Path))
def command(features, annotations):
    """Score the similarities in FEATURES by the terms in ANNOTATIONS."""
    click.echo(format_retrieval(score_features(features, read_annotations(annotations))))


if __name__ == "__main__":
    command(prog_name="python -m benchmarks.retrieval")
