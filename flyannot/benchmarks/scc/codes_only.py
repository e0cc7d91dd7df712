"""What each half of SCC's visit costs: an SCC whose dictionary stands still.

It solves the codes as SCC does, by the same kernels and from the same warm starts; what is left of SCC's
own time is the step on the dictionary.
"""

from flyannot.sparse.kernels import kernel
from flyannot.sparse.learners.scc.kernels import solve_code, store_code
from flyannot.sparse.learners.scc.learner import SCC
from flyannot.sparse.simd.aligned import whole_chunks


class CodesOnly(SCC):
    """SCC without the step on the dictionary."""

    def step(self, X, rows):
        """Solve the codes of X (len(rows), n_features), known by their numbers `rows`, in that order."""
        X = whole_chunks(X, self.D.dtype)
        codes = self._codes
        codes.reserve(len(rows) * len(self.D))
        codes.n_used = _visit(
            X, rows, self._orders, self._n_visits, self._atoms,
            (codes.past, codes.now, codes.n_used), self._rules, self._scratch,
        )  # fmt: skip
        self._n_visits += len(rows)


@kernel
def _visit(X, rows, orders, first_visit, atoms, codes, rules, scratch):
    """Solve and keep one code after the other; returns the entries of the codes of now in use."""
    past, now, n_used = codes
    for i in range(len(rows)):
        n_support = solve_code(X, i, past, rows[i], orders, first_visit + i, atoms, rules, scratch)
        store_code(now, rows[i], n_used, n_support, scratch)
        n_used += n_support
    return n_used
