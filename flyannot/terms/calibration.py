"""Calibration of decision values to probabilities, and choice of the threshold between yes and no."""

import numpy as np

from flyannot.terms.options import BALANCED

N_BINS = 10  # of probabilities, all of one width
NO_ANSWERS = np.zeros((N_BINS, 4))  # the bins of no answers
_MOST_STEPS = 100  # of Newton's method; 5 to 10 are usual
_LEAST_CURVATURE = 1e-12  # is added to the curvature of the loss
_PART = 1e-4  # of the gain that a step promises; a step that gains less is halved
_LEAST_GAIN = 1e-14  # of a step, in the loss of all groups


def fit_platt(values, truth):
    """Fit Platt's calibration of decision values: probability = 1 / (1 + exp(-(slope value + offset))).

    Parameters
    ----------
    values : float array (n,), decision values of groups on which the classifier was not trained
    truth : bool array (n,), True for groups with the term

    Returns
    -------
    slope, offset : floats; the slope is at least 0.  It is 0 if larger values do not mean more positives

    Source
    ------
    Platt, Advances in Large Margin Classifiers, 1999.  His targets, (n+ + 1)/(n+ + 2) and 1/(n- + 2), keep
    the fit finite for separable values and few positives.  Newton's method as by Lin, Lin and Weng, Machine
    Learning 68 (2007), 267-276: SciPy's minimiser takes .25 s to import.
    """
    n_positive = np.count_nonzero(truth)
    target = np.where(truth, (n_positive + 1) / (n_positive + 2), 1 / (len(truth) - n_positive + 2))
    centre, spread = values.mean(), values.std() or 1.0
    terms = np.stack([(values - centre) / spread, np.ones(len(values))])
    parameters = np.array([0.0, np.log(target.mean() / (1 - target.mean()))])  # the best without a slope

    def loss(parameters):
        logit = parameters @ terms
        return (np.logaddexp(0, logit) - target * logit).sum()

    if terms[0] @ target <= terms[0].sum() * target.mean():
        return 0.0, float(parameters[1])
    for _ in range(_MOST_STEPS):
        probability = sigmoid(parameters @ terms)
        gradient = terms @ (probability - target)
        hessian = (terms * (probability * (1 - probability))) @ terms.T
        step = np.linalg.solve(hessian + _LEAST_CURVATURE * np.eye(2), gradient)
        gain = gradient @ step
        while gain > _LEAST_GAIN and loss(parameters - step) > loss(parameters) - _PART * gain:
            step /= 2
            gain /= 2
        if gain <= _LEAST_GAIN:
            break
        parameters = parameters - step
    slope = parameters[0] / spread
    return float(slope), float(parameters[1] - slope * centre)


def reliability_bins(probability, truth, weights=1.0):
    """Add up answers in bins of their probability.

    Parameters
    ----------
    probability : float array (n,), in [0, 1]
    truth : bool array (n,)
    weights : float array (n,), how much each answer counts; or a number

    Returns
    -------
    bins : float64 array (N_BINS, 4), the sums of probabilities, positives, answers and squared errors
    """
    place = np.minimum((probability * N_BINS).astype(int), N_BINS - 1)
    columns = (probability, truth, np.ones(len(truth)), (probability - truth) ** 2)
    return np.stack([np.bincount(place, weights * column, N_BINS) for column in columns], axis=1)


def calibration_errors(bins):
    """Return the Brier score and the expected calibration error (ECE) of `reliability_bins`, as a dict.

    Both are None if there are no answers.
    The ECE is the mean absolute difference between the mean probability of a bin and its fraction of
    positives.  Bins are weighted by their numbers of answers.

    Source
    ------
    Guo, Pleiss, Sun and Weinberger, ICML 2017, arXiv:1706.04599.
    """
    sums = {"brier": bins[:, 3].sum(), "ece": np.abs(bins[:, 0] - bins[:, 1]).sum()}
    n = bins[:, 2].sum()
    return {name: float(error / n) if n else None for name, error in sums.items()}


def choose_threshold(values, truth, at=BALANCED):
    """Choose the threshold of one term: the answer is yes for decision values above it.

    Parameters
    ----------
    values : float array (n,), decision values of groups on which the classifier was not trained
    truth : bool array (n,), True for groups with the term; both classes must occur
    at : the goal
        - BALANCED : the largest sensitivity + specificity - 1 (Youden's J), of equally good thresholds the
            highest
        - ("precision", p) : the lowest threshold with at least precision p
        - ("sensitivity", p) : the highest threshold with at least sensitivity p

    Returns
    -------
    threshold : float, half way between two neighbouring values
        If no threshold reaches the goal, it is the largest value, so that all answers are no.
    """
    cuts, inverse = np.unique(values, return_inverse=True)
    n_found = _counts_from(np.bincount(inverse, truth, len(cuts)))
    n_answered = _counts_from(np.bincount(inverse))
    if at == BALANCED:
        # J of answering yes from cuts[k] on, times the two class sizes: integers, so that ties are exact
        J = n_found * n_answered[0] - n_answered * n_found[0]
        k = len(cuts) - int(np.argmax(J[::-1]))
    elif at[0] == "sensitivity":
        k = int(np.flatnonzero(n_found >= at[1] * n_found[0] - 1e-9).max())
    else:
        k = int(np.flatnonzero(n_found >= at[1] * n_answered - 1e-9).min())
    if k == len(cuts):
        return float(cuts[-1])
    below = cuts[k - 1] if k else min(cuts[0] - 1.0, np.nextafter(cuts[0], -np.inf))
    middle = below + (cuts[k] - below) / 2
    return float(middle if middle < cuts[k] else below)


def _counts_from(counts):
    """Sum the counts from each position to the end.

    counts : array (n,)

    Returns
    -------
    sums : float array (n + 1,); sums[k] = counts[k] + ... + counts[n - 1], and the last is 0
    """
    return np.append(np.cumsum(counts[::-1])[::-1], 0.0)


def sigmoid(logit):
    """Return 1 / (1 + exp(-logit)) without overflow.

    SciPy's expit is not used, because its import takes 0.2 s.
    """
    return np.exp(-np.logaddexp(0.0, -np.asarray(logit, np.float64)))
