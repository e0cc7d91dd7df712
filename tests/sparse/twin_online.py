"""Slow twins of the online learners in float64: one sample, one feature and one atom at a time."""

import numpy as np

from tests.sparse.twins import slow_lasso

BLOCK = 16  # atoms that the learners visit in one go; the order of visits is drawn by blocks


def slow_l1_projection(u, radius):
    """Return the point of the l1 ball nearest to u, by Duchi's sort."""
    if np.abs(u).sum() <= radius:
        return u.copy()
    sizes = np.sort(np.abs(u))[::-1]
    thresholds = (np.cumsum(sizes) - radius) / np.arange(1, len(u) + 1)
    threshold = thresholds[np.flatnonzero(sizes > thresholds).max(initial=0)]
    return np.sign(u) * np.maximum(np.abs(u) - threshold, 0)


def slow_online(
    D,
    X,
    known,
    rng,
    *,
    order,
    lam,
    batch_size,
    beta,
    recency=0,
    reduction=1,
    history="products",
    project=None,
    ridge=False,
    of_seen=False,
    positive=(False, False),
):
    """Return (D, A, B, Z) after the samples `order`, in mini-batches; `known` marks the entries that count.

    With `of_seen` the mask of a mini-batch is what is known of any of its samples.  `project(atom, mask)`
    projects a whole atom.  `positive` says whether codes, and atoms, must not be negative.  The other
    arguments are those of MODL.  Draws from `rng` what the learners draw.
    """
    D, (n_atoms, p) = D.astype(float), D.shape
    A, H, Z = np.zeros((n_atoms, n_atoms)), np.zeros((n_atoms, p)), np.zeros((len(X), n_atoms))
    t, seen, masks = 0.0, np.zeros(p), []
    for start in range(0, len(order), batch_size):
        rows = order[start : start + batch_size]
        if reduction == 1:
            mask = known[rows].any(axis=0) if of_seen else np.ones(p, bool)
        else:
            masks = masks or np.array_split(rng.permutation(p), reduction)
            mask = np.isin(np.arange(p), masks.pop())
        for i in rows:
            there = mask & known[i]
            Z[i] = slow_code(X[i, there], D[:, there], lam * there.sum() / p, ridge, positive[0])
        t += len(rows) / batch_size
        w = weight(len(rows) / batch_size, t, beta, recency, n_atoms / batch_size)
        A = (1 - w) * A + w * np.mean([np.outer(Z[i], Z[i]) for i in rows], axis=0)
        for j in np.flatnonzero(mask):
            knowing = [i for i in rows if known[i, j]]
            if knowing:
                part = len(knowing) / batch_size
                seen[j] += part
                w = weight(part, seen[j], beta, recency, n_atoms / batch_size)
                explained = D[:, j] if history == "residuals" else np.zeros(n_atoms)
                H[:, j] *= 1 - w
                H[:, j] += w * np.mean([Z[i] * (X[i, j] - Z[i] @ explained) for i in knowing], axis=0)
        B = H + A @ D if history == "residuals" else H
        for k in drawn_order(n_atoms, rng):
            if A[k, k] > 1e-20:
                atom = D[k] + mask * (B[k] - A[k] @ D) / A[k, k]
                atom = np.maximum(atom, 0) if positive[1] else atom
                D[k] = (project or project_l2)(atom, mask)
        if history == "residuals":
            H[:, mask] = (B - A @ D)[:, mask]
    return D, A, H, Z


def slow_code(x, D, lam, ridge, positive):
    if ridge:
        return np.linalg.lstsq(D @ D.T + 2 * lam * np.eye(len(D)), D @ x, rcond=None)[0]
    return slow_lasso(x, D, lam, positive=positive)


def weight(part, t, beta, recency, least):
    """Return the weight of `part` of a mini-batch, the last of t.

    At least `least` mini-batches are remembered.
    """
    return part / min(t, t**beta, max((t + recency) / (1 + recency), least))


def drawn_order(n_atoms, rng):
    n_blocks = -(-n_atoms // BLOCK)
    for b in rng.permutation(n_blocks):
        yield from b * BLOCK + rng.permutation(min(BLOCK, n_atoms - b * BLOCK))


def project_l2(atom, mask):
    """Project the whole atom onto the unit ball."""
    return atom / max(1, np.linalg.norm(atom))


def project_l2_within(atom, mask):
    """Project the masked entries into the part of the unit ball that the other entries leave."""
    norm, room = np.linalg.norm(atom[mask]), np.sqrt(max(0, 1 - (atom[~mask] ** 2).sum()))
    return np.where(mask, atom * min(1, room / max(norm, 1e-300)), atom)


def project_l1_within(atom, mask):
    """Project the masked entries into the part of the l1 ball that the other entries leave."""
    projected = atom.copy()
    projected[mask] = slow_l1_projection(atom[mask], max(0, 1 - np.abs(atom[~mask]).sum()))
    return projected
