"""Synthetic embryos with known terms, and the options to make them."""

from dataclasses import dataclass
from typing import ClassVar

from flyannot.base.options import IntegerType, Options, TupleType, option
from flyannot.base.stage_ranges import StageRangeType


@dataclass(frozen=True, kw_only=True)
class SynthesizeOptions(Options):
    """Number and stage ranges of synthetic embryos."""

    table: ClassVar[str] = "synthesize"

    n_genes: int = option(60, IntegerType(most=9999), "Number of made-up genes.")
    max_images: int = option(5, IntegerType(most=99), "Largest number of images in a group.")
    stage_range: tuple = option(
        ("4-6", "9-10", "13-16"), TupleType(StageRangeType()), "Stage ranges to make (repeatable)."
    )
