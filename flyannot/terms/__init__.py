"""The registry of classifiers.

To add a classifier, add a file beside this one, and a line here.  A classifier is a `Scorer`: a frozen
dataclass of arrays with

    settings(n_rows)                       the settings to choose from in the inner folds, the preferred first
    fit_setting(X, Y, setting, *, rng)     the scorer of one setting (or a `fit` of its own, which chooses)
    decision_values(X, n_threads=1)        (n_rows, n_terms)
    ARRAYS                                 the names, types and dimensions of its arrays, for files

and, if it is linear in the features, `is_linear` and `linear_form`.  `fit_model` computes thresholds and
probabilities for all classifiers, from the out-of-fold values.
"""

from flyannot.base.registry import Registry

_HERE = "flyannot.terms"

CLASSIFIERS = Registry(
    "classifier",
    {
        "svm": f"{_HERE}.linear_svm:LinearSvm",
        "coupled-ridge": f"{_HERE}.coupled_ridge:CoupledRidge",
        "ridge": f"{_HERE}.ridge:Ridge",
    },
)
