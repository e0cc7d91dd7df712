"""The estimator `SparseCoder`, which codes samples over a given dictionary, and its base class."""

from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from flyannot.base.errors import InputError
from flyannot.base.stage_ranges import parse_stage_range
from flyannot.estimators.image_patches import DenseRows, ImagePatches, validate_estimator_input
from flyannot.files.hdf5.dictionary import read_dictionary
from flyannot.files.hdf5.reading import open_stored_file
from flyannot.jobs.resources import available_cpus
from flyannot.pipeline.engine.inputs import choose_stage_range, dictionary_lam
from flyannot.sparse.coders import find_coder, gram_for
from flyannot.sparse.coders.blocks import Codes
from flyannot.sparse.coders.omp import encode_omp
from flyannot.sparse.coders.verified import warn_unconverged
from flyannot.sparse.fit import default_lam
from flyannot.sparse.missing_values import encode_observed, split_by_missing_pattern
from flyannot.sparse.objective import objective


class BaseSparseCoder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """The base class of estimators that compute sparse codes over a dictionary, which `_atoms` returns.

    Subclasses define `_atoms`, and the parameters alpha, coder, tol, positive_code, sparse_output and
    n_jobs.
    """

    __metadata_request__inverse_transform = {"Z": UNUSED}  # Z is the input, not metadata to route

    def transform(self, X: ImagePatches | ArrayLike) -> Any:
        """Compute the sparse code z of every sample x: the minimum of 1/2 |x - z D|^2 + alpha |z|_1.

        The objective of a code is within `tol` / 2 |x|^2 of the minimum.

        Parameters
        ----------
        X : array-like or sparse matrix (n_samples, n_features), or ImagePatches of descriptors

        Returns
        -------
        Z : array (n_samples, n_components), or a CSR matrix with `sparse_output`
            For ImagePatches, a copy of them with a CSR matrix of codes as `rows`.
        """
        D = self._atoms()
        X, patches = validate_estimator_input(self, X, reset=False, **self._input_options())
        Z = self._encode(X, D)
        if patches is not None:
            return patches.with_rows(Z)
        return Z if self.sparse_output else Z.toarray()

    def inverse_transform(self, Z: Any) -> NDArray[Any]:
        """Reconstruct samples from their codes: Z D, with D the dictionary.

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
        """Return minus the mean of 1/2 |x - z D|^2 + alpha |z|_1 over the samples, so that greater is better.

        Compare scores for one alpha only: a smaller alpha always scores higher.

        Parameters
        ----------
        X : array-like or sparse matrix (n_samples, n_features), or ImagePatches of descriptors
        y : ignored
        """
        D = self._atoms()
        X, _ = validate_estimator_input(self, X, reset=False, **self._input_options())
        Z = self._encode(X, D)
        alpha = self._alpha(X.shape[1])
        values = np.full(X.shape[0], np.nan)
        for rows, Xb in DenseRows(X).blocks():
            for of_block, Xk, Dk, lam in split_by_missing_pattern(Xb, D, alpha):
                here = np.arange(rows.start, rows.stop)[of_block]
                values[here] = objective(Xk, Dk, Z[here], lam)
        return -float(values[~np.isnan(values)].mean())

    def _encode(self, X, D):
        """Compute the sparse codes of the samples X over the dictionary D, and warn if some miss `tol`.

        The result is a CSR matrix (n_samples, n_components).
        """
        self._require_features(X, D)
        given, D = D, D.astype(X.dtype)
        if ((D == 0) & (given != 0)).any(axis=1)[~D.any(axis=1)].any():
            raise InputError(f"{X.dtype} cannot hold atoms as small as these", fix="give samples in float64")
        encode = self._block_coder(D, self._alpha(X.shape[1]))
        blocks = [encode(Xb) for _, Xb in DenseRows(X).blocks()]
        warn_unconverged(np.concatenate([gaps for _, gaps in blocks]), self.tol)
        return blocks[0].Z if len(blocks) == 1 else sp.vstack([Z for Z, _ in blocks], format="csr")

    def _block_coder(self, D, alpha):
        """Return a function that computes the `Codes` of a block of samples over the dictionary D.

        D : array (n_components, n_features); alpha : float, weight of the L1 norm
        """
        if self.positive_code and self.coder != "cd":
            fault = f"the coder {self.coder} cannot exclude negative codes"
            raise InputError(fault, fix='choose coder="cd"')
        encode = find_coder(self.coder, is_nonnegative=self.positive_code)
        rules = {"tol": self.tol, "n_threads": resolve_n_jobs(self.n_jobs), "gram": gram_for(self.coder, D)}
        return lambda X: encode_observed(encode, X, D, alpha, **rules)

    def _require_features(self, X, D):
        if X.shape[1] != D.shape[1]:
            expected = f"{type(self).__name__} is expecting {D.shape[1]} features"
            raise ValueError(f"X has {X.shape[1]} features, but {expected}")

    def _takes_missing_values(self):
        return False

    def _input_options(self):
        """Return the arguments of `validate_estimator_input` that allow CSR, and NaN if it is supported."""
        is_finite = "allow-nan" if self._takes_missing_values() else True
        return {"accept_sparse": "csr", "ensure_all_finite": is_finite}

    def _alpha(self, n_features):
        return default_lam(n_features) if self.alpha is None else self.alpha

    @property
    def _n_features_out(self):
        return len(self._atoms())

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self._takes_missing_values()
        return tags


class SparseCoder(BaseSparseCoder):
    """Sparse coding over a given dictionary D: the z that minimises 1/2 |x - z D|^2 + alpha |z|_1.

    Each sample x is written as a sum of a few atoms (rows of D).

    Parameters
    ----------
    dictionary : array (n_components, n_features), optional
        D, one atom per row, of any norm.  By default the samples given to `fit`, scaled to norm 1.  Every
        sample is then written as a sum of few of them (Wright et al., IEEE TPAMI 31(2), 2009).
    coder : one of `CODERS`, or "omp"
        The solver.  All find the same codes, and "cd" is the fastest.  "omp", orthogonal matching pursuit,
        ignores alpha, and chooses at most `n_nonzero_coefs` atoms one after the other.
    alpha : float > 0, optional
        Weight of the L1 norm.  By default 1.2 / sqrt(n_features), which suits samples of norm 1.
    tol : float
        Largest duality gap of a code, as a fraction of 1/2 |x|^2.  For "omp", the fraction of |x|^2 that
        needs no more atoms.
    n_nonzero_coefs : int, optional
        Most non-zeros of a code of "omp"; by default a tenth of the features, as in scikit-learn.
    positive_code : bool
        Whether codes must not be negative; coder "cd" only.
    sparse_output : bool
        Whether `transform` returns a CSR matrix.
    n_jobs : int, optional
        Threads; -1 for all cores.  The bits of the codes do not depend on it.

    Attributes
    ----------
    components_ : array (n_components, n_features)
        The dictionary.
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
        n_nonzero_coefs: int | None = None,
        positive_code: bool = False,
        sparse_output: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.dictionary = dictionary
        self.coder = coder
        self.alpha = alpha
        self.tol = tol
        self.n_nonzero_coefs = n_nonzero_coefs
        self.positive_code = positive_code
        self.sparse_output = sparse_output
        self.n_jobs = n_jobs

    @classmethod
    def from_file(cls, path: str | PathLike[str], stage_range: str | None = None, **options: Any) -> Self:
        """Make a SparseCoder with a dictionary from a file that `flyannot learn-dict` wrote.

        Parameters
        ----------
        path : path of the HDF5 file
        stage_range : str, such as "4-6", optional
            The file has one dictionary for each stage range.  It is needed only if there are several.
        options : parameters of `SparseCoder`
            Without `alpha`, the lam of the file is used.
        """
        chosen = [] if stage_range is None else [parse_stage_range(stage_range)]
        stored = open_stored_file(Path(path), "dictionary")
        D = read_dictionary(stored, choose_stage_range(stored, chosen))
        return cls(D, **({"alpha": dictionary_lam(stored)} | options))

    def fit(self, X: ImagePatches | ArrayLike, y: object = None) -> Self:
        """Validate X and, if no dictionary was given, take its rows as atoms, scaled to norm 1; y is ignored.

        Parameters
        ----------
        X : array-like or sparse matrix (n_samples, n_features), or ImagePatches of descriptors
        """
        X, _ = validate_estimator_input(self, X, reset=True, accept_sparse="csr")
        if self.dictionary is None:
            X = X.toarray() if sp.issparse(X) else X
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
        return validate_atoms(self.dictionary)

    def _block_coder(self, D, alpha):
        if str(self.coder) != "omp":  # an array is refused as an unknown coder
            return super()._block_coder(D, alpha)
        if self.positive_code:
            raise InputError("the coder omp cannot exclude negative codes", fix='choose coder="cd"')
        n_nonzeros = self.n_nonzero_coefs or max(1, D.shape[1] // 10)
        rules = {"tol": self.tol, "n_threads": resolve_n_jobs(self.n_jobs)}
        return lambda X: Codes(encode_omp(X, D, n_nonzeros, **rules), np.zeros(len(X)))

    def _alpha(self, n_features):
        return 0.0 if self.coder == "omp" else super()._alpha(n_features)

    def __sklearn_is_fitted__(self):
        return self.dictionary is not None or hasattr(self, "components_")


def validate_atoms(D):
    """Check a dictionary D that a user gave, and return it as a float array (n_components, n_features).

    The type is float32 or float64. Raises InputError unless D is a matrix of finite real numbers.
    """
    D = np.asarray(D)
    if D.ndim != 2 or D.dtype.kind not in "fiu" or not D.size or not np.isfinite(D).all():
        what = f"a dictionary of shape {D.shape} and type {D.dtype} is not a matrix of finite numbers"
        raise InputError(what, fix="give one row per atom")
    return D if D.dtype == np.float32 else D.astype(np.float64)


def resolve_n_jobs(n_jobs):
    """Return the number of threads for scikit-learn's parameter `n_jobs`, at most one for each core.

    None is 1 thread, -1 all cores, -2 all cores except one.
    """
    if n_jobs is None:
        return 1
    n_cores = available_cpus()
    return min(n_jobs, n_cores) if n_jobs > 0 else max(1, n_cores + 1 + n_jobs)
