"""Masked online dictionary learning (MODL): online learning that looks at a part of every sample.

Source
------
Mensch, Mairal, Thirion and Varoquaux, "Dictionary learning for massive matrix factorization", ICML
2016.  Three departures.  Their Eq. 21 is not the projection: an atom that shrinks again is inflated by
it; here an atom is f / s with s never falling, which is exact.  All samples of a mini-batch share one
mask.  And their row of B for a feature is a mean over the mini-batches that saw the feature, A over all
of them: with few samples the two do not fit, and a perfect dictionary is moved away.  The default
keeps B - A D instead, as a mean of Z'(X - Z D): with one mask for all features that is the same, and a
perfect dictionary stays where it is, whatever the masks.
"""

import numpy as np

from flyannot.errors import InputError
from flyannot.runtime.validation import chosen
from flyannot.sparse.coders.missing_values import ridge_of_observed, split_missing
from flyannot.sparse.learners.online.kernels import L1_WITHIN, L2_LAZY, L2_WITHIN
from flyannot.sparse.learners.online.ol import OL

# (ball, projection) -> what the kernels do
BALLS = {
    ("l2", "exact"): L2_LAZY,
    ("l2", "approximate"): L2_WITHIN,
    ("l1", "exact"): L1_WITHIN,  # the same, and exact, where the mask is everything
    ("l1", "approximate"): L1_WITHIN,
}


class MODL(OL):
    """Learner of the table of learners: masked online dictionary learning.

    Every mini-batch sees a mask of s of the p features: random permutations of the features, cut into
    `reduction` chunks.  Codes minimise 1/2 |M (x - z D)|^2 + lam s/p penalty(z); A is updated as in OL,
    the rows of B in the mask with counts of their own; the pass over the atoms changes their masked
    entries only.  All but the solution for the codes costs 1 / reduction of what OL costs.

    NaN in a sample is a missing value: no mask selects it, and s counts what is left.  With reduction 1
    and nothing missing MODL is OL, bit for bit.

    Masks pay when there are many more features than atoms, as in whole pictures (p = 40,960).  On
    descriptors (p = 128) the codes and all that does not depend on p dominate, a mask of 128 / r features
    says little about a sample, and MODL gains little.

    Parameters
    ----------
    D, n_samples, lam, beta, memory, tol, replace_after : as OL
    batch_size : int > 0
    reduction : int from 1 to n_features
        The number of masks that a permutation of the features is cut into.
    ball : "l2" or "l1"
        Where the atoms are kept; "l1" makes them sparse.  Initial atoms outside are scaled into it.
    projection : "approximate" or "exact"
        "approximate" projects the masked entries of an atom with its others as they are: the minimum over
        the ball of what the mask can change.  "exact" projects whole atoms, so that entries outside the
        mask shrink too, at no cost; an entry then grows by being seen.  The same without a mask.
    code_penalty : "l1" or "l2"
        penalty(z) is |z|_1, or |z|^2 (without a half, as in the paper).
    history : "residuals", "products" or None
        What is remembered of a feature: B - A D as the mean of Z'(X - Z D) over the mini-batches that saw
        it, or B as the mean of Z'X (the paper).  None is "residuals" behind a mask, else "products", which
        is the same and costs less.  With projection "exact", residuals lag behind what it shrinks.

    Raises
    ------
    InputError
        If an option is out of its range, or ball "l1" is to be exact behind a mask.
    """

    def __init__(
        self, D, n_samples, *, reduction=1, ball="l2", projection="approximate", code_penalty="l1",
        history=None, batch_size=40, **options,
    ):  # fmt: skip
        _check_options(np.shape(D)[1], reduction, ball, projection, code_penalty, history)
        self.reduction, self.code_penalty = reduction, code_penalty
        self.history = history or ("residuals" if reduction > 1 else "products")
        self.ball = BALLS[ball, projection]
        D = np.asarray(D)
        norms = np.linalg.norm(D, ord=int(ball[1]), axis=1, keepdims=True)
        outside = norms > 1 + 1e-6
        super().__init__(
            np.divide(D, norms, out=D.copy(), where=outside) if outside.any() else D,
            n_samples,
            batch_size=batch_size,
            **options,
        )
        self._masks = []

    @property
    def B(self):
        """The weighted mean of z'x, (n_atoms, n_features), or what its residuals make of it: a copy."""
        return super().B + (self._A @ self.D if self.history == "residuals" else 0)

    def begin_epoch(self, rng):
        """As OL; the masks begin with a new permutation."""
        super().begin_epoch(rng)
        self._masks = []

    def _next_features(self):
        if self.reduction == 1:
            return None
        if not self._masks:
            features = self._rng.permutation(len(self._history))
            self._masks = np.array_split(features, self.reduction)
        return np.sort(self._masks.pop())

    def _encode(self, X, observed, F):
        if self.code_penalty == "l1":
            return super()._encode(X, observed, F)
        return ridge_of_observed(X, observed, F, self.lam / len(self._history))

    def _split_missing(self, X):
        return split_missing(X)

    def _update_atoms(self, Z, X, observed, F, features):
        if self.history == "products":
            super()._update_atoms(Z, X, observed, F, features)
            return
        R = X - Z @ F.T
        if observed is not None:
            R *= observed
        H = self._add_to_history(Z, R, observed, features)
        self._atoms.update_with_residuals(F, H, self._A, features, self._rng)
        self._keep_history(H, features)


def _check_options(n_features, reduction, ball, projection, code_penalty, history):
    for name, value, legal in (
        ("ball", ball, ("l2", "l1")),
        ("projection", projection, ("exact", "approximate")),
        ("code_penalty", code_penalty, ("l1", "l2")),
        ("history", history or "products", ("residuals", "products")),
    ):
        chosen(name, value, legal)
    if not 1 <= reduction <= n_features:
        raise InputError(
            f"MODL cannot cut {n_features} features into {reduction} masks",
            fix=f"choose reduction from 1 to {n_features}",
        )
    if (ball, projection) == ("l1", "exact") and reduction > 1:
        raise InputError(
            "MODL has no exact projection onto the l1 ball behind a mask", fix="use --projection approximate"
        )
