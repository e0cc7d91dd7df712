"""Where the terms of the synthetic embryos lie: regions of a body, for each stage range.

The names are BDGP's; the layout is a sketch after the images of BDGP, good enough to look like them
and no more.  Coordinates are those of `embryo_shapes`.
"""

from typing import NamedTuple

from flyannot.dataset.synthetic.shapes import both, dots, rows, tube


class Region(NamedTuple):
    """One term: how often a gene has it, with which others, and how it looks from two sides."""

    frequency: float
    tissue: str  # terms of one tissue tend to come together
    texture: str  # a key of embryo_picture.TEXTURES
    lateral: tuple
    dorsal: tuple  # empty where the region cannot be seen from above


_WHOLE = tube(1.15, -0.75, 0.0, 0.75, 0.0)
_CORD = (0.13, -0.45, 0.62, 0.0, 0.74, 0.5, 0.66, 0.72, 0.4)
_BAND = (0.14, -0.38, 0.52, 0.45, 0.55, 0.74, 0.15, 0.62, -0.3, 0.3, -0.42)  # the extended germ band
_OUTER = (0.12, -0.4, 0.84, 0.5, 0.82, 0.88, 0.2, 0.8, -0.45, 0.5, -0.75)  # and the layer outside it

_EARLY = {
    "maternal": Region(0.40, "maternal", "yolk", _WHOLE, _WHOLE),
    "pole plasm": Region(0.25, "germ", "solid", tube(0.16, 0.96, -0.12, 0.96, 0.12), tube(0.2, 0.96, 0.0)),
    "yolk nuclei": Region(
        0.20, "endoderm", "dots", tube(0.5, -0.5, 0.0, 0.5, 0.0), tube(0.5, -0.5, 0, 0.5, 0)
    ),
    "apically cleared": Region(
        0.15, "maternal", "solid", tube(0.55, -0.6, 0, 0.6, 0), tube(0.55, -0.6, 0, 0.6, 0)
    ),
    "anterior pole": Region(0.20, "head", "solid", tube(0.3, -0.95, 0.0), tube(0.3, -0.95, 0.0)),
    "strong ubiquitous": Region(0.12, "all", "sheet", _WHOLE, _WHOLE),
}

_BLASTODERM = {
    "dorsal ectoderm anlage in statu nascendi": Region(
        0.32, "ectoderm", "sheet", tube(0.36, -0.45, -0.75, 0.55, -0.75), tube(0.38, -0.45, 0, 0.55, 0)
    ),
    "ventral ectoderm anlage in statu nascendi": Region(
        0.28, "ectoderm", "sheet", tube(0.27, -0.45, 0.35, 0.6, 0.35), both(0.16, -0.4, 0.9, 0.55, 0.9)
    ),
    "procephalic ectoderm anlage in statu nascendi": Region(
        0.28, "head", "sheet", tube(0.36, -0.68, -0.35, -0.58, 0.05), tube(0.42, -0.64, 0, -0.58, 0)
    ),
    "mesoderm anlage in statu nascendi": Region(
        0.25, "mesoderm", "solid", tube(0.24, -0.5, 0.92, 0.62, 0.92), ()
    ),
    "anterior endoderm anlage in statu nascendi": Region(
        0.22, "endoderm", "solid", tube(0.28, -0.93, 0.3, -0.86, 0.42), tube(0.2, -0.96, 0)
    ),
    "posterior endoderm anlage in statu nascendi": Region(
        0.22, "endoderm", "solid", tube(0.28, 0.82, -0.4, 0.9, -0.2), tube(0.3, 0.84, 0)
    ),
    "pole cell": Region(0.20, "germ", "dots", tube(0.17, 0.94, -0.2, 0.97, 0.0), tube(0.2, 0.95, 0)),
    "gap": Region(
        0.18,
        "pattern",
        "sheet",
        tube(0.22, -0.28, -1, -0.25, 1) + tube(0.22, 0.42, -1, 0.38, 1),
        tube(0.22, -0.28, -1, -0.28, 1) + tube(0.22, 0.42, -1, 0.42, 1),
    ),
    "pair rule": Region(
        0.15,
        "pattern",
        "sheet",
        rows(7, 0.065, (-0.45, 0.68), (-1, 1)),
        rows(7, 0.065, (-0.45, 0.68), (-1, 1)),
    ),
    "amnioserosa anlage in statu nascendi": Region(
        0.12, "pattern", "sheet", tube(0.12, -0.3, -0.95, 0.5, -0.95), tube(0.12, -0.3, 0, 0.5, 0)
    ),
    "ubiquitous": Region(0.15, "all", "sheet", _WHOLE, _WHOLE),
}

_GASTRULA = {
    "trunk mesoderm primordium P2": Region(
        0.34, "mesoderm", "solid", tube(*_BAND), both(0.14, 0, 0.35, 0.7, 0.3)
    ),
    "posterior endoderm primordium P2": Region(
        0.32, "endoderm", "solid", tube(0.25, 0.4, -0.05, 0.52, -0.12), tube(0.3, 0.38, 0)
    ),
    "head mesoderm primordium P4": Region(
        0.28, "mesoderm", "solid", tube(0.19, -0.62, 0.5, -0.45, 0.32), both(0.14, -0.55, 0.4)
    ),
    "anterior endoderm anlage": Region(
        0.28, "endoderm", "solid", tube(0.18, -0.95, 0.25, -0.83, 0.5, -0.74, 0.48), tube(0.2, -0.92, 0)
    ),
    "ventral ectoderm primordium P2": Region(
        0.24, "ectoderm", "sheet", tube(*_OUTER), both(0.13, -0.3, 0.88, 0.6, 0.85)
    ),
    "procephalic ectoderm anlage": Region(
        0.24, "head", "sheet", tube(0.33, -0.66, -0.4, -0.5, -0.35), tube(0.45, -0.58, -0.1, -0.58, 0.1)
    ),
    "hindgut anlage": Region(0.16, "gut", "solid", tube(0.12, 0.12, -0.55, 0.26, -0.4), tube(0.14, 0.15, 0)),
    "pole cell": Region(0.16, "germ", "dots", tube(0.13, 0.3, -0.32), tube(0.14, 0.28, 0)),
    "foregut anlage": Region(0.14, "gut", "solid", tube(0.13, -0.72, 0.72, -0.66, 0.6), ()),
    "amnioserosa anlage": Region(
        0.12, "pattern", "sheet", tube(0.13, -0.18, -0.85, 0.0, -0.45), tube(0.18, -0.12, -0.4, -0.12, 0.4)
    ),
    "ubiquitous": Region(0.14, "all", "sheet", _WHOLE, _WHOLE),
}

_GERM_BAND = {
    "trunk mesoderm primordium": Region(
        0.33, "mesoderm", "fibres", tube(*_BAND), both(0.15, -0.1, 0.4, 0.7, 0.35)
    ),
    "posterior endoderm primordium": Region(
        0.33, "endoderm", "solid", tube(0.24, 0.08, 0.02, 0.2, -0.1), tube(0.3, 0.1, 0, 0.25, 0)
    ),
    "anterior endoderm primordium": Region(
        0.30, "endoderm", "solid", tube(0.16, -0.86, 0.22, -0.6, 0.12), tube(0.17, -0.85, 0, -0.62, 0)
    ),
    "head mesoderm primordium P2": Region(
        0.24, "mesoderm", "dots", tube(0.2, -0.6, 0.45, -0.42, 0.38), both(0.15, -0.5, 0.42)
    ),
    "ventral nerve cord primordium P3": Region(
        0.24, "nerve", "dots", tube(*_OUTER), both(0.13, -0.2, 0.8, 0.7, 0.6)
    ),
    "procephalic ectoderm primordium": Region(
        0.22, "head", "sheet", tube(0.3, -0.68, -0.4, -0.5, -0.5), both(0.25, -0.6, 0.5)
    ),
    "dorsal ectoderm primordium": Region(
        0.18, "ectoderm", "sheet", tube(0.15, -0.2, 0.18, 0.4, 0.22, 0.6, 0.0), both(0.14, 0, 0.62, 0.6, 0.55)
    ),
    "inclusive hindgut primordium": Region(
        0.18, "gut", "solid", tube(0.12, -0.12, -0.5, 0.05, -0.35), tube(0.14, -0.05, 0)
    ),
    "amnioserosa": Region(
        0.14,
        "pattern",
        "sheet",
        tube(0.12, -0.3, -0.7, -0.12, -0.1, 0.3, 0.15),
        tube(0.12, -0.2, -0.6, -0.2, 0.6),
    ),
    "germ cell": Region(0.14, "germ", "dots", tube(0.13, 0.3, -0.2), tube(0.14, 0.3, 0)),
    "ubiquitous": Region(0.14, "all", "sheet", _WHOLE, _WHOLE),
}

_RETRACTION = {
    "posterior midgut primordium": Region(
        0.34, "endoderm", "solid", tube(0.2, 0.25, -0.2, 0.62, -0.1), tube(0.3, 0.2, 0, 0.4, 0)
    ),
    "anterior midgut primordium": Region(
        0.32, "endoderm", "solid", tube(0.15, -0.55, 0.15, -0.15, 0.3), tube(0.25, -0.62, 0, -0.5, 0)
    ),
    "brain primordium": Region(
        0.28, "nerve", "dots", tube(0.28, -0.72, -0.4, -0.55, -0.5), both(0.25, -0.66, 0.42)
    ),
    "ventral nerve cord primordium": Region(
        0.28, "nerve", "dots", tube(*_CORD, 0.7, -0.1), both(0.13, -0.3, 0.75, 0.5, 0.75)
    ),
    "trunk mesoderm primordium": Region(
        0.22,
        "mesoderm",
        "fibres",
        rows(9, 0.1, (-0.3, 0.7), (0.2, 0.5)),
        rows(9, 0.09, (-0.3, 0.7), (-0.75, -0.6)) + rows(9, 0.09, (-0.3, 0.7), (0.6, 0.75)),
    ),
    "dorsal epidermis primordium": Region(
        0.20,
        "ectoderm",
        "sheet",
        tube(0.16, -0.2, -0.1, 0.5, 0.12, 0.85, -0.15),
        both(0.14, -0.3, 0.5, 0.7, 0.45),
    ),
    "hindgut proper primordium": Region(
        0.18, "gut", "solid", tube(0.1, 0.62, -0.62, 0.35, -0.5, 0.22, -0.6), tube(0.11, 0.6, 0, 0.85, 0)
    ),
    "foregut primordium": Region(
        0.16, "gut", "solid", tube(0.11, -0.82, 0.3, -0.6, -0.02), tube(0.12, -0.95, 0, -0.78, 0)
    ),
    "tracheal primordium": Region(
        0.14,
        "trachea",
        "solid",
        dots(10, 0.07, (-0.25, 0.75), 0.12),
        dots(10, 0.06, (-0.25, 0.75), 0.55, mirrored=True),
    ),
    "salivary gland primordium": Region(0.14, "trachea", "solid", tube(0.1, -0.52, 0.72, -0.46, 0.6), ()),
    "ubiquitous": Region(0.14, "all", "sheet", _WHOLE, _WHOLE),
}

_ORGANS = {
    "embryonic midgut": Region(
        0.36,
        "endoderm",
        "solid",
        tube(0.17, -0.25, 0.1, -0.1, -0.3, 0.15, -0.35, 0.35, -0.1, 0.25, 0.25, 0.0, 0.25),
        both(0.17, -0.2, 0.25, 0.1, 0.35, 0.4, 0.2),
    ),
    "embryonic brain": Region(
        0.30, "nerve", "dots", tube(0.27, -0.74, -0.3, -0.62, -0.4), both(0.24, -0.68, 0.35)
    ),
    "ventral nerve cord": Region(
        0.30,
        "nerve",
        "dots",
        tube(0.14, -0.55, 0.45, -0.3, 0.66, 0.3, 0.7, 0.6, 0.55),
        tube(0.13, -0.4, 0, 0.5, 0),
    ),
    "embryonic dorsal epidermis": Region(
        0.22,
        "ectoderm",
        "sheet",
        rows(11, 0.06, (-0.4, 0.8), (-0.95, -0.5)),
        rows(11, 0.06, (-0.4, 0.8), (-0.7, 0.7)),
    ),
    "embryonic/larval somatic muscle": Region(
        0.22,
        "mesoderm",
        "fibres",
        rows(10, 0.085, (-0.35, 0.72), (0.05, 0.5)),
        rows(10, 0.08, (-0.35, 0.72), (-0.85, -0.62)) + rows(10, 0.08, (-0.35, 0.72), (0.62, 0.85)),
    ),
    "embryonic hindgut": Region(
        0.22,
        "gut",
        "solid",
        tube(0.1, 0.45, -0.3, 0.68, -0.45, 0.8, -0.2, 0.85, 0.2),
        tube(0.1, 0.55, 0.15, 0.9, 0),
    ),
    "embryonic proventriculus": Region(
        0.16, "gut", "solid", tube(0.12, -0.42, 0.05, -0.36, 0.0), tube(0.13, -0.38, 0)
    ),
    "embryonic Malpighian tubule": Region(
        0.14,
        "gut",
        "solid",
        tube(0.05, 0.55, -0.2, 0.3, -0.55, 0.1, -0.5) + tube(0.05, 0.55, -0.1, 0.4, 0.3, 0.15, 0.4),
        both(0.05, 0.6, 0.05, 0.5, 0.45, 0.2, 0.55),
    ),
    "embryonic/larval tracheal system": Region(
        0.14,
        "trachea",
        "solid",
        tube(0.05, -0.5, -0.3, 0.8, -0.45) + rows(10, 0.035, (-0.4, 0.75), (-0.4, 0.3)),
        both(0.05, -0.5, 0.5, 0.8, 0.4),
    ),
    "embryonic salivary gland": Region(
        0.16, "trachea", "solid", tube(0.1, -0.55, 0.35, -0.25, 0.45), both(0.09, -0.55, 0.25, -0.28, 0.4)
    ),
    "gonad": Region(0.12, "germ", "dots", tube(0.11, 0.52, 0.12), both(0.1, 0.5, 0.5)),
    "ubiquitous": Region(0.12, "all", "sheet", _WHOLE, _WHOLE),
}

TERMS = {
    "1-3": _EARLY,
    "4-6": _BLASTODERM,
    "7-8": _GASTRULA,
    "9-10": _GERM_BAND,
    "11-12": _RETRACTION,
    "13-16": _ORGANS,
}

# Furrows and organ outlines that every body of the stage range shows, stained or not.
FOLDS = {
    "1-3": {"lateral": (), "dorsal": ()},
    "4-6": {"lateral": (), "dorsal": ()},
    "7-8": {
        "lateral": tube(0, -0.42, -1, -0.34, -0.2, -0.45, 0.3)
        + tube(0, 0.05, -0.9, 0.2, -0.1, 0.45, 0.25, 0.7, 0)
        + tube(0, -0.6, 0.6, 0.3, 0.4, 0.62, 0.4),
        "dorsal": tube(0, -0.32, -0.95, -0.25, 0, -0.32, 0.95) + tube(0, 0.15, -0.5, 0, 0, 0.15, 0.5),
    },
    "9-10": {
        "lateral": tube(0, -0.38, -1, -0.26, -0.2, -0.4, 0.5)
        + tube(0, -0.1, -0.8, -0.05, 0.1, 0.3, 0.3, 0.75, 0)
        + tube(0, -0.5, 0.5, 0.5, 0.6, 0.8, 0.2),
        "dorsal": tube(0, -0.3, -0.95, -0.22, 0, -0.3, 0.95)
        + tube(0, 0.3, -0.45, -0.05, -0.3, -0.05, 0.3, 0.3, 0.45),
    },
    "11-12": {
        "lateral": tube(0, -0.4, -0.95, -0.35, -0.3, -0.5, 0.3)
        + tube(0, -0.3, -0.45, 0.3, 0.02, 0.85, -0.3)
        + rows(9, 0, (-0.3, 0.75), (0.55, 0.95)),
        "dorsal": tube(0, -0.42, -0.9, -0.38, 0.9) + both(0, -0.3, 0.5, 0.75, 0.5),
    },
    "13-16": {
        "lateral": tube(0, -0.35, -0.1, -0.2, -0.45, 0.3, -0.5, 0.5, 0, 0.2, 0.4, -0.3, 0.3)
        + rows(11, 0, (-0.45, 0.8), (0.5, 1))
        + rows(11, 0, (-0.4, 0.8), (-1, -0.75)),
        "dorsal": both(0, -0.4, 0.2, -0.1, 0.5, 0.4, 0.4, 0.5, 0)
        + rows(11, 0, (-0.4, 0.8), (0.75, 1))
        + rows(11, 0, (-0.4, 0.8), (-1, -0.75)),
    },
}
