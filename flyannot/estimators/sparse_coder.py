"""SparseCoder: codes over atoms that are known."""

from pathlib import Path

import numpy as np
from sklearn.utils.validation import check_is_fitted

from flyannot.errors import InputError
from flyannot.estimators.sparse_coding import SparseCoding
from flyannot.estimators.validation import matrix_of
from flyannot.stage_ranges import parse_stage_range
from flyannot.steps.file_options import lam_of
from flyannot.store.dictionary import read_dictionary
from flyannot.store.reading import open_stored


class SparseCoder(SparseCoding):
    """Code samples as sums of few atoms: the z that minimises 1/2 |x - z D|^2 + alpha |z|_1.

    Parameters
    ----------
    dictionary : array (n_components, n_features), optional
        D, an atom a row, of any norm.  By default the samples given to `fit`, scaled to norm 1: every
        sample is then written as a sum of few of those (Wright et al., IEEE TPAMI 31(2), 2009).
    coder : one of `flyannot.sparse.coders.CODERS`
        The solver.  All end at the same codes; "cd" is the quick one.
    alpha : float > 0, optional
        Weight of the L1 norm.  By default 1.2 / sqrt(n_features), which suits samples of norm 1.
    tol : float
        Duality gap of a code, as a part of 1/2 |x|^2.
    sparse_output : bool
        Give codes as a CSR matrix.
    n_jobs : int, optional
        Threads; -1 for all cores.  The codes are the same bits for any number.

    Attributes
    ----------
    components_ : array (n_components, n_features)
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from flyannot import SparseCoder
    >>> SparseCoder(np.eye(2), alpha=0.5).transform([[2.0, 0.25]])
    array([[1.5, 0. ]])
    """

    def __init__(
        self, dictionary=None, *, coder="cd", alpha=None, tol=1e-4, sparse_output=False, n_jobs=None
    ):
        self.dictionary, self.coder, self.alpha, self.tol = dictionary, coder, alpha, tol
        self.sparse_output, self.n_jobs = sparse_output, n_jobs

    @classmethod
    def from_file(cls, path, stage_range, **options):
        """A coder over the atoms, and with the lam, of one stage range of a file of `learn-dict`."""
        stage_range = parse_stage_range(stage_range)
        with open_stored(Path(path), "dictionary") as stored:
            D = read_dictionary(stored, stage_range)
            return cls(D, **({"alpha": lam_of(stored)} | options))

    def fit(self, X, y=None):
        """Check X, array-like (n_samples, n_features) or ImagePatches, and take atoms if none are given."""
        X, _ = matrix_of(self, X, reset=True)
        if self.dictionary is None:
            norms = np.linalg.norm(X, axis=1, keepdims=True)
            self.components_ = X / np.where(norms > 0, norms, 1)
        else:
            self.components_ = self._atoms()
        return self

    def _atoms(self):
        if self.dictionary is None:
            check_is_fitted(self)
            return self.components_
        D = np.asarray(self.dictionary)
        if D.ndim != 2 or D.dtype.kind not in "fiu":
            raise InputError(
                f"a dictionary of shape {D.shape} and type {D.dtype} is no matrix of numbers",
                fix="give one row an atom",
            )
        return D if D.dtype == np.float32 else D.astype(np.float64)

    def __sklearn_is_fitted__(self):
        return self.dictionary is not None or hasattr(self, "components_")
