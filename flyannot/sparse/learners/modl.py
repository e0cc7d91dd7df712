"""Masked online dictionary learning (MODL): online learning from a part of every sample.

Source
------
Mensch et al., ICML 2016.  Three departures.  Their Eq. 21 is not the projection: an atom that shrinks again
is inflated by it; here an atom is f / s with s never falling, which is exact.  A mini-batch shares one mask.
And their row of B for a feature is a mean over the mini-batches that saw it, A over all: with few samples the
two do not fit.  The default keeps B - A D instead, as a mean of Z'(X - Z D): so a perfect dictionary stays.
"""

import warnings
from dataclasses import dataclass

import numpy as np

from flyannot.base.errors import InputError
from flyannot.base.options import Choice, Count, Real, option
from flyannot.sparse.learners.lazy_atoms import L1_WITHIN, L2_LAZY, L2_WITHIN
from flyannot.sparse.learners.ol import OL, OLOptions
from flyannot.sparse.missing_values import ridge_of_observed, split_missing

LEAST_PER_ATOM = 20  # features of a mask; the regime of MODL's figures in benchmarks/items.toml
# (ball, projection) -> what the kernels do
BALLS = {
    ("l2", "exact"): L2_LAZY,
    ("l2", "approximate"): L2_WITHIN,
    ("l1", "exact"): L1_WITHIN,  # the same, and exact, where the mask is everything
    ("l1", "approximate"): L1_WITHIN,
}


@dataclass(frozen=True, kw_only=True)
class MODLOptions(OLOptions):
    """How MODL learns."""

    batch_size: int = option(40, Count(), "Patches of a mini-batch.")
    recency: float = option(0.0, Real(least=0), "As of ol: mini-batch t counts t^recency times.")
    reduction: int = option(
        1,
        Count(),
        "Every step reads one of so many parts of the features. Pays where a part has 20 features an atom or "
        "more, as of whole pictures; on descriptors of 128 features it costs more than it saves.",
    )
    ball: str = option(
        "l2",
        Choice(("l2", "l1")),
        "Where atoms are kept; l1 makes them sparse. Initial atoms outside are scaled into it.",
    )
    projection: str = option(
        "approximate",
        Choice(("approximate", "exact")),
        "Of an atom behind a mask: its masked entries with the others as they are, the minimum over the ball "
        "of what the mask can change; or the whole of it, so that the others shrink too.",
    )
    code_penalty: str = option(
        "l1", Choice(("l1", "l2")), "Lasso or ridge codes while learning (|z|^2, without a half)."
    )
    history: str | None = option(
        None,
        Choice(("residuals", "products")),
        "What is remembered of a feature: B - A D as the mean of Z'(X - Z D) over the mini-batches that saw "
        "it; or B as the mean of Z'X, as in the paper, which moves even perfect atoms behind masks.",
        stands_for="residuals behind masks, else products, which is the same there and costs less",
    )

    def __post_init__(self):
        super().__post_init__()
        if (self.ball, self.projection) == ("l1", "exact") and self.reduction > 1:
            raise InputError(
                "there is no exact projection onto the l1 ball behind a mask",
                fix="use projection = approximate",
            )


class MODL(OL):
    """Masked online dictionary learning, as the table of learners describes a learner.

    Every mini-batch sees a mask of s of the p features: random permutations of the features, cut into
    `reduction` chunks.  Codes minimise 1/2 |M (x - z D)|^2 + lam s/p penalty(z); A is updated as in OL,
    the rows of B in the mask with counts of their own; the pass over the atoms changes their masked
    entries only.  All but the solution for the codes costs 1 / reduction of what OL costs.

    NaN in a sample is a missing value: no mask selects it, and s counts what is left.  With reduction 1
    and nothing missing MODL is OL, bit for bit.  With projection "exact", residuals of the history lag
    behind what it shrinks.

    Warns where a mask has fewer than LEAST_PER_ATOM features an atom, as of descriptors (p = 128): codes
    behind it are poor, and their errors stay in A and B.
    """

    Options = MODLOptions
    takes_missing_values = True

    def __init__(self, D, n_samples, *, lam, **options):
        chosen, D = self.Options(**options), np.asarray(D)
        if chosen.reduction > D.shape[1]:
            raise InputError(
                f"reduction is {chosen.reduction}, and must be at most the {D.shape[1]} features",
                fix=f"choose reduction from 1 to {D.shape[1]}",
            )
        self.ball = BALLS[chosen.ball, chosen.projection]
        self._history_kind = chosen.history or ("residuals" if chosen.reduction > 1 else "products")
        if chosen.reduction > 1 and (seen := D.shape[1] / chosen.reduction / max(1, len(D))) < LEAST_PER_ATOM:
            said = f"a mask has {seen:.2g} features an atom; below {LEAST_PER_ATOM} masks lose more than they"
            warnings.warn(f"{said} save: use a smaller reduction, or scc", stacklevel=2)
        norms = np.linalg.norm(D, ord=int(chosen.ball[1]), axis=1, keepdims=True)
        outside = norms > 1 + 1e-6
        D = np.divide(D, norms, out=D.copy(), where=outside) if outside.any() else D
        super().__init__(D, n_samples, lam=lam, **options)
        self._masks = []

    def begin_epoch(self, rng):
        """As OL; the masks begin with a new permutation."""
        super().begin_epoch(rng)
        self._masks = []

    def _next_features(self):
        if self.options.reduction == 1:
            return None
        if not self._masks:
            features = self._rng.permutation(len(self._history))
            self._masks = np.array_split(features, self.options.reduction)
        return np.sort(self._masks.pop())

    def _encode(self, X, observed, F):
        if self.options.code_penalty == "l1":
            return super()._encode(X, observed, F)
        return ridge_of_observed(X, observed, F, self.lam / len(self._history))

    def _split_missing(self, X):
        return split_missing(X)

    def _update_atoms(self, Z, X, observed, F, features):
        if self._history_kind == "products":
            super()._update_atoms(Z, X, observed, F, features)
            return
        R = X - Z @ F.T
        if observed is not None:
            R *= observed
        H = self._add_to_history(Z, R, observed, features)
        self._atoms.update_with_residuals(F, H, self._A, features, self._rng)
        self._keep_history(H, features)
