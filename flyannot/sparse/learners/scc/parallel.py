"""SCC on several threads: each works on its own share of the samples, and the dictionaries are merged."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from flyannot.runtime.validation import require_legal
from flyannot.sparse.learners.scc.kernels import Atoms, new_scratch, round_dictionary, visit_samples
from flyannot.sparse.learners.scc.learner import SCC
from flyannot.sparse.simd.aligned import aligned_zeros, whole_chunks
from flyannot.sparse.stored_codes import no_codes, with_room


class ParallelSCC(SCC):
    """SCC in shares: every thread visits its share of a round with a dictionary and an h of its own.

    A step of 1/h makes an atom a running average: h d grows by what each sample adds.  So after a round,
    with h_0 and d_0 from before it and h_s, d_s those of share s,

        h = h_0 + sum (h_s - h_0),    h d = h_0 d_0 + sum (h_s d_s - h_0 d_0)

    holds what all shares added, and the projection follows.  Not the algorithm of the paper, which is
    one share.  The bits depend on `n_shares`, never on how the threads were scheduled.  A call of
    `step` is a round.

    Parameters
    ----------
    D, n_samples, options : as `SCC`
    n_shares : int > 0, threads that work at once

    Raises
    ------
    InputError
        If an option is out of its range.
    """

    def __init__(self, D, n_samples, *, n_shares=2, **options):
        require_legal("SCC", [("n_shares", n_shares, n_shares >= 1, "1 or more")])
        super().__init__(D, n_samples, **options)
        self.n_shares = n_shares
        self._shares = [
            Atoms(*(aligned_zeros(a.shape, a.dtype) for a in self._atoms)) for _ in range(n_shares)
        ]
        self._scratches = [new_scratch(*self.D.shape, self.D.dtype) for _ in range(n_shares)]
        self._coded = [no_codes(0, len(self.D), self.D.dtype) for _ in range(n_shares)]

    def step(self, X, rows):
        """Visit the samples X (len(rows), n_features), known by their numbers `rows`."""
        X, rows = whole_chunks(X, self.D.dtype), np.ascontiguousarray(rows, np.int64)
        bounds = np.linspace(0, len(rows), self.n_shares + 1).astype(int)
        pieces = [slice(a, b) for a, b in zip(bounds, bounds[1:])]
        with ThreadPoolExecutor(self.n_shares) as threads:
            work = [threads.submit(self._visit_share, s, X[p], rows[p]) for s, p in enumerate(pieces)]
            for share in work:
                share.result()
        for s, piece in enumerate(pieces):
            self._append_codes(self._coded[s], rows[piece])
        self._merge()
        self._n_visits += -(-len(rows) // self.n_shares)

    def _visit_share(self, s, X, rows):
        atoms = self._shares[s]
        for mine, common in zip(atoms, self._atoms):
            mine[...] = common
        n_used, visit = 0, self._n_visits + s * len(self._orders.atom) // self.n_shares
        coded = self._coded[s]._replace(start=self._now.start, count=self._now.count)
        while len(rows):
            coded = with_room(coded, n_used, len(self.D) + 16 * len(rows))
            n = visit_samples(
                X, rows, self._orders, visit, atoms,
                self._past, coded, n_used, self._rules, self._scratches[s],
            )  # fmt: skip
            n_used = int(coded.start[rows[n - 1]] + coded.count[rows[n - 1]])
            visit, X, rows = visit + n, X[n:], rows[n:]
        self._coded[s] = coded

    def _append_codes(self, coded, rows):
        """Move the codes of a share behind those that are there."""
        n_more, n_used = int(self._now.count[rows].sum()), self._n_used
        self._now = with_room(self._now, n_used, n_more)
        self._now.atom[n_used : n_used + n_more] = coded.atom[:n_more]
        self._now.value[n_used : n_used + n_more] = coded.value[:n_more]
        self._now.start[rows] += n_used
        self._n_used += n_more

    def _merge(self):
        """Bring what the shares added into the common dictionary, and project."""
        common = self._atoms
        before = common.h_past + common.h_now
        added = [share.h_now - common.h_now for share in self._shares]
        touched = sum(added) > 0
        common.h_now[:] += sum(added)
        after = common.h_past + common.h_now
        moved = np.zeros_like(common.D)
        for share, more in zip(self._shares, added):
            # h d as above, divided by h: atoms that no share touched keep their bits
            weight = np.divide(before + more, after, out=np.zeros_like(after), where=touched)
            moved += weight[:, None].astype(moved.dtype) * (share.D - common.D)
        common.D[:] += moved
        self._project(touched)

    def _project(self, touched):
        D, norm2, _, _, D8, rounding = self._atoms
        norm2[touched] = np.einsum("ij,ij->i", D[touched], D[touched])
        outside = touched & (norm2 > self.variant.rescale_above)
        D[outside] /= np.sqrt(norm2[outside, None])
        norm2[outside] = 1
        round_dictionary(D, norm2, D8, rounding, max(rounding[2], float(np.abs(D).max())))
