"""SparseCoder: codes over atoms that are known; and what it shares with `DictionaryLearning`."""

from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from flyannot.base.errors import InputError
from flyannot.base.stage_ranges import parse_stage_range
from flyannot.estimators.image_patches import ImagePatches, matrix_of_samples
from flyannot.files.hdf5.dictionary import read_dictionary
from flyannot.files.hdf5.reading import open_stored
from flyannot.jobs.resources import available_cpus
from flyannot.pipeline.engine.inputs import lam_of_dictionary
from flyannot.sparse.coders import CODERS
from flyannot.sparse.coders.verified import warn_of_missed
from flyannot.sparse.fit import default_lam
from flyannot.sparse.missing_values import by_observed_features, codes_of_observed
from flyannot.sparse.nonnegative import encode_nonnegative
from flyannot.sparse.objective import objective


class SparseCoding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Codes over the atoms that `_atoms()` gives; subclasses have the parameters that are read here."""

    def transform(self, X: ImagePatches | ArrayLike) -> Any:
        """The codes of X, each within `tol` / 2 |x|^2 of the minimum of 1/2 |x - z D|^2 + alpha |z|_1.

        Parameters
        ----------
        X : array-like (n_samples, n_features), or ImagePatches

        Returns
        -------
        Z : array (n_samples, n_components), CSR with `sparse_output`; of ImagePatches the same with codes
            in the place of descriptors, always CSR
        """
        D = self._atoms()
        X, patches = matrix_of_samples(self, X, reset=False, **self._finite())
        Z = self._encode(X, D)
        if patches is not None:
            return patches.with_rows(Z)
        return Z if self.sparse_output else Z.toarray()

    def inverse_transform(self, Z: Any) -> NDArray[Any]:
        """The samples z D that codes stand for.

        Parameters
        ----------
        Z : array-like or sparse matrix (n_samples, n_components)

        Returns
        -------
        X : array (n_samples, n_features)
        """
        D = self._atoms()
        Z = check_array(Z, accept_sparse="csr", dtype=[np.float64, np.float32])
        if Z.shape[1] != len(D):
            raise ValueError(f"codes of {Z.shape[1]} components do not fit {len(D)} atoms")
        return Z @ D

    def score(self, X: ImagePatches | ArrayLike, y: object = None) -> float:
        """Minus the mean of 1/2 |x - z D|^2 + alpha |z|_1, so that greater is better.

        It compares dictionaries for one alpha; a smaller alpha always scores higher.
        """
        D = self._atoms()
        X, _ = matrix_of_samples(self, X, reset=False, **self._finite())
        Z, alpha = self._encode(X, D), self._alpha(X.shape[1])
        values = np.full(len(X), np.nan)
        for rows, Xk, Dk, lam in by_observed_features(X, D, alpha):
            values[rows] = objective(Xk, Dk, Z[rows], lam)
        return -float(values[~np.isnan(values)].mean())

    def _encode(self, X, D):
        encode = CODERS[self.coder]
        if self.positive_code:
            if self.coder != "cd":
                raise InputError(f"the coder {self.coder} has codes of either sign", fix='choose coder="cd"')
            encode = encode_nonnegative
        self._require_features(X, D)
        rules = {"tol": self.tol, "n_threads": threads_of_estimator(self.n_jobs)}
        Z, gaps = codes_of_observed(encode, X, D.astype(X.dtype), self._alpha(X.shape[1]), **rules)
        warn_of_missed(gaps, self.tol)
        return Z

    def _require_features(self, X, D):
        if X.shape[1] != D.shape[1]:
            raise ValueError(
                f"X has {X.shape[1]} features, but {type(self).__name__} is expecting {D.shape[1]} features"
            )

    def _takes_missing_values(self):
        return False

    def _finite(self):
        """What samples are checked for."""
        return {"ensure_all_finite": "allow-nan" if self._takes_missing_values() else True}

    def _alpha(self, n_features):
        if self.alpha is None:
            return default_lam(n_features)
        if self.alpha > 0:
            return self.alpha
        raise InputError(f"alpha = {self.alpha} is not above 0", fix="choose alpha > 0, or None")

    @property
    def _n_features_out(self):
        return len(self._atoms())

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.allow_nan = self._takes_missing_values()
        return tags


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
    positive_code : bool
        Minimise over codes that are not negative; coder "cd" only.
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
        self,
        dictionary: ArrayLike | None = None,
        *,
        coder: str = "cd",
        alpha: float | None = None,
        tol: float = 1e-4,
        positive_code: bool = False,
        sparse_output: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.dictionary, self.coder, self.alpha, self.tol = dictionary, coder, alpha, tol
        self.positive_code, self.sparse_output, self.n_jobs = positive_code, sparse_output, n_jobs

    @classmethod
    def from_file(cls, path: str | PathLike[str], stage_range: str, **options: Any) -> Self:
        """A coder over the atoms, and with the lam, of one stage range of a file of `learn-dict`."""
        stage_range = parse_stage_range(stage_range)
        with open_stored(Path(path), "dictionary") as stored:
            D = read_dictionary(stored, stage_range)
            return cls(D, **({"alpha": lam_of_dictionary(stored)} | options))

    def fit(self, X: ImagePatches | ArrayLike, y: object = None) -> Self:
        """Check X, array-like (n_samples, n_features) or ImagePatches, and take atoms if none are given."""
        X, _ = matrix_of_samples(self, X, reset=True)
        if self.dictionary is None:
            norms = np.linalg.norm(X, axis=1, keepdims=True)
            self.components_ = X / np.where(norms > 0, norms, 1)
        else:
            self.components_ = self._atoms()
            self._require_features(X, self.components_)
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


def threads_of_estimator(n_jobs):
    """The threads that scikit-learn's `n_jobs` means: None is 1, -1 all cores, -2 all but one."""
    if n_jobs is None:
        return 1
    if n_jobs == 0:
        raise InputError("n_jobs = 0 does no work", fix="choose n_jobs of 1 or more, or -1 for all cores")
    return n_jobs if n_jobs > 0 else max(1, available_cpus() + 1 + n_jobs)
