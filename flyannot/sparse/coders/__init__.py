"""The table of coders.  To add one: a file beside this one and a line here.

A coder is a function

    encode(X, D, lam, *, tol=1e-4, max_sweeps=1000, start=None, gram=None, n_threads=1) -> Z

X (n_samples, n_features), D (n_atoms, n_features), Z CSR (n_samples, n_atoms) in X's dtype.  It ends
when every sample's duality gap is at most tol * 1/2 |x|^2, or after max_sweeps.  `start` holds codes
to begin from (CSR), `gram` is D D^T where the caller has it.  Zero atoms and zero samples are valid.
"""

from flyannot.options.registry import Registry

_HERE = "flyannot.sparse.coders"

CODERS = Registry(
    "coder",
    {
        "cd": f"{_HERE}.cd:encode",
        "feature-sign": f"{_HERE}.feature_sign:encode",
        "siso": f"{_HERE}.siso:encode",
        "hash-siso": f"{_HERE}.hash_siso:encode",
    },
)

# The coders that D D^T spares work, and whether it must be in float64: else it is in the type of D.
_NEEDS_EXACT_GRAM = {"cd": False, "feature-sign": True}


def gram_for(name, D):
    """D D^T as the coder of that name takes it, or None where it takes none."""
    if name not in _NEEDS_EXACT_GRAM:
        return None
    from flyannot.sparse.simd.product import gram_of  # numba: `--help` stays quick

    return gram_of(D.astype("float64", copy=False) if _NEEDS_EXACT_GRAM[name] else D)
