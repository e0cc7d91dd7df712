"""What the verdicts of curators on a page are kept with, so that another page on the same data finds them."""

from dataclasses import dataclass

from flyannot.dataset.table_warnings import bdgp_terms


@dataclass(frozen=True)
class Review:
    """data_set : the name that the browser keeps verdicts under, for every page on that data set
    model_digest : of the model whose probabilities the page shows
    vocabulary : the terms that a curator may add, sorted
    """

    data_set: str = ""
    model_digest: str = ""
    vocabulary: tuple = ()


NO_REVIEW = Review()


def review_of(run):
    """The Review of a `flyannot.report.run_folder.Run`."""
    predictions = run.files.get("predictions")
    terms = set(bdgp_terms())
    if run.annotations:
        terms.update(*run.annotations.terms_by_gene.values())
    if predictions is not None:
        terms.update(term for s in predictions.stage_ranges for term in predictions.array(s, "term"))
    digests = predictions.inputs.get("model", []) if predictions is not None else []
    return Review(run.data_set_name, "".join(digests[:1]), tuple(sorted(terms)))
