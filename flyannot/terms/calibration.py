"""Calibration of decision values to probabilities, and choice of the threshold between yes and no."""

import numpy as np

from flyannot.terms.options import BALANCED


def fit_platt(values, truth):
    """Fit Platt's slope >= 0 and offset: probability = 1 / (1 + exp(-(slope value + offset))).

    Parameters
    ----------
    values : float array (n,), decision values of rows on which the models were not trained
    truth : bool array (n,)

    Returns
    -------
    slope, offset : floats; the slope is 0 if the values say nothing, or point the wrong way

    Source
    ------
    Platt, Advances in Large Margin Classifiers, 1999.  His targets, (n+ + 1)/(n+ + 2) and 1/(n- + 2), keep
    the fit finite for separable values and few positives.
    """
    from scipy.optimize import minimize

    n_positive = np.count_nonzero(truth)
    target = np.where(truth, (n_positive + 1) / (n_positive + 2), 1 / (len(truth) - n_positive + 2))
    centre, spread = values.mean(), values.std() or 1.0
    scaled = (values - centre) / spread

    def loss(parameters):
        logit = parameters[0] * scaled + parameters[1]
        error = sigmoid(logit) - target
        gradient = np.array([error @ scaled, error.sum()]) / len(error)
        return (np.logaddexp(0, logit) - target * logit).mean(), gradient

    prior = np.log(target.mean() / (1 - target.mean()))
    slope, offset = minimize(
        loss, [0.0, prior], jac=True, method="L-BFGS-B", bounds=[(0, None), (None, None)], tol=1e-12
    ).x
    slope /= spread
    return float(slope), float(offset - slope * centre)


def choose_threshold(values, truth, at=BALANCED):
    """Choose the threshold with the best result on out-of-fold values.

    Parameters
    ----------
    values : float array (n,)
    truth : bool array (n,), of both classes
    at : BALANCED for the largest sensitivity + specificity - 1 (Youden's J), of equally good the highest;
        ("precision", p) for the lowest threshold of at least that precision; ("sensitivity", p) for the
        highest of at least that sensitivity

    Returns
    -------
    threshold : float, half way between two neighbouring values
        It is the largest value, which answers no to all, if no threshold is better or precise enough.
    """
    cuts, inverse = np.unique(values, return_inverse=True)
    n_found = _counts_from(np.bincount(inverse, truth, len(cuts)))
    n_answered = _counts_from(np.bincount(inverse))
    if at == BALANCED:
        n_alarms = n_answered - n_found
        # J of answering yes from cuts[k] on, times the two class sizes: integers, so that ties are exact
        J = n_found * n_alarms[0] - n_alarms * n_found[0]
        k = len(cuts) - int(np.argmax(J[::-1]))
    elif at[0] == "sensitivity":
        k = int(np.flatnonzero(n_found >= at[1] * n_found[0] - 1e-9).max())
    elif at[0] == "precision":
        precise = np.flatnonzero((n_answered > 0) & (n_found >= at[1] * n_answered - 1e-9))
        k = int(precise.min()) if len(precise) else len(cuts)
    else:
        raise ValueError(f"no rule chooses a threshold at {at}")
    if k == len(cuts):
        return float(cuts[-1])
    below = cuts[k - 1] if k else min(cuts[0] - 1.0, np.nextafter(cuts[0], -np.inf))
    middle = below + (cuts[k] - below) / 2
    return float(middle if middle < cuts[k] else below)


def _counts_from(counts):
    """Return how many there are from each cut on, and 0 beyond the last: (n_cuts + 1,)."""
    return np.append(np.cumsum(counts[::-1])[::-1], 0.0)


def sigmoid(logit):
    """Return 1 / (1 + exp(-logit)) without overflow; SciPy's function takes 0.2 s to import."""
    return np.exp(-np.logaddexp(0.0, -np.asarray(logit, np.float64)))
