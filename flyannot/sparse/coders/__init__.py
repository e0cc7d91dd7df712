"""The table of coders.  To add one, write a file in this folder and add a line to CODERS.

A coder that uses D D^T has a line in _GRAM_IS_FLOAT64, too.  Otherwise it computes D D^T in every call.

Every coder solves the lasso for each sample x, over a fixed dictionary D:

    minimise over z   1/2 |x - z D|^2 + lam |z|_1.

A coder's file defines `encode`: the decorator `Coder`, applied to a function.  That function gets
`LassoInputs` for X and D and the other parameters below, all checked, and returns `Codes`: codes, and
duality gaps or None.  Gaps that a coder reports are hints: they are checked outside the coder, and all codes
of a call are measured if one of these gaps is wrong (module `verified`).  Codes that miss the tolerance are
solved again.

Orthogonal matching pursuit (module `omp`) solves another problem, and is called by itself.

The decorated function is

    encode(X, D, lam, *, tol=1e-4, max_sweeps=1000, start=None, gram=None, n_threads=1) -> Z

Parameters
----------
X : float array (n_samples, n_features)
    float32, otherwise float64.  Zero samples are valid.
D : float array (n_atoms, n_features)
    Atoms of any norm.  Codes of zero atoms are zero.
lam : float > 0, weight of the L1 norm
tol : float
    A sample is done when its duality gap is at most tol / 2 |x|^2, from its own residual in float64.
max_sweeps : int, most passes over all atoms for one sample
start : CSR matrix (n_samples, n_atoms), optional
    Codes to begin from.  The objective never rises from there.
gram : float array (n_atoms, n_atoms), optional
    D D^T, as `gram_for` computes it.
n_threads : int

Returns
-------
Z : CSR matrix (n_samples, n_atoms), float32 if X is, otherwise float64
    The same bits for any `n_threads`, and for X in one call or in several.

Raises
------
DataError
    If shapes do not fit, a sample or atom is not finite, or the type of X cannot hold the codes.
InputError
    If `lam` is not positive.
FlyannotError
    If a coder returns something that cannot be read as codes.

Warns
-----
WrongCodesWarning
    If a coder returned wrong codes or gaps.  They were measured, and solved again.
ConvergenceWarning
    If codes miss `tol`: how many, and the largest gap.  None is worse than the zero code.
"""

from flyannot.base.errors import FlyannotError
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


def find_coder(name, *, is_nonnegative=False):
    """Return the coder of a name in CODERS; for codes that must not be negative it is always `cd`'s.

    Raises
    ------
    FlyannotError
        If the object that CODERS names is not a `Coder`, so that its codes would not be verified.
    """
    from flyannot.sparse.coders.cd import encode_nonnegative
    from flyannot.sparse.coders.verified import Coder

    coder = encode_nonnegative if is_nonnegative else CODERS[name]
    if not isinstance(coder, Coder):
        place = CODERS.import_paths[name]
        raise FlyannotError(f"{place} is not a Coder", fix="make it by Coder(function): CONTRIBUTING.md")
    return coder


# The coders that use D D^T, and whether they need it in float64 instead of the type of D.
_GRAM_IS_FLOAT64 = {"cd": False, "feature-sign": True}


def gram_for(name, D):
    """Compute the Gram matrix D D^T in the form that a coder takes.

    Parameters
    ----------
    name : name in CODERS
    D : float array (n_atoms, n_features)

    Returns
    -------
    gram : float array (n_atoms, n_atoms), or None if the coder takes no Gram matrix
    """
    if name not in _GRAM_IS_FLOAT64:
        return None
    from flyannot.sparse.simd.product import gram_matrix  # imports numba, which `--help` must not

    return gram_matrix(D.astype("float64", copy=False) if _GRAM_IS_FLOAT64[name] else D)
