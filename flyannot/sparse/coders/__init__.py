"""The table of coders.  To add one: a file beside this one and a line here.

A file defines `encode`, made by `Coder` of a function that gets
`LassoSamples` for X and D, and the rest of the below, checked.  It returns
`Codes`: codes, and gaps or None.  Reported gaps are hints: all are checked outside the coder, and the codes
of a call are measured if one gap is wrong.  Codes that miss the tolerance are mended.

A coder is a function

    encode(X, D, lam, *, tol=1e-4, max_sweeps=1000, start=None, gram=None, n_threads=1) -> Z

that minimises 1/2 |x - z D|^2 + lam |z|_1 for every sample x.

Parameters
----------
X : float array (n_samples, n_features)
    float32, or else float64.  Zero samples are valid.
D : float array (n_atoms, n_features)
    Atoms of any norm; codes of zero atoms are zero.
lam : float > 0, weight of the L1 norm
tol : float
    A sample is done when its duality gap is at most tol / 2 |x|^2, from its own residual in float64.
max_sweeps : int, most passes over all atoms for one sample
start : CSR matrix (n_samples, n_atoms), optional
    Codes to begin from.  The objective never rises from there.
gram : float array (n_atoms, n_atoms), optional
    D D^T, where the caller has it, as `gram_for` makes it.
n_threads : int

Returns
-------
Z : CSR matrix (n_samples, n_atoms), float32 if X is, else float64
    The same bits for any `n_threads`, and for X in one call or in several.

Raises
------
DataError
    If shapes do not fit, a sample or atom is not finite, or the type of X cannot hold the codes.
InputError
    If `lam` is not positive.
FlyannotError
    If a coder returns what cannot be read as codes.

Warns
-----
WrongCodesWarning
    If a coder returned wrong codes or gaps.  They were measured, and mended.
ConvergenceWarning
    If codes miss `tol`: how many, and the largest gap.  None is worse than the zero code.
"""

from flyannot.base.registry import Registry

_HERE = "flyannot.sparse.coders"

CODERS = Registry(
    "coder",
    {
        "cd": f"{_HERE}.cd:encode",
        "feature-sign": f"{_HERE}.feature_sign:encode",
        "siso": f"{_HERE}.siso:encode",
    },
)

# The coders that D D^T spares work, and whether it must be in float64: else it is in the type of D.
_GRAM_IS_FLOAT64 = {"cd": False, "feature-sign": True}


def gram_for(name, D):
    """D D^T as the coder of that name takes it, or None where it takes none."""
    if name not in _GRAM_IS_FLOAT64:
        return None
    from flyannot.sparse.simd.product import gram_of  # numba: `--help` stays quick

    return gram_of(D.astype("float64", copy=False) if _GRAM_IS_FLOAT64[name] else D)
