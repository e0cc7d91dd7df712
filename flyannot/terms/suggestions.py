"""The suggested terms of a group: the list that is expected to agree best with a curator's list.

Agreement is F1, the harmonic mean of precision and sensitivity: twice the number of terms in both lists over
the sum of their lengths.  Two empty lists agree completely, so their F1 is 1.

Source
------
Quevedo, Luaces and Bahamonde, Multilabel classifiers with a probabilistic thresholding strategy, Pattern
Recognition 45, 2012.  The terms of a group count as independent, given their probabilities.  Samples of a
pairwise model instead gained nothing on the blastoderm patterns (docs/measured.md).
"""

import numpy as np

_GROUPS_AT_ONCE = 512  # with 100 terms their sums take 40 MB


def expected_f1(probability):
    """Return the expected F1 of the k most probable terms, for every k.

    Parameters
    ----------
    probability : float array (n_groups, n_terms), each row in falling order

    Returns
    -------
    expected : float64 array (n_groups, n_terms + 1); column k is for a list of k terms
    """
    n_groups, n_terms = probability.shape
    expected = np.empty((n_groups, n_terms + 1))
    # rest[k] is the distribution of the number of true terms after the first k
    rest = [np.ones((n_groups, 1))]
    for k in reversed(range(n_terms)):
        rest.append(_with_another_term(rest[-1], probability[:, k]))
    listed = np.ones((n_groups, 1))  # the distribution of the number of true terms among the first k
    expected[:, 0] = rest.pop()[:, 0]
    for k in range(1, n_terms + 1):
        listed = _with_another_term(listed, probability[:, k - 1])
        n_right = np.arange(k + 1)[:, None]
        f1 = 2 * n_right / (k + n_right + np.arange(n_terms - k + 1))
        expected[:, k] = ((listed @ f1) * rest.pop()).sum(axis=1)
    return expected


def _with_another_term(distribution, probability):
    """Return the distribution of a number of true terms after one more term is counted.

    Parameters
    ----------
    distribution : float array (n_groups, n + 1), the probabilities of 0 to n true terms
    probability : float array (n_groups,), of the additional term
    """
    probability = probability[:, None]
    longer = np.pad(distribution * (1 - probability), ((0, 0), (0, 1)))
    longer[:, 1:] += distribution * probability
    return longer


def suggestion_thresholds(probability):
    """Return the probability above which the terms of each group are suggested.

    The suggested terms are the list with the largest expected F1; of equally good lists the shortest.  Terms
    with one probability are all in the list, or none is.

    Parameters
    ----------
    probability : float array (n_groups, n_terms), calibrated

    Returns
    -------
    thresholds : float64 array (n_groups,)
        The middle between the last suggested probability, or 1, and the next one, or 0.
    """
    probability = np.asarray(probability, np.float64)
    thresholds = np.empty(len(probability))
    for first in range(0, len(probability), _GROUPS_AT_ONCE):
        falling = -np.sort(-probability[first : first + _GROUPS_AT_ONCE], axis=1)
        expected = expected_f1(falling)
        bounds = np.pad(falling, ((0, 0), (1, 1)), constant_values=((0, 0), (1, 0)))
        above = bounds[:, :-1]  # column k: the last probability of a list of k terms
        below = bounds[:, 1:]  # column k: the first probability after it
        expected[:, 1:-1][above[:, 1:-1] == below[:, 1:-1]] = -1  # it would divide equal probabilities
        rows = np.arange(len(falling))
        length = expected.argmax(axis=1)
        last = above[rows, length]
        following = below[rows, length]
        middle = following + (last - following) / 2
        thresholds[first : first + _GROUPS_AT_ONCE] = np.where(middle < last, middle, following)
    return thresholds


def answer_thresholds(probability, is_learned, term_thresholds=None):
    """Return the probability above which each answer is yes, float64 (n_groups, n_terms).

    Parameters
    ----------
    probability : float array (n_groups, n_terms)
    is_learned : bool array (n_terms,)
        False for a term with the same probability in all groups.  It does not count for the lists of
        suggested terms.  Its threshold is its probability, so that its answer is open.
    term_thresholds : float array (n_terms,), the threshold of each term; None for `suggestion_thresholds`
    """
    if term_thresholds is None:
        term_thresholds = suggestion_thresholds(np.where(is_learned, probability, 0.0))[:, None]
    return np.where(is_learned, term_thresholds, probability)
