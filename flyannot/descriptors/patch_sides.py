"""The sizes of the patches that are cut from one image."""


def window_sides(patch_px):
    """The sides of the windows in pixels, small ones first: from one number or several."""
    return (patch_px,) if isinstance(patch_px, int) else tuple(sorted({int(side) for side in patch_px}))
