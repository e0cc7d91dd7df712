"""Options of `flyannot extract`, and the sizes of patches."""

from dataclasses import dataclass
from typing import ClassVar

from flyannot.base.errors import InputError
from flyannot.base.options import ChoiceType, FlagType, FloatType, IntegerType, Options, TupleType, option
from flyannot.images.address import PlaneType

STRIDE_PX = 16


@dataclass(frozen=True, kw_only=True)
class ExtractOptions(Options):
    """Options of `flyannot extract`: how pictures are prepared, and which patches are described.

    Lengths are in pixels of the standard 320 x 128 image; `min_std` is in grey levels from 0 to 255.
    """

    table: ClassVar[str] = "extract"

    patch_px: tuple = option(
        (16,),
        TupleType(IntegerType(least=4, of=4)),
        "Side of a patch, a multiple of 4 (repeatable: patches of several sizes, one dictionary, pooled "
        "separately).",
    )
    stride_px: int | None = option(
        None,
        IntegerType(),
        "Distance from one patch to the next.",
        stands_for="16; 8 if no stage range has enough images for 10,000 patches",
    )
    scale: str = option(
        "1",
        ChoiceType(("1", "1/2", "1/4")),
        "Describe a picture of this size relative to the standard one, with smaller patches at the same "
        "places, which is quicker. All lengths stay in pixels of the standard picture. On 193 photographs, "
        "neither 1/2 nor 1/4 showed a loss; they do not exclude that up to 6 % fewer stage ranges are right.",
    )
    min_std: float = option(
        6.0,
        FloatType(least=0),
        "Drop patches whose grey levels (0 to 255) have a smaller standard deviation.",
    )
    channel: str = option(
        "grey",
        ChoiceType(("grey", "stain", "pattern", "blue")),
        "What is described: grey, the grey levels; stain, only the blue-purple stain (NBT/BCIP) of a colour "
        "image on white (grey images are not changed); pattern, this stain drawn as a blastoderm pattern, so "
        "that photographs and drawn patterns look alike; blue, the image in blue light, which shows the form "
        "of the embryo and hardly any blue-purple stain.",
    )
    register: str = option(
        "none",
        ChoiceType(("none", "axis")),
        "Find the embryo, turn it (by at most 90 degrees: left stays left), cut it out and scale it, so that "
        "all embryos are aligned. An image in which no embryo is found is used unchanged, with a warning; "
        "annotate gives it no terms.",
    )
    orient: bool = option(
        False,
        FlagType(),
        "Mirror every embryo whose posterior end is left: the anterior end is the more pointed one (with "
        "--register axis). If both ends are alike, the image is not mirrored, and gets a warning.",
    )
    multiple_embryos: bool = option(
        False,
        FlagType(),
        "Every image is a photograph of one or more embryos: each is found, cut out, and named IMAGE#1, "
        "IMAGE#2 and so on (with --register axis).",
    )
    plane: tuple = option(
        (),
        TupleType(PlaneType()),
        "The picture of a microscope's file to use, by a number from 1 or by name: z=5, channel=DAPI, "
        "scene=2, time=1, page=3 (repeatable).",
    )
    intensity: float = option(
        0.0,
        FloatType(least=0, most=1),
        "Add to the descriptor of a patch, with this weight, the mean and the standard deviation of its grey "
        "levels, which SIFT ignores.",
    )

    def __post_init__(self):
        super().__post_init__()
        needs = {
            "--multiple-embryos": self.multiple_embryos and "multiple embryos of one image are aligned",
            "--orient": self.orient and "which end is anterior is read from the outline, which is found",
        }
        for option_name, reason in needs.items():
            if reason and self.register == "none":
                fix = f"add --register axis, or leave out {option_name}"
                raise InputError(f"{reason} by --register axis", fix=fix)
        for name, least, lengths in (("patch", 4, self.patch_px), ("stride", 1, [self.stride_px or 16])):
            if any(px % (least * self.shrinking) for px in lengths):
                what = f"--{name}-px must be a multiple of {least * self.shrinking} with --scale {self.scale}"
                raise InputError(what, fix=f"choose such a --{name}-px, or a larger --scale")
        axes = [plane.partition("=")[0] for plane in self.plane]
        twice = next((axis for axis in axes if axes.count(axis) > 1), None)
        if twice:
            raise InputError(f"--plane has two values for the axis {twice}", fix="give one")

    @property
    def shrinking(self):
        """The factor (int) by which the standard picture is shrunk, across and down, to be described."""
        return int(self.scale[-1])


def sorted_patch_sizes(patch_px):
    """Return the sides of patches, in pixels, sorted and each once.

    patch_px : the sides as a user gave them
    """
    return tuple(sorted(set(patch_px)))
