"""Reference implementations that the benchmarks measure against."""

from flyannot.sparse.coders import CODERS


def coder_or_reference(name):
    """The `encode` function of a coder, or of "lars"."""
    if name in CODERS:
        return CODERS[name]
    from flyannot.benchmarks.references import lars

    return {"lars": lars.encode}[name]
