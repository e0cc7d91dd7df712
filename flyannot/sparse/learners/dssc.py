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

import numpy as np

from flyannot.base.errors import InputError
from flyannot.base.options import ChoiceType, FloatType, IntegerType, Options, option
from flyannot.jobs.resources import create_thread_pool, limit_blas_threads
from flyannot.sparse.learners import dssc_kernels as kernels
from flyannot.sparse.simd.vectors import aligned_zeros
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

# Tolerances of exact solves: for codes the violation of optimality, as a fraction of lam; for atoms the
# largest change in the last sweep.
CODE_TOLERANCE = {np.dtype(np.float32): 1e-2, np.dtype(np.float64): 1e-9}
ATOM_TOLERANCE = {np.dtype(np.float32): 1e-4, np.dtype(np.float64): 1e-10}


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
        edges = np.arange(chosen.n_blocks + 1) * n_atoms // chosen.n_blocks
        D_now, D_next, d = (aligned_zeros((n_atoms, n_features), dtype) for _ in range(3))
        self._atoms = kernels.DSSCAtoms(D_now, D_next, d, edges)
        self.D = self._atoms.D
        self.D[:] = D
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
        self._codes.begin_epoch()

    def step(self, X, rows):
        """Learn from the samples X (len(rows), n_features), in this order; `rows` are their indices."""
        X = np.ascontiguousarray(X, self.D.dtype)
        rows = np.ascontiguousarray(rows, np.int64)
        if not self.mean_square:
            self.mean_square = max(float(np.einsum("ij,ij->", X, X, dtype=np.float64)) / len(X), 1e-30)
        scratches = [self._scratch() for _ in range(min(self.options.n_threads, self.options.n_processors))]
        codes = self._code_buffers(min(len(X), self._n_per_iteration))
        n_processors, n_blocks = self.options.n_processors, self.options.n_blocks
        with create_thread_pool(max(1, len(scratches) - 1)) as threads:
            for part in split_iterations(len(rows), self._n_per_iteration):
                blocks = self._rng.permutation(n_blocks)[:n_processors]
                first = np.arange(n_processors + 1) * len(X[part]) // n_processors
                batch = kernels.DSSCBatch(X[part], rows[part], first, blocks)
                self._iterate(batch, scratches, codes, threads)

    def _iterate(self, batch, scratches, codes, threads):
        """Run one iteration: all processors, in threads, then copy their codes and atoms to the learner.

        Parameters
        ----------
        batch : DSSCBatch
            The samples and the block of every processor.
        scratches : list of DSSCScratch
            Work memory, one per thread.
        codes : DSSCCodes
            Buffers for the new codes, overwritten.
        threads : thread pool
            It runs all scratches except the first, which runs in the calling thread.
        """
        rates = self._iteration_rates()
        turns = iter(range(len(batch.blocks)))  # shared by the threads

        def run_processors(scratch):
            for i in turns:
                kernels.run_processor(i, batch, self._atoms, self._codes.past, rates, scratch, codes)

        in_threads = [threads.submit(run_processors, scratch) for scratch in scratches[1:]]
        run_processors(scratches[0])
        for thread in in_threads:
            thread.result()
        self._codes.reserve(int(codes.count[: len(batch.rows)].sum()))
        self._codes.n_used = kernels.store_codes(batch, codes, self._codes.now, self._codes.n_used)
        self._copy_updated_blocks(batch)
        self.n_iterations += 1

    def _copy_updated_blocks(self, batch):
        """Copy the updated blocks of atoms to the dictionary, and count the updated entries.

        `batch` is the `DSSCBatch` of the iteration.
        """
        edges = self._atoms.edges
        n_features = self.D.shape[1]
        for block, n_samples in zip(batch.blocks, np.diff(batch.first)):
            if n_samples:
                atoms = slice(edges[block], edges[block + 1])
                self.D[atoms] = self._atoms.D_next[atoms]
                n_atoms = atoms.stop - atoms.start
                n_entries = len(self.D) if self.options.surrogate == "exact" else n_atoms
                self.n_features_processed += int(n_atoms * n_features + n_samples * n_entries)

    def _iteration_rates(self):
        """Return the `DSSCRates` of the next iteration."""
        options = self.options
        real = self.D.dtype.type
        curvature = _power_steps(self.D, self._direction, POWER_STEPS) * CURVATURE_MARGIN
        return kernels.DSSCRates(
            lam=real(self.lam),
            rho=real(gradient_weight(self.n_iterations, options)),
            gamma=real(step_fraction(self.n_iterations, options)),
            tau=real(TAU * self.mean_square),
            curvature=real(max(curvature, 1e-30)),
            code_tolerance=real(self.lam * CODE_TOLERANCE[self.D.dtype]),
            atom_tolerance=real(ATOM_TOLERANCE[self.D.dtype]),
            is_exact=options.surrogate == "exact",
        )

    def _scratch(self):
        m, p = self.D.shape
        dtype = self.D.dtype
        b = int(np.diff(self._atoms.edges).max())
        return kernels.DSSCScratch(
            z=np.zeros(m, dtype),
            q=np.empty(m, dtype),
            r=aligned_zeros((p,), dtype),
            support=np.empty(m, np.int32),
            G=aligned_zeros((b, p), dtype),
            S=aligned_zeros((b, p), dtype),
            A=np.empty((b, b), dtype),
        )

    def _code_buffers(self, n):
        shape = self.options.n_processors, -(-n // self.options.n_processors) * len(self.D)
        atom = np.empty(shape, self._codes.now.atom.dtype)
        return kernels.DSSCCodes(np.zeros(n, np.int32), atom, np.empty(shape, self.D.dtype))

    def state_arrays(self):
        """Return the dictionary `D` and its averaged gradient `d`, as a dict."""
        return {"D": self.D, "d": self._atoms.d}


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
