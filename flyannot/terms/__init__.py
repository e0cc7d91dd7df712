"""The registry of classifiers.

To add a classifier, add a file beside this one, and a line here.  A classifier is a `Scorer`: a frozen
dataclass of arrays with

    fit(X, Y, genes, *, rng, options)    the trained scorer, and out-of-fold values, see `Scorer`
    linear_form(X, term)                 weights, intercept and rows, if it scales its rows
    ARRAYS                               the names, types and dimensions of its arrays, for files

All are linear in the features, so that `explain` can split every decision value.  `fit_model` computes
thresholds and probabilities for all classifiers, from the out-of-fold values.
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
