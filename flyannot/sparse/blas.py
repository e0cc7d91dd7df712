"""BLAS on one thread: its idle threads spin on beside ours, and bits may depend on how many there are."""

from functools import lru_cache

from threadpoolctl import ThreadpoolController


def one_blas_thread():
    """A context in which the BLAS libraries that were loaded at the first call have one thread."""
    return _blas().limit(limits=1)


@lru_cache(maxsize=1)
def _blas():  # looking for the libraries takes longer than a short call of a coder
    return ThreadpoolController().select(user_api="blas")
