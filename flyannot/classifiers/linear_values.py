"""The decision values of linear models, and the check that features fit a model at all."""

import numpy as np

from flyannot.errors import DataError


def linear_values(X, weights, intercept):
    """The decision value of every row for every model.

    Parameters
    ----------
    X : float array (n_rows, n_features)
    weights : float array (n_models, n_features)
    intercept : float array (n_models,)

    Returns
    -------
    values : float array (n_rows, n_models)

    Raises
    ------
    DataError
        As `checked_columns`.
    """
    return checked_columns(X, weights.shape[1]) @ weights.T + intercept


def checked_columns(X, n_features):
    """X as an array; DataError unless it is a table of `n_features` columns."""
    X = np.asarray(X)
    if X.ndim != 2 or X.shape[1] != n_features:
        raise DataError(
            f"the features have {X.shape[-1]} columns, the model {n_features}",
            fix="make the features with the dictionary and the pooling that the model was trained on",
        )
    return X
