"""Options of training, which evaluation shares."""

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from flyannot.base.options import (
    ChoiceType,
    FloatType,
    IntegerType,
    Options,
    OptionType,
    PathType,
    TupleType,
    option,
)
from flyannot.terms import CLASSIFIERS

SCHEMES = ("group", "mean")
EXPECTED_F1, BALANCED = "expected-f1", "balanced"  # rules that make answers of probabilities


_QUOTE = '"'


class _ParsedTerm(str):
    """The name of a term that was parsed, so that a comma in it separates nothing."""

    __slots__ = ()


class TermsType(OptionType):
    """Names of terms.

    A text may contain several, separated by commas, and `not-anatomy` stands for five. A name with a comma
    stands in double quotes, as in a CSV file.
    """

    name = "TERMS"
    words = "names of terms, and a name with a comma in double quotes"
    is_repeatable = True

    def parse(self, value):
        """Return a sorted tuple of names."""
        from flyannot.terms.metrics import NOT_ANATOMY  # on demand: NumPy would slow down `--help`

        texts = [value] if isinstance(value, str) else value
        if not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in texts):
            raise ValueError(self.words)
        named = {term for text in texts for term in self._split(text)} - {""}
        if "not-anatomy" in named:
            named = named - {"not-anatomy"} | set(NOT_ANATOMY)
        return tuple(map(_ParsedTerm, sorted(named)))

    def _split(self, text):
        """Return the names in a text, or a parsed name itself."""
        if isinstance(text, _ParsedTerm):
            return [text]
        try:
            return [term.strip() for term in next(csv.reader([text], skipinitialspace=True, strict=True), [])]
        except csv.Error:
            raise ValueError(self.words) from None

    def to_json(self, value):
        """Return a list of names, in quotes if they have a comma."""
        doubled = ((term, term.replace(_QUOTE, 2 * _QUOTE)) for term in value)
        return [f'"{inside}"' if {",", _QUOTE} & set(term) else str(term) for term, inside in doubled]

    def to_text(self, value):
        """Return the names, separated by commas."""
        return ", ".join(self.to_json(value))


class OperatingPointType(OptionType):
    """How answers are made of probabilities: a name of a rule, or a rate to reach, as in precision=0.8."""

    name = "expected-f1|balanced|precision=P|sensitivity=P"
    words = "expected-f1, balanced, precision=P or sensitivity=P, with P above 0 and at most 1"

    def parse(self, value):
        """Return EXPECTED_F1, BALANCED, or ("precision" or "sensitivity", a number above 0 and at most 1)."""
        if value in (EXPECTED_F1, BALANCED):
            return value
        parts = value if isinstance(value, list | tuple) else str(value).split("=")
        if len(parts) == 2 and parts[0] in ("precision", "sensitivity"):
            try:
                return parts[0], FloatType(above=0, most=1).parse(parts[1])
            except ValueError:
                pass
        raise ValueError(self.words)

    def to_json(self, value):
        """Return the name, or a list of two."""
        return value if isinstance(value, str) else list(value)

    def to_text(self, value):
        """Return the point as on the command line."""
        return value if isinstance(value, str) else "{}={:g}".format(*value)


class ModelPath(PathType):
    """The path of a model file, or the name of a model that comes with flyannot."""

    name = "MODEL"


@dataclass(frozen=True, kw_only=True)
class TrainOptions(Options):
    """Options that decide how terms are learned from features."""

    table: ClassVar[str] = "train"

    method: str = option(
        "coupled-ridge",
        ChoiceType(CLASSIFIERS),
        "The classifier: a ridge regression of all terms together (coupled-ridge) or of each alone (ridge), "
        "or a linear SVM for each term (svm).",
    )
    min_groups: int | None = option(
        None,
        IntegerType(),
        "Leave out terms that fewer groups carry.",
        stands_for="5; fewer if no stage range has 20 annotated genes, or no term 5 groups",
    )
    exclude_terms: tuple = option(
        (),
        TermsType(),
        "Leave out these terms (repeatable, or separated by commas; a term with a comma in double quotes). "
        "not-anatomy stands for ubiquitous, maternal, faint ubiquitous, no staining and subset.",
    )
    operating_point: str | tuple = option(
        EXPECTED_F1,
        OperatingPointType(),
        "Suggest (answer yes to) the terms of a group with the largest expected F1, or each term above the "
        "threshold with the largest sensitivity + specificity (balanced), with this precision or with this "
        "sensitivity on the inner folds.",
    )
    corrections: tuple = option(
        (),
        TupleType(PathType()),
        "The corrections.csv of a curator (repeatable). Accepted terms are added to the annotations, "
        "rejected ones removed, unsure ones left out of training and scores.",
        in_header=False,
    )
    adapt: Path | None = option(
        None,
        ModelPath(),
        "Adapt this model (a file, or the name of one that comes with flyannot) to the curated terms, "
        "instead of training a new one. It keeps all its terms, and its answers if no gain is shown.",
        in_header=False,
    )
    scheme: str = option(
        "group",
        ChoiceType(SCHEMES),
        "Pool all patches of a group into one vector, or take the mean of its images' vectors.",
    )
    normalisation: str = option(
        "l2", ChoiceType(("l2", "none")), "Scale feature vectors to norm 1, or do not."
    )
    inner_folds: int = option(
        3,
        IntegerType(least=2),
        "Folds, split by gene, that choose hyperparameters, calibrate, and set thresholds.",
    )
