"""SCC on several threads: the codes of a small batch at once, then its dictionary steps one by one."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from flyannot.errors import InputError
from flyannot.sparse.learners.scc import SCC
from flyannot.sparse.learners.scc_codes import no_codes, with_room
from flyannot.sparse.learners.scc_kernels import code_samples, new_scratch, step_samples
from flyannot.sparse.learners.scc_vectors import whole_chunks


class BatchSCC(SCC):
    """SCC whose codes within a batch all see the dictionary as it was before the batch.

    The steps are SCC's own: sample after sample, each with the residual of the dictionary as it has
    become.  Not the algorithm of the paper, which is `batch_size` 1; the bits are the same for any
    number of threads.  A call of `step` begins a new batch.

    Parameters
    ----------
    D, n_samples, options : as `SCC`
    batch_size : int > 0
        Samples coded at once.  Every code is stale by at most this many steps.
    n_threads : int > 0

    Raises
    ------
    InputError
        If an option is out of its range.
    """

    def __init__(self, D, n_samples, *, batch_size=256, n_threads=2, **options):
        for name, value in (("batch_size", batch_size), ("n_threads", n_threads)):
            if value < 1:
                raise InputError(f"SCC cannot work with {name} = {value}", fix=f"choose {name} 1 or more")
        super().__init__(D, n_samples, **options)
        self.batch_size, self.n_threads = batch_size, n_threads
        self._scratches = [new_scratch(*self.D.shape, self.D.dtype) for _ in range(n_threads)]
        room = -(-batch_size // n_threads)
        coded = [no_codes(room, len(self.D), self.D.dtype) for _ in range(n_threads)]
        self._coded = [with_room(codes, 0, room * len(self.D)) for codes in coded]

    def step(self, X, rows):
        """Visit the samples X (len(rows), n_features), known by their numbers `rows`, in that order."""
        X, rows = whole_chunks(X, self.D.dtype), np.ascontiguousarray(rows, np.int64)
        with ThreadPoolExecutor(self.n_threads) as threads:
            for first in range(0, len(rows), self.batch_size):
                batch = slice(first, first + self.batch_size)
                self._step_batch(X[batch], rows[batch], threads)

    def _step_batch(self, X, rows, threads):
        bounds = np.linspace(0, len(rows), self.n_threads + 1).astype(int)
        shares = [slice(a, b) for a, b in zip(bounds, bounds[1:])]
        atoms, rules = self._atoms, self._rules

        def code_share(share, coded, scratch):
            visit = self._n_visits + share.start
            code_samples(X[share], rows[share], self._orders, visit, atoms, self._past, coded, rules, scratch)

        list(threads.map(code_share, shares, self._coded, self._scratches))
        for share, coded, scratch in zip(shares, self._coded, self._scratches):
            n_more = int(coded.count[: share.stop - share.start].sum())
            self._now = with_room(self._now, self._n_used, n_more)
            self._n_used = step_samples(
                X[share], rows[share], coded, atoms, self._now, self._n_used, rules, scratch
            )
        self._n_visits += len(rows)
