"""The table of classifiers.  To add one: a file beside this one, and a line here.

A classifier is a `Scorer`: a frozen dataclass of arrays with

    settings(n_rows)                       what inner folds choose from, the preferred first
    fit_setting(X, Y, setting, *, rng)     the scorer of one of them (or a `fit` of its own, which chooses)
    decision_values(X, n_threads=1)        (n_rows, n_terms)
    ARRAYS                                 the names, types and dimensions of its arrays, for files

and, where it is linear in the features, `is_linear` and `linear_form`.  Thresholds and probabilities are made
once for all of them, by `flyannot.terms.model.fit_model`, from the values that were held out.
"""

from flyannot.base.registry import Registry

_HERE = "flyannot.terms"

CLASSIFIERS = Registry(
    "classifier",
    {
        "svm": f"{_HERE}.linear_svm:LinearSvm",
        "coupled-ridge": f"{_HERE}.coupled_ridge:CoupledRidge",
        "siso": f"{_HERE}.siso:Siso",
        "ridge": f"{_HERE}.ridge:Ridge",
    },
)
