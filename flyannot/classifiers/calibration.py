"""From decision values to probabilities and to yes or no."""

import numpy as np


def calibrate(values, truth):
    """Platt's slope >= 0 and offset: probability = 1 / (1 + exp(-(slope value + offset))).

    Parameters
    ----------
    values : float array (n,), decision values that the models did not train on
    truth : bool array (n,)

    Returns
    -------
    slope, offset : floats.  The slope is 0 where the values carry nothing, or point the wrong way.

    Source
    ------
    Platt, Advances in Large Margin Classifiers, 1999.  His targets, (n+ + 1)/(n+ + 2) and 1/(n- + 2),
    keep the fit finite for separable values and few positives.
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


def best_threshold(values, truth):
    """The threshold with the largest sensitivity + specificity - 1 (Youden's J).

    Parameters
    ----------
    values : float array (n,)
    truth : bool array (n,), of both classes

    Returns
    -------
    threshold : float, half way between two neighbouring values.  Of equally good ones the highest; the
        largest value, hence no to all, where nothing is better than that.
    """
    cuts, inverse = np.unique(values, return_inverse=True)
    positives = np.bincount(inverse, truth, len(cuts))
    negatives = np.bincount(inverse, ~truth, len(cuts))
    # J of answering yes above cuts[k], times the two class sizes: integers, so that ties are exact
    found = positives.sum() - np.cumsum(positives)
    alarms = negatives.sum() - np.cumsum(negatives)
    J = found * negatives.sum() - alarms * positives.sum()
    k = len(J) - 1 - int(np.argmax(J[::-1]))
    if k == len(cuts) - 1:
        return float(cuts[k])
    middle = cuts[k] + (cuts[k + 1] - cuts[k]) / 2
    return float(middle if middle < cuts[k + 1] else cuts[k])


def threshold_at(values, truth, at=None):
    """The threshold that gives a wanted precision or sensitivity on held-out values.

    Parameters
    ----------
    values : float array (n,)
    truth : bool array (n,), of both classes
    at : ("precision", p), the lowest threshold of at least that precision, or ("sensitivity", p), the
        highest of at least that sensitivity; None for `best_threshold`

    Returns
    -------
    threshold : float, half way between two neighbouring values; the largest value, hence no to all, where
        no threshold is precise enough
    """
    if at is None:
        return best_threshold(values, truth)
    what, wanted = at
    cuts, inverse = np.unique(values, return_inverse=True)
    positives = np.bincount(inverse, truth, len(cuts))
    found = np.append(np.cumsum(positives[::-1])[::-1], 0.0)  # of those at cuts[k] and above; then none
    answered = np.append(np.cumsum(np.bincount(inverse)[::-1])[::-1], 0)
    if what == "sensitivity":
        k = int(np.flatnonzero(found >= wanted * found[0] - 1e-9).max())
    else:
        enough = np.flatnonzero((answered > 0) & (found >= wanted * answered - 1e-9))
        k = int(enough.min()) if len(enough) else len(cuts)
    if k == len(cuts):
        return float(cuts[-1])
    below = cuts[k - 1] if k else min(cuts[0] - 1.0, np.nextafter(cuts[0], -np.inf))
    middle = below + (cuts[k] - below) / 2
    return float(middle if middle < cuts[k] else below)


def sigmoid(logit):
    """1 / (1 + exp(-logit)), without overflow; SciPy's takes a fifth of a second to import."""
    return np.exp(-np.logaddexp(0.0, -np.asarray(logit, np.float64)))
