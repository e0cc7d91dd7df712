"""What `DictionaryLearning` and `SparseCoder` share: the codes of samples, and samples from codes."""

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array

from flyannot.errors import InputError
from flyannot.estimators.validation import matrix_of, n_threads_of
from flyannot.sparse.coders import CODERS
from flyannot.sparse.fit import default_lam
from flyannot.sparse.objective import objective


class SparseCoding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Codes over the atoms that `_atoms()` gives; subclasses have the parameters that are read here."""

    def transform(self, X):
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
        X, patches = matrix_of(self, X, reset=False)
        Z = self._encode(X, D)
        if patches is not None:
            return patches.with_rows(Z)
        return Z if self.sparse_output else Z.toarray()

    def inverse_transform(self, Z):
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

    def score(self, X, y=None):
        """Minus the mean of 1/2 |x - z D|^2 + alpha |z|_1, so that greater is better.

        It compares dictionaries for one alpha; a smaller alpha always scores higher.
        """
        D = self._atoms()
        X, _ = matrix_of(self, X, reset=False)
        return -float(objective(X, D, self._encode(X, D), self._alpha(X.shape[1])).mean())

    def _encode(self, X, D):
        encode = CODERS[self.coder]
        if X.shape[1] != D.shape[1]:
            raise ValueError(
                f"X has {X.shape[1]} features, but {type(self).__name__} is expecting {D.shape[1]} features"
            )
        return encode(
            X, D.astype(X.dtype), self._alpha(X.shape[1]), tol=self.tol, n_threads=n_threads_of(self.n_jobs)
        )

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
        return tags

    def _more_tags(self):  # scikit-learn before 1.6
        return {"preserves_dtype": [np.float64, np.float32]}
