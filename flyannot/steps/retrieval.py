"""Features and curated terms to scores of what looks alike."""

from functools import partial

from flyannot.classifiers.training_set import annotated_groups
from flyannot.features.groups import groups_of
from flyannot.features.similarity import N_LEAST, collection_of, map_of_patterns, most_similar
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
        carried = _carried_terms(stage_range, groups, annotations, {*excluded, *NOT_ANATOMY})
        scores[stage_range] = {
            "same_gene": same_gene_score(mine),
            **_shared_terms(groups, found.groups, carried),
        }
        aucs += mine
    return scores | {"all": {"same_gene": same_gene_score(aucs)}}


def _rows(features):
    return (rows for _, rows in features.blocks(slice(None)))


def _carried_terms(stage_range, groups, annotations, excluded):
    """The terms of the annotated groups that have any, by number."""
    numbers = {name: g for g, name in enumerate(groups.name)}
    annotated, carried = annotated_groups(groups, annotations, stage_range)
    return {
        numbers[name]: terms - excluded for name, terms in zip(annotated.name, carried) if terms - excluded
    }


def _shared_terms(groups, rows, carried):
    """The scores of what is nearest by similarity, and on the map of patterns: empty without terms."""
    if not carried:
        return {}
    kept, terms = list(carried), list(carried.values())
    genes, n = [groups.gene_ids[g] for g in kept], min(N_NEAREST, len(kept) - 1)

    def score(places):
        order = [
            most_similar(-((places - one) ** 2).sum(axis=1), n, without=[i]) for i, one in enumerate(places)
        ]
        return shared_terms_score(order, terms, genes)

    found = {"shared_terms": score(rows[kept])}
    if len(rows) >= N_LEAST:
        found["shared_terms_on_map"] = score(map_of_patterns(rows)[kept])
    return found
