"""SCC on shares of the samples at the same time, and how their atoms become one dictionary again.

A sequential run keeps, for every atom, h = h0 + sum w z^2 and d = d0 + sum w z r / h: d is the mean, weighted
by h, of where it was and where each visit wants it.  A round of S shares starts from one (d0, h0), and every
share learns as though its samples were those of all: each visit counts as V / v, where the share makes v of
the V visits of the round.  So h_s grows in every share as it would in a sequential run, steps are as long as
they are there, and what a share reaches is one estimate of what that run would reach.  The estimates are
averaged, each by its h and its number of visits:

    d = sum v_s h_s d_s / sum v_s h_s,    h = sum v_s h_s / V = h0 + what all visits add.

Adding changes in the place of averaging, h d = h0 d0 + sum (h_s d_s - h0 d0), overshoots S-fold where all
shares move the same atoms the same way; averaging changes of visits that count once falls S-fold short.  A
mean of the shares' atoms lies between them, so it cannot run away, however many shares there are and however
long the round is; with one share it is the share's own.  What it costs is noise, as a visit of S-fold weight
has it: `flyannot.sparse.rounds` sees to it that enough was seen before so many shares are active.
"""

from typing import NamedTuple

import numpy as np

from flyannot.sparse.learners.scc.learner import SCC, carried_over
from flyannot.sparse.learners.scc.options import VARIANTS
from flyannot.sparse.stored_codes import EITHER_SIGN


class SharedAtoms(NamedTuple):
    """The dictionary between two rounds, and what its steps need."""

    D: np.ndarray  # (n_atoms, n_features)
    norm2: np.ndarray  # (n_atoms,) squared norms of the atoms that steps move
    h_past: np.ndarray  # (n_atoms,) float64, squared codes of earlier epochs
    h_now: np.ndarray  # (n_atoms,) float64, those of this epoch
    n_visits: int  # so far
    moving: np.ndarray  # (n_atoms, n_features), the atoms that steps move where D is their mean; else none


def first_atoms(D, options):
    """The `SharedAtoms` of initial atoms (n_atoms, n_features)."""
    moving = D if VARIANTS[options.variant].takes_mean else D[:0]
    return SharedAtoms(D, (D**2).sum(axis=1), np.zeros(len(D)), np.zeros(len(D)), 0, moving)


def visit_share(start, X, *, lam, options, stands_for, rng, positive=EITHER_SIGN):
    """What a share makes of the atoms `start`: `Found`.

    Parameters
    ----------
    start : SharedAtoms
    X : array-like of rows (n_samples, n_features), visited in random order
    lam : weight of the L1 norm
    options : SCCOptions
    stands_for : float, V / v above
    rng : Generator
    positive : what must not be negative
    """
    learner = SCC(start.D, 0, lam=lam, positive=positive, **vars(options))
    return learner.visit_share(X, rng, start, stands_for)


def merged(start, found, n_visits, options):
    """The atoms after a round.

    Parameters
    ----------
    start : SharedAtoms before it
    found : list of `Found`, in the order of the shares
    n_visits : list of the visits of each
    options : SCCOptions
    """
    now = start._replace(n_visits=start.n_visits + sum(n_visits))
    if len(found) == 1:
        D, norm2, gained, moving = found[0]
        return now._replace(D=D, norm2=norm2, h_now=start.h_now + gained, moving=moving)
    before = start.h_past + start.h_now
    weights = [n * (before + one.gained) for one, n in zip(found, n_visits)]
    gain = sum(n / sum(n_visits) * one.gained for one, n in zip(found, n_visits))
    D = _mean_of_atoms(start, start.D, [one.D for one in found], weights, options)
    moving = start.moving
    if len(moving):
        moving = _mean_of_atoms(start, moving, [one.moving for one in found], weights, options)
    norm2 = _squared_norms(moving if len(moving) else D, options)
    return now._replace(D=D, norm2=norm2, h_now=start.h_now + gain, moving=moving)


def _mean_of_atoms(start, before, found, weights, options):
    """The mean of the atoms that shares found; as `before` where none used an atom."""
    total = np.zeros(before.shape)
    for D, weight in zip(found, weights):
        total += weight[:, None] * D
    mean = total / np.where(sum(weights) > 0, sum(weights), 1)[:, None]
    if VARIANTS[options.variant].rescale_above == 0:
        mean /= np.maximum(np.linalg.norm(mean, axis=1, keepdims=True), 1e-300)
    used = (sum(weights) > 0) & (start.norm2 > 0)
    return np.where(used[:, None], mean, before).astype(before.dtype)


def end_epoch(atoms, options):
    """The atoms when the next epoch begins."""
    h = carried_over(atoms.h_past, atoms.h_now, options)
    return atoms._replace(h_past=h, h_now=np.zeros_like(h))


def _squared_norms(D, options):
    """Exactly 1 for an atom that is on the sphere but for rounding, as `flyannot...kernels` keeps it."""
    norm2 = (D**2).sum(axis=1)
    is_one = (VARIANTS[options.variant].rescale_above == 0) & (abs(norm2 - 1) < 1e-5)
    return np.where(is_one, 1, norm2).astype(D.dtype)
