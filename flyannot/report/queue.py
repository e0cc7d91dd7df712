"""Two lists for a curator: what to look at first, and curated terms to check.

What to look at first are terms of which no curator has said anything, three of a group: those that are
expected to teach the model most.  Where nothing is predicted yet they are groups, each as unlike those before
it as any is left.  To check are terms that the curators gave or left out, and that models
which had not seen the gene contradict most: the first 5 %.  A term with a correction is on neither list.
The page marks them, and `flyannot queue` writes them as a table.
"""

import numpy as np

from flyannot.classifiers.answers import is_cross_validated
from flyannot.errors import InputError
from flyannot.report.groups import PREDICTED, TermEntry, entries_of_terms
from flyannot.report.nearest import Nearest
from flyannot.runtime.tables import table_as_text
from flyannot.runtime.wording import pluralise
from flyannot.scores.curation import PART_TO_CHECK, TERMS_PER_REVIEW, doubt_of_answer, information_of_verdict
from flyannot.scores.group_outcomes import outcomes_of_groups
from flyannot.steps.engine.task import is_table_of, write_output

LISTS = LOOK, CHECK = "look", "check"
QUEUE_COLUMNS = ("queue", "gene", "fbgn", "stage_range", "term", "curated")
QUEUE_COLUMNS += ("probability", "threshold", "worth")
_NEVER_EMPTY = ("queue", "stage_range", "worth")  # by which a queue is known


class Queue:
    """Says of the terms of a group which list they are on; `scores` are those of a run, or None."""

    def __init__(self, scores):
        self._least = _least_doubt(scores or {})

    def mark(self, terms):
        """Set `queue` and `worth` of those of a group's `flyannot.report.groups.TermEntry`s that are on a
        list."""
        new = [term for term in terms if not term.reviewed and term.probability is not None]
        for term in new:
            if term.known and term.held_out and term.is_contradicted:
                worth = float(doubt_of_answer(term.probability, term.curated, not term.curated))
                if worth >= self._least:
                    term.queue, term.worth = CHECK, worth
        asked = [term for term in new if not term.known and not term.says_nothing and term.n_genes]
        worth = [float(information_of_verdict(term.probability, term.n_genes)) for term in asked]
        for i in np.argsort(-np.array(worth), kind="stable")[:TERMS_PER_REVIEW]:
            asked[i].queue, asked[i].worth = LOOK, worth[i]


def _least_doubt(scores):
    """The doubt from which a curated term is to be checked; of scores without probabilities, infinity."""
    doubts = []
    for evaluated in (scores.get("evaluated") or {}).values():
        if is_cross_validated(evaluated):
            outcome = outcomes_of_groups(evaluated)
            known = outcome.observed_pairs(range(len(outcome.terms)))
            doubts.append(doubt_of_answer(outcome.probabilities, outcome.truth, outcome.yes)[known])
    return float(np.quantile(np.concatenate(doubts), 1 - PART_TO_CHECK)) if doubts else np.inf


def queue_rows(run):
    """The rows of both lists: groups by the sum of what their terms are worth, then terms to check by doubt.

    Of a stage range of which nothing is predicted, a row is a group without a term, worth `Nearest.unlike`.
    They are tuples of text, as QUEUE_COLUMNS.  InputError if the `flyannot.report.run_folder.Run` has neither
    predictions nor features.
    """
    if not run.stage_ranges:
        raise InputError(
            f"{run.folder} has no predictions.h5 and no features.h5, and the queue is made of these",
            fix="name the output folder of: flyannot run CONFIG",
        )
    queue, looks, checks = Queue(run.scores), [], []
    for stage_range in run.stage_ranges:
        unlike = Nearest(run, stage_range).unlike()
        for entry, _ in entries_of_terms(run, stage_range, queue):
            if entry.name in unlike:
                worth = unlike[entry.name]
                looks.append((worth, [_row(entry, TermEntry("", PREDICTED, queue=LOOK, worth=worth))]))
            asked = sorted((t for t in entry.terms if t.queue == LOOK), key=lambda t: -t.worth)
            looks.append((sum(term.worth for term in asked), [_row(entry, term) for term in asked]))
            doubted = (term for term in entry.terms if term.queue == CHECK)
            checks += [(term.worth, [_row(entry, term)]) for term in doubted]
    lists = (sorted(entries, key=lambda entry: -entry[0]) for entries in (looks, checks))
    return [row for entries in lists for _, rows in entries for row in rows]


def write_queue(out, rows, inputs=(), *, force=False):
    """Write the table.  InputError if it is one of the inputs (paths), or there is another file and `force`
    is off.  WriteError if it cannot be written."""
    text = table_as_text(QUEUE_COLUMNS, rows)
    write_output(out, text, inputs, force=force, is_own=lambda path: is_table_of(path, _NEVER_EMPTY))


def queue_in_words(rows):
    """How many there are of each, as a sentence."""
    n_looks, n_checks = (sum(row[0] == name for row in rows) for name in (LOOK, CHECK))
    n_groups = len({row[1:4] for row in rows if row[0] == LOOK})
    n_bare = sum(row[0] == LOOK and not row[4] for row in rows)
    looks = (
        f"{pluralise(n_looks - n_bare, 'term')} of {pluralise(n_groups - n_bare, 'group')} to look at first"
    )
    looks += f", {pluralise(n_bare, 'group')} without predictions" if n_bare else ""
    return f"{looks}, {pluralise(n_checks, 'curated term')} to check"


def _row(entry, term):
    return (
        term.queue,
        entry.gene or entry.name,
        entry.fbgn,
        entry.stage_range,
        term.term,
        ("yes" if term.curated else "no") if term.known else "",
        "" if term.probability is None else f"{term.probability:.4f}",
        "" if term.threshold is None else f"{term.threshold:.4f}",
        f"{term.worth:.6f}",
    )
