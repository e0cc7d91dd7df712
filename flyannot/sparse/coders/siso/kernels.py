"""Kernels of the SISO coder: which atoms stand out in a product with residuals."""

import numpy as np

from flyannot.runtime.compiled import compiled
from flyannot.sparse.kernels import MAXIMA, add_multiple, dot

TINY = np.float32(1e-30)


@compiled
def keep_largest(Q, start, active, lists, largest):
    """Take the atoms `start`, `start` + 1, ... into every sample's list of the largest.

    Q (n_chunk, at least n) holds their correlations.  active is (first, atoms): the atoms of
    atoms[first[i] : first[i + 1]], which rise, never enter list i.  lists is (tops, atoms), both
    (n, top_k): row i of `tops` is a heap, least on top, of the largest |q| so far, all above what it was
    filled with; `atoms` names them.  `largest` (n,) is over all atoms.
    """
    first, actives = active
    tops, atoms = lists
    highest = column_maxima(Q)
    for i in range(len(largest)):
        largest[i] = max(largest[i], highest[i])
        if highest[i] > tops[i, 0]:
            mine = actives[first[i] : first[i + 1]]
            for j in range(len(Q)):
                if abs(Q[j, i]) > tops[i, 0] and not contains(mine, start + j):
                    replace_least(tops[i], atoms[i], abs(Q[j, i]), start + j)


@compiled
def keep_largest_of(D, r, chosen, mine, tops, atoms):
    """As `keep_largest` for one sample and some atoms, whose correlations are made here.

    Returns the largest |q| of the chosen atoms.
    """
    largest = 0.0
    for k in chosen:
        size = abs(dot(D[k], r, len(r)))
        largest = max(largest, size)
        if size > tops[0] and not contains(mine, k):
            replace_least(tops, atoms, size, k)
    return largest


@compiled
def gather_cells(cells, chosen, stamps, now, found):
    """The atoms of the chosen cells, each once: those met are stamped with `now`.  Returns how many."""
    n = 0
    for c in chosen:
        for atom in cells[c]:
            if atom < 0:
                break
            if stamps[atom] != now:
                stamps[atom] = now
                found[n] = atom
                n += 1
    return n


@compiled(fastmath=MAXIMA)
def column_maxima(Q):
    """The largest |q| of every column."""
    highest = np.zeros(Q.shape[1], Q.dtype)
    for j in range(len(Q)):
        row = Q[j]
        for i in range(len(highest)):
            highest[i] = max(highest[i], abs(row[i]))
    return highest


@compiled
def contains(rising, wanted):
    """Whether a rising array holds a number."""
    place = np.searchsorted(rising, wanted)
    return place < len(rising) and rising[place] == wanted


@compiled
def replace_least(heap, names, size, name):
    """Put (size, name) in the place of the least, and restore the order of the heap."""
    i = 0
    while 2 * i + 1 < len(heap):
        child = 2 * i + 1
        if child + 1 < len(heap) and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= size:
            break
        heap[i], names[i] = heap[child], names[child]
        i = child
    heap[i], names[i] = size, name


@compiled(fastmath=MAXIMA)
def feasible_step(feasible, q, lam, step):
    """The largest a up to `step` for which no |feasible + a (q - feasible)| is above lam; at least 0.

    lam and step are of q's type, so that the loop is one of vectors.
    """
    for k in range(len(q)):
        change = q[k] - feasible[k]
        space = lam - feasible[k] if change > 0 else lam + feasible[k]
        step = min(step, space / max(abs(change), TINY))
    return max(step, step * 0)


@compiled(fastmath=MAXIMA)
def blend(feasible, q, step, onwards):
    """Move `feasible` by the step towards q, in place; the sizes a part `onwards` of the way further."""
    sizes = np.empty_like(q)
    for k in range(len(q)):
        feasible[k] += step * (q[k] - feasible[k])
        sizes[k] = abs(feasible[k] + onwards * (q[k] - feasible[k]))
    return sizes


@compiled
def may_violate(passes, c, bound):
    """The k for which |sum_j c_j passes[j][k]| is above the bound, rising."""
    estimate = np.zeros(len(passes[0]), c.dtype)
    for j in range(len(passes)):
        add_multiple(estimate, c[j], passes[j], len(estimate))
    found, n = np.empty(len(estimate), np.int64), 0
    for k in range(len(estimate)):
        found[n] = k
        n += abs(estimate[k]) > bound
    return found[:n].copy()
