"""A vote of linear SVMs, each fitted on all rows of the rarer class and as many of the other.

Few groups carry a term.  Instead of weighting them, every member of the ensemble leaves out most of the
others, drawn anew, and so sees both classes equally often.  The vote is the mean of the members' decision
values: one linear model, whose values `flyannot explain` splits like those of a single SVM.  (To count yes
and no instead leaves as many values as there are members, and ranked groups worse.)

Source: Liu, Wu and Zhou, Exploratory undersampling for class-imbalance learning, IEEE Transactions on
Systems, Man, and Cybernetics B 2009, doi:10.1109/TSMCB.2008.2007853 (EasyEnsemble, without its boosting).
"""

import numpy as np

from flyannot.classifiers.liblinear import fit_liblinear


def fit_undersampled(A, positive, C, *, n_members, rng):
    """The mean of the members' models.

    Parameters
    ----------
    A : float64 array (n_rows, n_features)
    positive : bool array (n_rows,), of both classes
    C : float > 0, of every member
    n_members : int >= 1
    rng : numpy Generator, for the rows that each member takes of the larger class

    Returns
    -------
    weights : float64 array (n_features,)
    intercept : float

    Raises
    ------
    As `flyannot.classifiers.liblinear.fit_liblinear`.
    """
    members = [fit_liblinear(A[rows], positive[rows], C) for rows in balanced_rows(positive, n_members, rng)]
    return np.mean([weights for weights, _ in members], axis=0), float(np.mean([b for _, b in members]))


def balanced_rows(positive, n_members, rng):
    """For every member all rows of the smaller class and as many different ones of the larger, ascending."""
    rarer, others = sorted((np.flatnonzero(positive), np.flatnonzero(~positive)), key=len)
    return [np.sort(np.append(rarer, rng.permutation(others)[: len(rarer)])) for _ in range(n_members)]
