"""Hashing by p-stable distributions, as the paper of hash-accelerated SISO took it: tables of cells.

Source
------
Datar, Immorlica, Indyk and Mirrokni, "Locality-sensitive hashing scheme based on p-stable distributions",
SoCG 2004.  Huang et al. 2013 name it, and give no number of tables or functions and no width: these are ours.
"""

from dataclasses import dataclass

import numpy as np

_N_TABLES, _N_FUNCTIONS = 16, 8
_WIDTH = 1.7  # two vectors of length 1 at a right angle share a cell of a table with chance 0.001
_BLOCK = 65_536  # vectors that are hashed at once


@dataclass(frozen=True)
class Tables:
    """Cells of unit vectors.

    directions : float32 (n_features, n_tables n_functions); shifts : float32 (n_tables n_functions,)
    factors : uint64 (n_functions,), odd, that make one key of the integers of a cell
    keys : uint64 (n_tables, n_atoms), rising; atoms : int32 (n_tables, n_atoms), those of the keys
    """

    directions: np.ndarray
    shifts: np.ndarray
    factors: np.ndarray
    keys: np.ndarray
    atoms: np.ndarray


def build_tables(D, rng, *, n_tables=_N_TABLES, n_functions=_N_FUNCTIONS):
    """Hash the rows of D, which have length 1."""
    n = n_tables * n_functions
    directions = rng.standard_normal((D.shape[1], n), dtype=np.float32)
    shifts = (_WIDTH * rng.random(n)).astype(np.float32)
    factors = rng.integers(2**63, size=n_functions, dtype=np.uint64) | np.uint64(1)
    parts = [_keys(D[i : i + _BLOCK], directions, shifts, factors) for i in range(0, len(D), _BLOCK)]
    keys = np.concatenate(parts, axis=1)
    atoms = np.argsort(keys, axis=1, kind="stable")
    return Tables(
        directions, shifts, factors, np.take_along_axis(keys, atoms, axis=1), atoms.astype(np.int32)
    )


def atoms_beside(tables, r):
    """The atoms that share a cell of any table with r / |r| or with -r / |r|: int32, each once."""
    v = np.asarray(r, np.float32) / np.float32(np.linalg.norm(r))
    wanted = _keys(np.stack([v, -v]), tables.directions, tables.shifts, tables.factors)
    found = []
    for keys, atoms, both in zip(tables.keys, tables.atoms, wanted):
        ends = zip(np.searchsorted(keys, both, "left"), np.searchsorted(keys, both, "right"))
        found += [atoms[first:last] for first, last in ends]
    return np.unique(np.concatenate(found))


def _keys(X, directions, shifts, factors):
    """uint64 (n_tables, len(X)): floor((a x + b) / width) of every function, a table's made one number."""
    places = np.floor((X @ directions + shifts) / np.float32(_WIDTH)).astype(np.int64).view(np.uint64)
    return (places.reshape(len(X), -1, len(factors)) * factors).sum(axis=2, dtype=np.uint64).T
