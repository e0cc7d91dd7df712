"""Features and curated terms to scores of what looks alike."""

from functools import partial

from flyannot.classifiers.training_set import annotated_groups
from flyannot.features.groups import groups_of
from flyannot.features.similarity import collection_of, nearest
from flyannot.scores.metrics import NOT_ANATOMY
from flyannot.scores.retrieval import N_NEAREST, aucs_of_images, same_gene_score, shared_terms_score


def score_retrieval(loaded, annotations, excluded=()):
    """The scores of every stage range, and of "all": dicts as of `flyannot.scores.retrieval`.

    Parameters
    ----------
    loaded : dict, stage range -> (columns, features as `flyannot.features.groups.pooled_columns` takes them)
    annotations : flyannot.dataset.folder.Annotations
    excluded : terms that do not count; those that are not anatomy never do
    """
    scores, aucs = {}, []
    for stage_range, (columns, features) in loaded.items():
        groups = groups_of(columns)
        found = collection_of(partial(_rows, features), groups)
        genes = [groups.gene_ids[g] for g in groups.of_image]
        mine = aucs_of_images((found.images @ one for one in found.images), genes)
        shared = _shared_terms(stage_range, groups, found, annotations, {*excluded, *NOT_ANATOMY})
        scores[stage_range] = {"shared_terms": shared, "same_gene": same_gene_score(mine)}
        aucs += mine
    return scores | {"all": {"same_gene": same_gene_score(aucs)}}


def _rows(features):
    return (rows for _, rows in features.blocks(slice(None)))


def _shared_terms(stage_range, groups, found, annotations, excluded):
    numbers = {name: g for g, name in enumerate(groups.name)}
    annotated, carried = annotated_groups(groups, annotations, stage_range)
    left = [(numbers[name], terms - excluded) for name, terms in zip(annotated.name, carried)]
    left = [(g, terms) for g, terms in left if terms]
    if not left:
        return None
    rows = found.groups[[g for g, _ in left]]
    genes = [groups.gene_ids[g] for g, _ in left]
    n = min(N_NEAREST, len(left) - 1)
    order = [nearest(rows @ row, n, without=[i]) for i, row in enumerate(rows)]
    return shared_terms_score(order, [terms for _, terms in left], genes)
