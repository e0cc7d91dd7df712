"""Doubly stochastic successive convex approximation (DSSC): blocks of atoms and samples on many processors.

The variables are the dictionary D, with atoms of norm at most 1, and a code z for every sample x.  The
objective is the mean over the samples of

    1/2 |x - z D|^2 + lam |z|_1.

In one iteration each of `n_processors` processors draws a block of atoms and `batch_size` samples of its
own. All processors read the same iterate.  A processor averages the gradient in its variables,

    d = (1 - rho) d + rho gradient,

minimises a convex surrogate of the objective, and moves the fraction gamma of the way to that minimum.

How we read the paper
---------------------
- It writes one code for all samples, which is meaningless.  Here every sample has its own code.
- Its objective has no 1/2, so its zeta is our 2 lam.
- Processors draw different blocks, as |I^t| = I says, so no two write the same atoms.  Their mini-batches are
  different samples, so no two write the same code.
- A code is in one term of the objective only.  Its gradient has no sampling error, so codes use
  rho = gamma = 1.  No gradient (n_samples, n_atoms) is stored, and codes stay sparse.  With exact codes, DSSC
  works on D alone and on the mean of the least objective of each sample.  The conditions of the theorem are
  then conditions on the steps of the atoms.
- tau differs between blocks, as the paper allows.  For codes tau (1 + rho) is the largest eigenvalue of
  D D^T, the smallest value that never raises the objective of a sample.

Source
------
Koppel, Mokhtari and Ribeiro, "Parallel stochastic successive convex approximation method for large-scale
dictionary learning", ICASSP 2018.  It gives neither tau nor batch sizes nor the constants of rho and gamma.
The defaults below are ours.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from flyannot.base.errors import InputError
from flyannot.base.options import ChoiceType, FloatType, IntegerType, Options, option
from flyannot.jobs.resources import create_thread_pool, limit_blas_threads
from flyannot.sparse.coders import find_coder
from flyannot.sparse.learners.lagrange_dual import solve_dual
from flyannot.sparse.stored_codes import Learner, learner_dtype

SURROGATES = ("exact", "proximal")
DEFAULT_BLOCKS = 4  # with fewer atoms, one block per atom
TAU = 0.02  # strong convexity of an atom's surrogate, in units of the samples' mean squared norm
EPSILON = 0.05  # rho falls as t^-(1/2 + EPSILON), gamma as t^-(3/4 + 3/2 EPSILON), as in Theorem 2

_RATE = FloatType(above=0, most=1)


@dataclass(frozen=True, kw_only=True)
class DSSCOptions(Options):
    """Options of DSSC.  The paper gives only 16 processors and 16 to 128 blocks.

    A block is a range of atoms, and a processor updates one block at a time, from its own samples.  So few
    blocks learn most from each sample, and many blocks use most threads.  If there are more blocks than
    atoms, some are empty, and processors that draw them change codes only.
    """

    surrogate: str = option(
        "exact",
        ChoiceType(SURROGATES),
        "exact: a processor solves the codes of its patches, then its block of atoms. proximal: as in the "
        "paper, it takes one proximal step of the block and of the codes' entries in it (Eq. 2).",
    )
    n_blocks: int | None = option(
        None,
        IntegerType(),
        "Blocks that the atoms are cut into.",
        stands_for="4, or n_atoms where that is fewer",
    )
    n_processors: int | None = option(
        None, IntegerType(), "Blocks that are updated at once; at most n_blocks.", stands_for="all"
    )
    batch_size: int = option(32, IntegerType(), "Patches of one processor in one iteration.")
    rho: float = option(1.0, _RATE, "Weight of the newest gradient at the start.")
    gamma: float = option(1.0, _RATE, "Fraction of the way that atoms move at the start.")
    delay: float = option(
        100.0,
        FloatType(above=0),
        "Iterations before rho and gamma fall; 1e30 keeps them constant, outside the theorem.",
    )
    n_threads: int = option(
        1, IntegerType(), "Threads. The result is the same for any number.", in_header=False
    )


def gradient_weight(t, options):
    """Return the weight of the newest gradient in iteration t = 0, 1, ... of DSSC.

    It is rho (1 + t / delay)^-(1/2 + EPSILON), with `rho` and `delay` from the `DSSCOptions`.
    """
    return options.rho * (1 + t / options.delay) ** -(0.5 + EPSILON)


def step_fraction(t, options):
    """Return the step length in iteration t = 0, 1, ... of DSSC.

    Atoms move this fraction of the way to the minimum of the surrogate.  It is gamma (1 + t / delay)^-(3/4 +
    3/2 EPSILON), with `gamma` and `delay` from the `DSSCOptions`.
    """
    return options.gamma * (1 + t / options.delay) ** -(0.75 + 1.5 * EPSILON)


def resolve_dssc_options(options, n_atoms):
    """Return a copy of the `DSSCOptions` with defaults for `n_blocks` and `n_processors` filled in.

    Raises
    ------
    InputError
        If there are more processors than blocks.
    """
    n_blocks = options.n_blocks or max(1, min(DEFAULT_BLOCKS, n_atoms))
    n_processors = options.n_processors or n_blocks
    if n_processors > n_blocks:
        what = f"n_processors is {n_processors}, and must be at most n_blocks = {n_blocks}"
        raise InputError(what, fix="raise n_blocks, or lower n_processors")
    return replace(options, n_blocks=n_blocks, n_processors=n_processors)


POWER_STEPS = 8  # per iteration, from the last iteration's direction, so that they follow D
CURVATURE_MARGIN = 1.1  # factor on the power method's eigenvalue, which is too small

# Tolerances of exact solves: the duality gap of codes, and the violation of optimality of atoms.
CODE_TOLERANCE = {np.dtype(np.float32): 1e-4, np.dtype(np.float64): 1e-13}
ATOM_TOLERANCE = {np.dtype(np.float32): 1e-4, np.dtype(np.float64): 1e-10}
MOST_STEPS = 8  # Newton steps of an exact solve of atoms; two are mostly enough


class DSSCBatch(NamedTuple):
    """The samples of one iteration, one processor's mini-batch after the other.

    Attributes
    ----------
    X : array (n, n_features)
    rows : int64 array (n,)
        Indices of the samples.
    first : int array (n_processors + 1,)
        Processor i has the samples first[i] to first[i + 1].
    blocks : int array (n_processors,)
        The block of atoms that each processor updates.  No two are equal.
    """

    X: np.ndarray
    rows: np.ndarray
    first: np.ndarray
    blocks: np.ndarray


class DSSCRates(NamedTuple):
    """The step sizes of one iteration.

    Attributes
    ----------
    rho : float
        Weight of the newest gradient in the averaged gradient.
    gamma : float
        Fraction of the way to the minimum that atoms move.
    tau : float
        Strong convexity of an atom's surrogate.
    curvature : float
        Curvature c of a code's surrogate, at least the largest eigenvalue of D D^T.
    """

    rho: float
    gamma: float
    tau: float
    curvature: float


def split_iterations(n_rows, n_at_once):
    """Split `n_rows` rows into slices of nearly equal length, one for each iteration.

    There are as few slices as possible, each of at most `n_at_once` rows.
    """
    edges = np.linspace(0, n_rows, -(-n_rows // n_at_once) + 1).astype(int)
    return [slice(*pair) for pair in zip(edges, edges[1:])]


class DSSC(Learner):
    """The learner DSSC: in each iteration several processors update blocks of atoms from the same dictionary.

    Parameters
    ----------
    D : float array (n_atoms, n_features)
        Initial atoms, copied.
    n_samples : int
    lam : float > 0, weight of the L1 norm
    options : fields of `DSSCOptions`

    Attributes
    ----------
    n_iterations : int
        Iterations so far.
    n_features_processed : int
        Entries of D and of codes that processors have updated so far.
    """

    Options = DSSCOptions
    state_numbers = ("mean_square", "n_iterations", "n_features_processed")

    def __init__(self, D, n_samples, *, lam, **options):
        (n_atoms, n_features) = np.shape(D)
        dtype = learner_dtype(D)
        chosen = resolve_dssc_options(self.Options(**options), n_atoms)
        super().__init__(n_samples, n_atoms, dtype, lam=lam, options=chosen)
        self._edges = np.arange(chosen.n_blocks + 1) * n_atoms // chosen.n_blocks
        self.D = np.array(D, dtype, order="C")
        self._d = np.zeros_like(self.D)  # the averaged gradient of Eq. 4
        self.n_iterations = self.n_features_processed = 0
        self.mean_square = 0.0  # mean squared norm of the first samples
        self._direction = np.ones(n_features, dtype)

    @property
    def _n_per_iteration(self):
        return self.options.n_processors * self.options.batch_size

    @property
    def block_size(self):
        """Return the most samples that `step` accepts: about 4,096, in whole iterations."""
        return self._n_per_iteration * max(1, 4096 // self._n_per_iteration)

    def begin_epoch(self, rng):
        """Prepare an epoch: derive its generator from `rng`, and take the last codes as start codes."""
        self._direction[:] = rng.normal(size=len(self._direction))
        self._rng = rng.spawn(1)[0]
        with limit_blas_threads():
            _power_steps(self.D, self._direction, 50)
        self._codes.compact()
        self._starts = self._codes.as_csr()

    def step(self, X, rows):
        """Learn from the samples X (len(rows), n_features), in this order; `rows` are their indices."""
        X = np.ascontiguousarray(X, self.D.dtype)
        rows = np.ascontiguousarray(rows, np.int64)
        if not self.mean_square:
            self.mean_square = max(float(np.einsum("ij,ij->", X, X, dtype=np.float64)) / len(X), 1e-30)
        n_processors, n_blocks = self.options.n_processors, self.options.n_blocks
        with limit_blas_threads(), create_thread_pool(self.options.n_threads) as threads:
            for part in split_iterations(len(rows), self._n_per_iteration):
                blocks = self._rng.permutation(n_blocks)[:n_processors]
                first = np.arange(n_processors + 1) * len(X[part]) // n_processors
                self._iterate(DSSCBatch(X[part], rows[part], first, blocks), threads)

    def _iterate(self, batch, threads):
        """Run one iteration: all processors, in threads, then copy their codes and atoms to the learner.

        Parameters
        ----------
        batch : DSSCBatch
        threads : thread pool
        """
        rates = self._iteration_rates()
        Z = self._starts[batch.rows]
        if self.options.surrogate == "exact":
            tol = CODE_TOLERANCE[self.D.dtype]
            Z = find_coder("cd").codes(batch.X, self.D, self.lam, start=Z, tol=tol).Z
        run_processor = partial(self._run_processor, batch, Z, rates)
        done = list(threads.map(run_processor, range(len(batch.blocks))))
        self._codes.append(batch.rows, sp.vstack([codes for codes, _, _ in done], format="csr"))
        for block, (codes, D, d) in zip(batch.blocks, done):
            if codes.shape[0]:
                atoms = self._atoms_of(block)
                self.D[atoms] = D
                self._d[atoms] = d
                n_entries = len(self.D) if self.options.surrogate == "exact" else len(D)
                self.n_features_processed += D.size + codes.shape[0] * n_entries
        self.n_iterations += 1

    def _atoms_of(self, block):
        """Return the slice of the atoms of a block."""
        return slice(self._edges[block], self._edges[block + 1])

    def _run_processor(self, batch, Z, rates, i):
        """Compute the new codes of one processor's mini-batch, and its block of atoms.

        The surrogate is the objective itself, for which the codes are solved already, or that of Eq. 2.  Then
        one proximal step from the same D and codes moves the atoms and the codes' entries of the block.

        Parameters
        ----------
        batch : DSSCBatch
        Z : CSR matrix (n, n_atoms), the codes of the batch
        rates : DSSCRates
        i : int, the number of the processor

        Returns
        -------
        codes : CSR matrix (n_of_processor, n_atoms)
        D, d : arrays (n_of_block, n_features), the new atoms and their averaged gradient
        """
        here, atoms = slice(*batch.first[i : i + 2]), self._atoms_of(batch.blocks[i])
        codes, X, D = Z[here].toarray(), batch.X[here], self.D[atoms]
        if not len(X) or not len(D):
            return Z[here], D, self._d[atoms]
        R = X - codes @ self.D
        d = (1 - rates.rho) * self._d[atoms] - rates.rho / len(X) * (codes[:, atoms].T @ R)
        if self.options.surrogate == "exact":
            M = rates.rho / len(X) * (codes[:, atoms].T @ codes[:, atoms]) + rates.tau * np.eye(len(D))
            start = np.maximum(0, -np.einsum("ij,ij->i", D, d))  # right if D were the solution
            best, _ = solve_dual(M, M @ D - d, start=start, tol=ATOM_TOLERANCE[D.dtype], max_steps=MOST_STEPS)
        else:
            moved = codes[:, atoms] + R @ D.T / rates.curvature
            codes[:, atoms] = np.sign(moved) * np.maximum(np.abs(moved) - self.lam / rates.curvature, 0)
            best = D - d / (rates.tau * (1 + rates.rho))
            best /= np.maximum(1, np.linalg.norm(best, axis=1, keepdims=True))
        return sp.csr_matrix(codes), (1 - rates.gamma) * D + rates.gamma * best, d

    def _iteration_rates(self):
        """Return the `DSSCRates` of the next iteration."""
        curvature = _power_steps(self.D, self._direction, POWER_STEPS) * CURVATURE_MARGIN
        rho, gamma = (rate(self.n_iterations, self.options) for rate in (gradient_weight, step_fraction))
        return DSSCRates(rho, gamma, TAU * self.mean_square, max(curvature, 1e-30))

    def state_arrays(self):
        """Return the dictionary `D` and its averaged gradient `d`, as a dict."""
        return {"D": self.D, "d": self._d}


def _power_steps(D, v, n_steps):
    """Estimate the largest eigenvalue of D^T D by `n_steps` steps of the power method.

    The start vector v (n_features,) is overwritten with the last iterate.  Returns the last Rayleigh
    quotient.
    """
    quotient = 0.0
    for _ in range(n_steps):
        if not v.any():  # a dictionary of zeros
            return 0.0
        v /= np.linalg.norm(v)
        along = D @ v
        quotient = float(along @ along)
        v[:] = along @ D
    return quotient
