"""Matrix completion by coordinate descent over rank-one parts, the peer that MODL was measured against.

Source
------
Yu, Hsieh, Si and Dhillon, "Scalable coordinate descent approaches to parallel matrix factorization for
recommender systems", ICDM 2012 (CCD++): one component at a time, its rows, then its columns.
"""

import numpy as np

from flyannot.runtime.compiled import compiled


class CoordinateDescent:
    """Factors U (n_rows, k) and V (n_columns, k) of the known entries of a matrix.

    Minimises sum (x_ij - u_i v_j)^2 + lam (sum_i n_i |u_i|^2 + sum_j n_j |v_j|^2), n_i and n_j the known
    entries of a row and of a column.

    Parameters
    ----------
    rows, columns : int32 arrays (n_known,); values : float64 array (n_known,); shape : (n_rows, n_columns)
    n_components : int
    lam : float > 0
    rng : numpy Generator, for the first V
    """

    def __init__(self, rows, columns, values, shape, *, n_components, lam, rng):
        self.lam = lam
        self.U = np.zeros((shape[0], n_components))
        self.V = rng.normal(scale=1 / np.sqrt(n_components), size=(shape[1], n_components))
        self._by_row, self._by_column = (
            _sorted_by(rows, columns, shape[0]),
            _sorted_by(columns, rows, shape[1]),
        )
        self._residual = np.array(values, np.float64)  # U begins at 0

    def sweep(self, n_inner=1):
        """Re-solve every component once."""
        for k in range(self.U.shape[1]):
            u, v = np.ascontiguousarray(self.U[:, k]), np.ascontiguousarray(self.V[:, k])
            _add(self._residual, *self._by_row, u, v)
            for _ in range(n_inner):
                _solve(self._residual, *self._by_row, u, v, self.lam)
                _solve(self._residual, *self._by_column, v, u, self.lam)
            _add(self._residual, *self._by_row, -u, v)
            self.U[:, k], self.V[:, k] = u, v

    def predict(self, rows, columns):
        """The entries at the given places."""
        return np.einsum("ij,ij->i", self.U[rows], self.V[columns])


def _sorted_by(these, others, n):
    """(order, first, others): the entries of every row (or column) end to end."""
    order = np.argsort(these, kind="stable")
    first = np.concatenate([[0], np.cumsum(np.bincount(these, minlength=n))])
    return order, first, np.asarray(others)[order]


@compiled
def _add(residual, order, first, others, u, v):
    for i in range(len(u)):
        for s in range(first[i], first[i + 1]):
            residual[order[s]] += u[i] * v[others[s]]


@compiled
def _solve(residual, order, first, others, u, v, lam):
    """The best u for the residual without this component, v given."""
    for i in range(len(u)):
        above, below = 0.0, lam * (first[i + 1] - first[i])
        for s in range(first[i], first[i + 1]):
            above += residual[order[s]] * v[others[s]]
            below += v[others[s]] ** 2
        u[i] = above / below if below > 0 else 0.0
