"""What each half of SCC's visit costs: an SCC whose dictionary stands still.

It solves the codes as SCC does, by the same kernels and from the same warm starts; what is left of SCC's
own time is the step on the dictionary.
"""

from flyannot.runtime.compiled import compiled
from flyannot.sparse.learners.scc.kernels import _keep_code, _solve_code
from flyannot.sparse.learners.scc.learner import SCC
from flyannot.sparse.simd.aligned import whole_chunks
from flyannot.sparse.stored_codes import with_room


class CodesOnly(SCC):
    """SCC without the step on the dictionary."""

    def step(self, X, rows):
        """Solve the codes of X (len(rows), n_features), known by their numbers `rows`, in that order."""
        X = whole_chunks(X, self.D.dtype)
        self._now = with_room(self._now, self._n_used, len(rows) * len(self.D))
        self._n_used = _visit(
            X, rows, self._orders, self._n_visits, self._atoms,
            self._past, self._now, self._n_used, self._rules, self._scratch,
        )  # fmt: skip
        self._n_visits += len(rows)


@compiled(_nrt=False, error_model="numpy")
def _visit(X, rows, orders, first_visit, atoms, past, now, n_used, rules, scratch):
    """Solve and keep one code after the other; returns the entries of `now` in use."""
    for i in range(len(rows)):
        n_support = _solve_code(X, i, past, rows[i], orders, first_visit + i, atoms, rules, scratch)
        _keep_code(now, rows[i], n_used, n_support, scratch)
        n_used += n_support
    return n_used
