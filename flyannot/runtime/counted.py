"""A count of things in words: 1 image, 1,200 images."""


def counted(n, one, many=None):
    """The number and what is counted.

    Parameters
    ----------
    n : int
    one : what a single one is called, with what follows: "image", or "image is missing"
    many : what several are called; by default `one` with an s
    """
    return f"1 {one}" if n == 1 else f"{n:,} {many or f'{one}s'}"
