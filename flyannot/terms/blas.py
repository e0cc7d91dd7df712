"""BLAS and LAPACK without Python's global lock, so that several threads compute at once.

SciPy's own functions keep the lock.  The addresses of the functions are those that SciPy gives to Cython.
"""

import ctypes
import math
from functools import cache
from threading import local

import numpy as np

_memory = local()  # of each thread


def scratch_array(name, shape):
    """Return an array, zeros at first, which this thread gets again when it asks for the same name.

    The first use of new memory takes longer than the sums of a Newton step.  Of symmetric matrices only one
    triangle is written; zeros in the other one cannot overflow when they are multiplied.
    """
    size = math.prod(shape)
    if len(getattr(_memory, name, ())) < size:
        setattr(_memory, name, np.zeros(size))
    return getattr(_memory, name)[:size].reshape(shape)


def call_blas(name, *arguments):
    """Call a function of BLAS or LAPACK without Python's global lock, which SciPy's own functions keep.

    A matrix with rows in order is a transposed matrix for these functions, so "U" is the lower triangle.

    Parameters
    ----------
    name : str
    arguments : bytes, int, float, or a float64 array with rows in order, which the function may change
    """
    types: dict = {int: ctypes.c_int, float: ctypes.c_double, bytes: ctypes.c_char}
    given = (a.ctypes if isinstance(a, np.ndarray) else ctypes.byref(types[type(a)](a)) for a in arguments)
    find_blas(name)(*given)


@cache
def find_blas(name):
    """Return a function of BLAS or LAPACK by name; its arguments are addresses."""
    from scipy.linalg import cython_blas, cython_lapack

    capsule = (cython_blas.__pyx_capi__ | cython_lapack.__pyx_capi__)[name]
    api = ctypes.pythonapi
    read_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", api))
    types = ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p
    read_address = ctypes.PYFUNCTYPE(*types)(("PyCapsule_GetPointer", api))
    return ctypes.CFUNCTYPE(None)(read_address(capsule, read_name(capsule)))
