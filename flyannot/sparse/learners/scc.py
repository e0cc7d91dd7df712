"""Stochastic coordinate coding (SCC): each sample updates its code, then the atoms that the code uses.

The objective is the mean over the samples x, over codes z and atoms D of norm at most 1, of

    1/2 |x - z D|^2 + lam |z|_1.

A visit processes one sample x.  It solves for z by a few sweeps of coordinate descent.  Then each atom
of the code takes a gradient step with r = x - z D,

    h_j += w z_j^2,   d_j += w z_j / h_j r,

and is projected onto the unit ball or sphere.  w is the weight of the visit, by default 1.

A sample's first visit begins at the zero code.  It sweeps over all atoms several times, which takes longest
where samples have many features.  The variant `quick` learns from such samples in mini-batches, by
`OnlineDictionaryLearner`, until the first epoch ends. With non-negative atoms, it learns so in all epochs.

Source
------
Lin, Li, Sun, Lai, Davidson, Fan and Ye, "Stochastic coordinate coding and its application for
Drosophila gene expression pattern annotation", KDD 2014.  Its Algorithm 1 omits the projection of its
Eq. 4; here every step ends in one.  Its coordinate step assumes |d| = 1; here it is right for any atom
in the unit ball.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from flyannot.base.options import ChoiceType, IntegerType, Options, option
from flyannot.sparse.learners import scc_kernels as kernels
from flyannot.sparse.learners.ol import OnlineDictionaryLearner
from flyannot.sparse.simd.atom_rows import GROUP
from flyannot.sparse.simd.vectors import pad_to_chunks, padded_zeros
from flyannot.sparse.stored_codes import EITHER_SIGN, CodeStore, Learner, learner_dtype

N_ORDERS = 64  # random orders per epoch; one per sample would take longer than its sweep
_LONG = 600  # features from which on `quick` begins in mini-batches, which then reach an objective sooner
_BATCH = 512  # fewest samples of a mini-batch; with fewer than there are atoms its pass over them costs most


@dataclass(frozen=True)
class SCCVariant:
    """A variant of SCC: settings in which the paper, the authors' program and our own variant differ.

    In all of them, the step size of an atom is 1 / h, with h a sum of its squared codes.

    Attributes
    ----------
    is_random : bool
        Whether coordinate descent visits the atoms in random orders, or in the order 0, 1, ..., n_atoms - 1.
    keeps_all : bool
        Whether h sums over all epochs.  Otherwise it sums over the last epoch and this one.
    rescale_above : float
        An updated atom with a squared norm above this is scaled to norm 1.
    n_sweeps : int
        Sweeps of coordinate descent per sample: one over all atoms, the others over the non-zeros.
    max_step : float
        Largest sum of z^2 / h over the atoms of one code.
    recency : float
        Sample number t counts t^recency times in h.
    n_descents : int
        Number k of sweeps at 2^k lam, ..., 2 lam, before a sample that starts from the zero code.
    takes_mean : bool
        Whether the dictionary is the mean of the atoms over about the last half of all visits.
    n_epochs : int
        Default number of epochs.
    """

    is_random: bool
    keeps_all: bool
    rescale_above: float
    n_sweeps: int = 3
    max_step: float = np.inf
    recency: float = 0.0
    n_descents: int = 0
    takes_mean: bool = False
    n_epochs: int = 10

    def orders(self, n_atoms, rng):
        """Return the orders of coordinate descent in one epoch, int32 (n_orders, n_atoms).

        Every row is a permutation of the atoms.  There is one cyclic order, or N_ORDERS random ones.
        """
        cyclic = np.arange(n_atoms, dtype=np.int32)[None]
        return rng.permuted(np.tile(cyclic, (N_ORDERS, 1)), axis=1) if self.is_random else cyclic


VARIANTS = {
    # The authors' program: random sweeps, h over the last epoch and this one, atoms on the unit sphere.
    "released": SCCVariant(is_random=True, keeps_all=False, rescale_above=0.0),
    # The paper: cyclic sweeps, h over all epochs, atoms in the unit ball.  The paper visits samples
    # by number.  Every variant here visits them in a new random order in each epoch.
    "paper": SCCVariant(is_random=False, keeps_all=True, rescale_above=1.0),
    # Ours.  A first visit of the authors' program starts from the zero code.  One sweep in random order
    # then gives early atoms what later atoms explain better: its objective is about 10% above that of
    # exact codes.  Here such a visit sweeps at 4 lam and 2 lam before lam.  Steps are bounded and shrink
    # slowly: visit t counts t^6 times in h, so that an atom soon forgets the codes of worse
    # dictionaries.  Such steps are noisy.  The mean over many visits removes the noise.
    "quick": SCCVariant(
        is_random=True,
        keeps_all=True,
        rescale_above=0.0,
        n_sweeps=5,
        max_step=0.25,
        recency=6.0,
        n_descents=2,
        takes_mean=True,
        n_epochs=3,
    ),
}


@dataclass(frozen=True, kw_only=True)
class SCCOptions(Options):
    """Options of SCC.  None stands for the value of the chosen `Variant`."""

    variant: str = option(
        "quick",
        ChoiceType(VARIANTS),
        "released is the authors' program, paper is the published algorithm with samples in random order, "
        "and quick is ours, which reaches a lower objective sooner.",
    )
    n_sweeps: int | None = option(
        None,
        IntegerType(),
        "Sweeps of coordinate descent per visit: one over all atoms, the others over the support.",
        stands_for="5; in the other variants 3",
    )


class SCC(Learner):
    """The learner SCC: stochastic coordinate coding (Lin et al. 2014).

    Parameters
    ----------
    D : float array (n_atoms, n_features)
        Initial atoms, copied.
    n_samples : int
    lam : float > 0, weight of the L1 norm
    positive : PositiveConstraints
        Whether codes or atoms must not be negative.
    options : fields of `SCCOptions`
    """

    Options = SCCOptions
    block_size = 4096
    is_data_parallel = True
    takes_positive = True
    state_numbers = ("n_before",)

    def __init__(self, D, n_samples, *, lam, positive=EITHER_SIGN, **options):
        (n_atoms, n_features) = np.shape(D)
        dtype = learner_dtype(D)
        super().__init__(n_samples, n_atoms, dtype, lam=lam, options=self.Options(**options))
        self._variant = VARIANTS[self.options.variant]
        self._rules = _rules(self._variant, self.options, self.lam, positive, n_atoms)
        self.positive = positive
        padded = padded_zeros(n_atoms, n_features, dtype=dtype)
        self._D = padded[:, :n_features]
        self._D[:] = D
        mean = padded if self._variant.takes_mean else padded[:0]
        self._atoms = kernels.SCCAtoms(
            D=padded,
            norm2=(self._D**2).sum(axis=1),
            h_past=np.zeros(n_atoms),
            h_now=np.zeros(n_atoms),
            D8=padded_zeros(n_atoms, n_features, dtype=np.uint8),
            rounding=np.zeros(4),
            mean=mean.copy(),
        )
        self._scratch = kernels.new_scratch(n_atoms, n_features, dtype)
        self.n_before = self._n_visits = 0  # visits before this epoch, and in it
        self._batches: Any = None
        if self._variant.takes_mean and n_features >= _LONG:
            size = max(_BATCH, n_atoms)
            self._batches = OnlineDictionaryLearner(D, 0, lam=lam, positive=positive, batch_size=size)
            self._batches._codes = self._codes
            self.block_size = self._batches.block_size

    @classmethod
    def default_n_epochs(cls, options):
        """Return the default number of epochs of the variant that the `SCCOptions` name."""
        return VARIANTS[options.variant].n_epochs

    @property
    def D(self):
        """Return the dictionary (n_atoms, n_features).

        It holds the current atoms or, if the variant takes means, their running mean scaled to norm 1.
        """
        if self._is_in_batches():
            return self._batches.D
        if not self._variant.takes_mean:
            return self._D
        return scale_to_sphere(self._atoms.mean[:, : self._D.shape[1]])

    def _is_in_batches(self):
        """Return whether the epoch goes in mini-batches: the first one, or any with non-negative atoms.

        After visits of data-parallel learning, visits follow.
        """
        if self._batches is None or not self.n_before:
            return self._batches is not None
        return self.positive.atoms and self._batches.state_arrays()["t"].any()

    def begin_epoch(self, rng):
        """Prepare an epoch: draw the orders of coordinate descent, and keep the last codes as start codes."""
        if self._is_in_batches():
            self._batches.begin_epoch(rng)
            return
        self._orders = _index_orders(self._variant.orders(len(self._D), rng), self._codes.now.atom.dtype)
        D, norm2, _, _, D8, rounding, _ = self._atoms
        kernels.round_dictionary(D, norm2, D8, rounding, 1.25 * max(float(np.abs(D).max()), 1e-30))
        self._codes.begin_epoch()
        self._rules = self._rules._replace(n_before=self.n_before)
        self._n_visits = 0
        self._atoms.h_now[:] = 0.0

    def step(self, X, rows):
        """Learn from the samples X (len(rows), n_features), in this order; `rows` are their indices."""
        if self._is_in_batches():
            self._batches.step(X, rows)
            return
        X = pad_to_chunks(X, self._D.dtype)
        rows = np.ascontiguousarray(rows, np.int64)
        codes, rules, scratch = self._codes, self._rules, self._scratch
        while len(rows):
            codes.reserve(len(self._D) + 16 * len(rows))
            past, now, n_used, at = codes.past, codes.now, codes.n_used, self._n_visits
            n = kernels.visit_samples(
                X, rows, self._orders, at, self._atoms, past, now, n_used, rules, scratch
            )
            self._n_visits += n
            codes.n_used = int(now.start[rows[n - 1]] + now.size[rows[n - 1]])
            X, rows = X[n:], rows[n:]

    def end_epoch(self):
        """Finish an epoch: reduce the sums h of squared codes, as the variant defines."""
        if self._is_in_batches():
            self._end_batches()
            return
        past, now = self._atoms.h_past, self._atoms.h_now
        past[:] = decay_squared_code_sums(past, now, self.options)
        self._end_visits()

    def end_part(self):
        """Finish a part of an epoch: keep the sums h of squared codes, because more samples follow."""
        if not self._is_in_batches():
            self._atoms.h_past[:] += self._atoms.h_now
            self._end_visits()

    def _end_batches(self):
        """Continue from the atoms of the mini-batches, with the sums h that as many visits would have."""
        state = self._batches.state_arrays()
        n = int(round(state["t"].item() * self._batches.options.batch_size))
        self._D[:] = self._atoms.mean[:, : self._D.shape[1]] = scale_to_sphere(self._batches.D)
        self._atoms.norm2[:] = self._D.any(axis=1)
        power = self._variant.recency + 1
        self._atoms.h_past[:] = state["A"].diagonal() * (float(n) ** power / power)
        self.n_before = n

    def _end_visits(self):
        """Count the samples of this epoch, and bring the mean of the atoms up to date."""
        every = self._rules.mean_every
        if every and self._n_visits % every:
            kernels.update_mean_atoms(self._atoms, self._rules, self._n_visits, self._n_visits % every)
        self.n_before += self._n_visits

    def start_from(self, shared):
        """Continue from the atoms and step sizes of data-parallel learning after a round.

        `shared` is a SharedAtoms.  The learner must have been made with its dictionary D.
        """
        if self._variant.takes_mean:
            self._D[:] = shared.moving
        self._atoms.norm2[:] = shared.norm2
        self._atoms.h_past[:] = shared.h_past + shared.h_now
        self.n_before = shared.n_visits

    def visit_part(self, X, rng, start, visit_weight):
        """Learn from one part of the samples in data-parallel learning, without storing codes.

        Parameters
        ----------
        X : array-like of rows (n_samples, n_features)
            Processed in random order.  Takes an integer array as index.
        rng : Generator
        start : SharedAtoms
            The atoms from which all parts of a round begin.
        visit_weight : float
            Weight of each sample in the gradient steps, larger than 1 if other parts learn at the same time.

        Returns
        -------
        atoms : SharedAtoms
            The atoms after the last sample.  `h_now` holds only what this part added to the sums of squared
            codes.
        """
        self.start_from(start)
        self._batches = None
        order = rng.permutation(len(X))
        self.begin_epoch(rng)
        self._rules = self._rules._replace(visit_weight=float(visit_weight))
        for first in range(0, len(order), self.block_size):
            rows = order[first : first + self.block_size]
            self._codes = CodeStore(len(rows), len(self._D), self._D.dtype)
            self.step(X[rows], np.arange(len(rows)))
        self._end_visits()
        moving = self._D.copy()
        D = self.D if self._variant.takes_mean else moving
        moving = moving[: len(start.moving)]
        return start._replace(D=D, norm2=self._atoms.norm2, h_now=self._atoms.h_now, moving=moving)

    def state_arrays(self):
        """Return the arrays that the next epoch needs, as a dict.

        They are the atoms, their squared norms and the sums h of squared codes. If the variant takes the mean
        of the atoms, it is there, too, and so are the arrays of mini-batches, if there are any.
        """
        atoms = self._atoms
        kept = {"D": self._D, "norm2": atoms.norm2, "h": atoms.h_past}
        if self._batches is not None:
            kept |= {f"batches_{name}": array for name, array in self._batches.state_arrays().items()}
        return kept | ({"mean": atoms.mean[:, : self._D.shape[1]]} if self._variant.takes_mean else {})


def scale_to_sphere(D):
    """Return a copy of D with rows of norm 1; zero rows stay."""
    norms = np.linalg.norm(D, axis=1, keepdims=True)
    return D / np.where(norms > 0, norms, 1)


def decay_squared_code_sums(h_past, h_now, options):
    """Return the sums h of squared codes with which the next epoch begins, a float64 array (n_atoms,).

    Parameters
    ----------
    h_past, h_now : float64 arrays (n_atoms,)
        Sums over the earlier epochs, and over the finished one.
    options : SCCOptions
        The variant decides whether `h_past` is added.
    """
    return h_past + h_now if VARIANTS[options.variant].keeps_all else h_now


def _rules(variant, options, lam, positive, n_atoms):
    """Collect the settings of SCC for compiled functions.

    Parameters
    ----------
    variant : SCCVariant
    options : SCCOptions
        Options that are not None replace the values of the variant.
    lam : float, weight of the L1 norm
    positive : PositiveConstraints
    n_atoms : int

    Returns
    -------
    rules : SCCRules
    """
    return kernels.SCCRules(
        lam,
        options.n_sweeps or variant.n_sweeps,
        variant.rescale_above,
        variant.max_step,
        variant.recency,
        variant.n_descents,
        n_before=0,
        visit_weight=1.0,
        mean_every=-(-n_atoms // 4) if variant.takes_mean else 0,  # an update takes as long as some visits
        positive_code=positive.code or None,
        positive_atoms=positive.atoms or None,
    )


def _index_orders(orders, dtype):
    """Build the SweepOrders of some orders of the atoms: the orders, and where each atom stands in them.

    Parameters
    ----------
    orders : int array (n_orders, n_atoms), a permutation in every row
    dtype : integer type of the result

    Returns
    -------
    orders : SweepOrders
    """
    places = np.empty(orders.shape, dtype)
    np.put_along_axis(places, orders, np.arange(orders.shape[1], dtype=dtype)[None], axis=1)
    return kernels.SweepOrders(np.pad(orders, ((0, 0), (0, GROUP))).astype(dtype), places)
