"""The table of coders.  To add one: a file beside this one and a line here.

A coder is a function

    encode(X, D, lam, *, tol=1e-4, max_sweeps=1000, start=None, gram=None, n_threads=1) -> Z

X (n_samples, n_features), D (n_atoms, n_features), Z CSR (n_samples, n_atoms) in X's dtype.  It ends
when every sample's duality gap is at most tol * 1/2 |x|^2, or after max_sweeps.  `start` holds codes
to begin from (CSR), `gram` is D D^T where the caller has it.  Zero atoms and zero samples are legal.
"""

from importlib import import_module

_WHERE = {
    "cd": "cd.encode:encode",
    "feature-sign": "feature_sign.encode:encode",
    "siso": "siso.encode:encode",
    "hash-siso": "siso.hash_siso:encode",
}

CODERS = tuple(_WHERE)

# Those that solve with D D^T in the type of D, and those that want it exact.  The others make what they need.
_TAKE_ROUNDED_GRAM, _TAKE_EXACT_GRAM = ("cd",), ("feature-sign",)


def coder(name):
    """The `encode` function of a coder of the table; imported on demand, so that `--help` stays quick."""
    module, _, attribute = _WHERE[name].partition(":")
    return getattr(import_module(f"flyannot.sparse.coders.{module}"), attribute)


def gram_for(name, D):
    """D D^T as the coder of that name takes it, or None where it takes none."""
    from flyannot.sparse.simd.product import gram_of  # numba: `--help` stays quick

    if name in _TAKE_EXACT_GRAM:
        D = D.astype("float64", copy=False)
    elif name not in _TAKE_ROUNDED_GRAM:
        return None
    return gram_of(D)
