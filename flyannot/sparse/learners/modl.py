"""Masked online dictionary learning (MODL): online learning from a part of the features of every sample.

With M a random mask of s of the p features, the code of a sample x minimises

    1/2 |M (x - z D)|^2 + lam s/p |z|_1,

and a pass changes only the masked entries of the atoms.

Source
------
Mensch et al., ICML 2016, with three departures.  Their Eq. 21 is not the projection, because an atom that
shrinks again is inflated by it.  Here an atom is f / s with s never falling, which is exact.  A mini-batch
shares one mask.  Their row of B for a feature is a mean over the mini-batches that saw the feature, but A is
a mean over all of them.  With few samples the two do not fit.  The default keeps B - A D instead, as a mean
of Z'(X - Z D), so a perfect dictionary does not change.
"""

import warnings
from dataclasses import dataclass

import numpy as np

from flyannot.base.errors import InputError
from flyannot.base.options import ChoiceType, FloatType, IntegerType, option
from flyannot.sparse.learners.lazy_atoms import L1_WITHIN, L2_LAZY, L2_WITHIN
from flyannot.sparse.learners.ol import OnlineDictionaryLearner, OnlineDictionaryOptions
from flyannot.sparse.missing_values import solve_observed_ridge
from flyannot.sparse.stored_codes import EITHER_SIGN

LEAST_PER_ATOM = 20  # features of a mask per atom, as in MODL's figures in benchmarks/items.toml
# (ball, projection) -> the ball of the kernels
BALLS = {
    ("l2", "exact"): L2_LAZY,
    ("l2", "approximate"): L2_WITHIN,
    ("l1", "exact"): L1_WITHIN,  # exact if the mask is all features
    ("l1", "approximate"): L1_WITHIN,
}


@dataclass(frozen=True, kw_only=True)
class MODLOptions(OnlineDictionaryOptions):
    """Options of MODL."""

    batch_size: int = option(40, IntegerType(), "Patches of a mini-batch.")
    recency: float = option(0.0, FloatType(least=0), "As for ol: mini-batch t counts t^recency times.")
    reduction: int = option(
        1,
        IntegerType(),
        "Every step reads one of this many parts of the features. It saves time if a part has 20 features "
        "per atom or more, as for whole pictures. For descriptors of 128 features, leave it at 1.",
    )
    ball: str = option(
        "l2",
        ChoiceType(("l2", "l1")),
        "Ball that atoms stay in; l1 makes them sparse. Initial atoms outside it are scaled.",
    )
    projection: str = option(
        "approximate",
        ChoiceType(("approximate", "exact")),
        "Entries of an atom that a step projects: approximate, the masked ones, with the others fixed; "
        "exact, all of them, so that the others shrink, too.",
    )
    code_penalty: str = option(
        "l1", ChoiceType(("l1", "l2")), "Lasso or ridge codes while learning (|z|^2, without a half)."
    )
    history: str | None = option(
        None,
        ChoiceType(("residuals", "products")),
        "Memory of a feature: residuals is B - A D as the mean of Z'(X - Z D) over the mini-batches that "
        "saw it; products is B as the mean of Z'X, as in the paper, which moves even perfect atoms.",
        stands_for="residuals with masks, otherwise products, which is then the same and faster",
    )

    def __post_init__(self):
        super().__post_init__()
        if (self.ball, self.projection) == ("l1", "exact") and self.reduction > 1:
            what = "there is no exact projection onto the l1 ball behind a mask"
            raise InputError(what, fix="use projection = approximate")


class MODL(OnlineDictionaryLearner):
    """The learner MODL: online dictionary learning that uses some features of every mini-batch.

    Every mini-batch has a mask of s of the p features.  Random permutations of the features are cut into
    `reduction` masks.  With M the mask, codes minimise 1/2 |M (x - z D)|^2 + lam s/p |z|_1, or with |z|^2
    for `code_penalty` "l2".  The update changes only the masked entries of the atoms.  Everything except
    the codes costs 1 / reduction of its cost in online learning.

    NaN in a sample is a missing value.  No mask selects it, and s counts the other features.  With
    reduction 1 and nothing missing, MODL equals online learning bit for bit.  With projection "exact", the
    residuals of the history do not follow the entries that the projection shrinks.

    Parameters
    ----------
    D : float array (n_atoms, n_features)
        Initial atoms, copied, and scaled to norm 1 if they are longer.
    n_samples : int
    lam : float > 0, weight of the L1 norm
    positive : PositiveConstraints
        Ridge codes cannot be constrained.
    options : fields of `MODLOptions`

    Warns
    -----
    UserWarning
        If a mask has fewer than LEAST_PER_ATOM features per atom, as for descriptors (p = 128).  Codes from
        such masks are poor, and their errors stay in the means that atoms are updated from.

    Source
    ------
    Mensch et al., ICML 2016.
    """

    Options = MODLOptions

    def __init__(self, D, n_samples, *, lam, positive=EITHER_SIGN, **options):
        chosen = self.Options(**options)
        if positive.code and chosen.code_penalty == "l2":
            what = "ridge codes cannot exclude negative values"
            raise InputError(what, fix="leave out code_penalty, or positive codes")
        D = np.asarray(D)
        if chosen.reduction > D.shape[1]:
            what = f"reduction is {chosen.reduction}, and must be at most the {D.shape[1]} features"
            raise InputError(what, fix=f"choose reduction from 1 to {D.shape[1]}")
        self.ball = BALLS[chosen.ball, chosen.projection]
        self._history_kind = chosen.history or ("residuals" if chosen.reduction > 1 else "products")
        if chosen.reduction > 1 and (seen := D.shape[1] / chosen.reduction / max(1, len(D))) < LEAST_PER_ATOM:
            said = f"a mask has {seen:.2g} features per atom; with fewer than {LEAST_PER_ATOM} codes are poor"
            warnings.warn(f"{said}: use a smaller reduction, or scc", stacklevel=2)
        norms = np.linalg.norm(D, ord=int(chosen.ball[1]), axis=1, keepdims=True)
        outside = norms > 1 + 1e-6
        D = np.divide(D, norms, out=D.copy(), where=outside) if outside.any() else D
        super().__init__(D, n_samples, lam=lam, positive=positive, **options)
        self._masks = []

    def begin_epoch(self, rng):
        """Prepare an epoch of online learning, and draw a new permutation of the features for its masks."""
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
        return solve_observed_ridge(X, observed, F, self.lam / len(self._history))

    def _update_atoms(self, Z, X, observed, F, features):
        if self._history_kind == "products":
            super()._update_atoms(Z, X, observed, F, features)
            return
        R = X - Z @ F.T
        if observed is not None:
            R *= observed
        H = self._add_to_history(Z, R, observed, features)
        self._atoms.update(F, H, self._A, features, self._rng, is_residual=True)
        self._write_history_back(H, features)
