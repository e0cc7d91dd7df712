"""How far the terms of a page can be trusted, in a sentence on top."""

import numpy as np

from flyannot.classifiers.model import FEW_GENES, LEAST_GENES
from flyannot.runtime.wording import pluralise


def evidence_in_words(run, stage_ranges):
    """What stands on top if terms are untested or were learned from few genes: a list of sentences, or none.

    Parameters
    ----------
    run : flyannot.report.run_folder.Run, with predictions of the `stage_ranges`
    """
    tested, n_genes, n_blank = [], [], 0
    rows = (run.scores or {}).get("terms", ())
    evaluated = {(row["stage_range"], row["term"]) for row in rows if not row["reason"]}
    for s in stage_ranges:
        names, areas, genes = (run.files["predictions"].array(s, name) for name in ("term", "auc", "n_genes"))
        tested += [np.isfinite(area) or (s, name) in evaluated for name, area in zip(names, areas)]
        n_genes += genes.tolist()
        threshold, probability = (run.files["predictions"].array(s, n) for n in ("threshold", "probability"))
        n_blank += int((probability == threshold).all(axis=0).sum())
    n, n_untested, n_few = len(tested), tested.count(False), sum(genes < FEW_GENES for genes in n_genes)
    if not (n_untested or n_few or n_blank):
        return []
    said = []
    if n_untested:
        terms = pluralise(n, "term")
        few = f"{n_untested:,} of the {terms} could not be tested"
        some = f"None of the {terms} could be tested" if n_untested == n else few
        said.append(f"{some}: that takes {LEAST_GENES} genes with the term, and {LEAST_GENES} without.")
    if n_few:
        some = f"All {n:,}" if n_few == n else f"{n_few:,} of the {n:,}"
        said.append(f"{some} terms were learned from fewer than {FEW_GENES} genes, which is little.")
    if n_blank:
        said.append(f"Of {n_blank:,} nothing was learned: every gene gets one probability, at the threshold.")
    guess = "Take every answer as a guess."
    said.append(guess if n_untested == n else "What stands behind a term is beside its probability.")
    return [" ".join(said)]
