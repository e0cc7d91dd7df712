"""The sizes of the patches that are cut from one image."""


def patch_sides(patch_px):
    """The sides of the patches in pixels, each once, small ones first."""
    return tuple(sorted(set(patch_px)))
