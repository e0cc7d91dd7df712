"""Options of steps whose work is done in the package `pipeline` itself."""

from dataclasses import dataclass, replace
from typing import ClassVar

from flyannot.base.options import (
    ChoiceType,
    FlagType,
    FloatType,
    IntegerType,
    Options,
    OptionType,
    PathType,
    TextType,
    TupleType,
    WordOrType,
    option,
    to_kebab_case,
)
from flyannot.base.stage_ranges import StageRangeType
from flyannot.base.views import ViewType
from flyannot.sparse.learners import LEARNERS
from flyannot.terms.options import TermsType

N_ATOMS = 1000  # default if there are enough patches
ENOUGH_PATCHES = 10_000  # default; more predict terms no better, see docs/dictionary-learning.md
PATCHES_PER_ATOM = 10  # with fewer, an atom is a copy of one patch and no pattern


class ColumnNamesType(OptionType):
    """The type of an option whose value says how columns are called in tables: image=imagen,gene=gen."""

    name = "COLUMN=NAME,..."
    words = "COLUMN=NAME, such as image=imagen,gene=gen"
    is_repeatable = True

    def parse(self, value):
        """Return a dict from column to its name in tables, also of a dict, a text, or a list of texts."""
        from flyannot.curation.corrections import COLUMNS as OF_CORRECTIONS  # so that `--help` stays quick
        from flyannot.dataset.folder import COLUMNS as OF_DATA_SET

        known = dict.fromkeys((*OF_DATA_SET, *OF_CORRECTIONS))
        if not isinstance(value, dict):
            texts = value if isinstance(value, list | tuple) else [value]
            pairs = [pair.partition("=") for text in texts for pair in str(text).split(",")]
            value = {column.strip(): name.strip() for column, _, name in pairs}
        for column, name in value.items():
            if not name or not isinstance(name, str):
                raise ValueError(self.words)
            if column not in known:
                raise ValueError(f"{self.words}; the columns are {', '.join(known)}")
        return value


@dataclass(frozen=True, kw_only=True)
class Selection(Options):
    """The stage ranges and views of images to which a step is limited, and how they are found in tables."""

    table: ClassVar[str] = "select"

    stage_range: tuple = option(
        (),
        TupleType(StageRangeType()),
        "Only this stage range (repeatable): 1-3, 4-6, 7-8, 9-10, 11-12 or 13-16.",
        stands_for="all",
    )
    view: tuple = option(
        (), TupleType(ViewType()), "Only images of this view (repeatable), such as lateral.", stands_for="all"
    )
    guess_stages: bool = option(
        False,
        FlagType(),
        "Guess the stage range of every image that has none (or unknown, ?, NA) from its picture. Such "
        "images get a warning: one guess in three is wrong.",
    )
    recursive: bool = option(
        False, FlagType(), "Also take the pictures in folders below a folder of pictures."
    )
    columns: dict = option(
        {}, ColumnNamesType(), "The names that columns have in your tables, such as image=imagen,gene=gen."
    )

    @property
    def unknown_stage(self):
        """The stage range of images that have none: the selected one, if exactly one is selected.

        Otherwise "" if it is to be guessed from the picture, or None.
        """
        return self.stage_range[0] if len(self.stage_range) == 1 else "" if self.guess_stages else None


@dataclass(frozen=True, kw_only=True)
class RunOptions(Options):
    """Options for how steps are carried out, such as the number of jobs.

    They never change the bytes of outputs.
    """

    table: ClassVar[str] = "run"

    jobs: int | None = option(
        None,
        IntegerType(),
        "Use at most this many cores, and fewer if more would gain no time. The result is always the same.",
        stands_for="all cores",
        variable="FLYANNOT_JOBS",
    )
    scheduler: str | None = option(
        None,
        TextType("ADDRESS"),
        "The address of a Dask scheduler whose workers do the work, such as tcp://host:8786.",
        in_files=False,
    )


class LearnerSettingsType(OptionType):
    """One or more NAME=VALUE, or a table of a configuration.  The learner checks the values."""

    name = "NAME=VALUE"
    words = "NAME=VALUE, such as variant=paper"
    is_repeatable = True
    owners = LEARNERS  # each has its options in its class `Options`

    def parse(self, value):
        """Return a dict from name, in snake case, to value."""
        if isinstance(value, dict):
            return {str(name).replace("-", "_"): setting for name, setting in value.items()}
        texts = [value] if isinstance(value, str) else value
        if not isinstance(texts, list | tuple) or not all(isinstance(t, str) and "=" in t for t in texts):
            raise ValueError(self.words)
        return {
            name.strip().replace("-", "_"): setting.strip()
            for name, _, setting in (text.partition("=") for text in texts)
        }


@dataclass(frozen=True, kw_only=True)
class FetchOptions(Options):
    """Images to fetch, and limits on the requests."""

    table: ClassVar[str] = "fetch"

    genes: tuple = option(
        (),
        TupleType(TextType()),
        "Only these genes (repeatable): names separated by commas, or @FILE with one a line.",
        stands_for="all",
    )
    stage_range: tuple = option(
        (), TupleType(StageRangeType()), "Only images of this stage range (repeatable).", stands_for="all"
    )
    max_images: int | None = option(None, IntegerType(), "At most this many images.", stands_for="all")
    thumbnails: bool = option(False, FlagType(), "Fetch the site's small copies of the images.")
    refresh: bool = option(False, FlagType(), "Fetch the tables again even if they exist.", in_header=False)
    base_url: str = option("https://insitu.fruitfly.org/", TextType(), "The address of the site.")
    pause: float = option(
        0.5, FloatType(least=0), "Seconds between the starts of two requests.", in_header=False
    )


@dataclass(frozen=True, kw_only=True)
class LearnOptions(Options):
    """Options of dictionary learning."""

    table: ClassVar[str] = "learn-dict"

    n_atoms: int | None = option(
        None,
        IntegerType(),
        "The number of atoms of each dictionary.",
        stands_for="1,000, or a tenth of the patches if fewer than 10,000",
    )
    n_epochs: int | None = option(
        None,
        IntegerType(),
        "The number of passes over the patches.",
        stands_for="1; 10 with other learners or variants",
    )
    max_patches: int | str | None = option(
        None,
        WordOrType(IntegerType(), "all"),
        "Learn each dictionary from at most this many patches, drawn at random.",
        stands_for="10,000",
    )
    shared: bool = option(
        False, FlagType(), "Learn one dictionary from all stage ranges, instead of one for each."
    )
    lam: float | None = option(
        None, FloatType(above=0), "Weight of the L1 norm.", stands_for="1.2 / sqrt(128), about 0.106"
    )
    tol: float | None = option(
        None,
        FloatType(least=0, below=1),
        "Stop when an epoch lowers the objective by less than this fraction. Values below 0.002 hardly "
        "improve the atoms.",
        stands_for="never before --n-epochs",
    )
    learner: str = option(
        "scc",
        ChoiceType(LEARNERS),
        "The method. scc is the fastest, for any number of patches. ol reaches the same objective more "
        "slowly. lagrange-dual is for some thousand patches, dssc for comparison, modl for whole pictures.",
    )
    learner_option: dict = option(
        {},
        LearnerSettingsType(),
        "An option of the learner (repeatable), such as variant=paper; see the documentation.",
    )

    def __post_init__(self):
        super().__post_init__()
        object.__setattr__(self, "learner_option", dict(self.learner_option))

    def resolve(self):
        """Return a copy in which `lam`, `n_epochs` and `max_patches` have defaults if none were given."""
        from flyannot.sparse.fit import default_lam  # numba would slow `--help`

        settings = self.settings()
        enough = 1 if getattr(settings, "variant", "") == "quick" else 0  # more predict terms no better
        n_epochs = self.n_epochs or enough or LEARNERS[self.learner].default_n_epochs(settings)
        most = self.max_patches or ENOUGH_PATCHES
        lam = self.lam or float(default_lam(128))  # also of patches with intensity
        return replace(self, lam=lam, n_epochs=n_epochs, max_patches=most)

    def to_header(self):
        """Return the resolved options by name, as JSON, with all options of the learner."""
        header = super(LearnOptions, self.resolve()).to_header()
        return header | {"learner_option": self.settings().to_header()}

    def n_most(self, count):
        """Return how many of `count` patches are used for learning, at most."""
        return min(count, self.max_patches) if isinstance(self.max_patches, int) else count

    def n_atoms_for(self, count):
        """Return the number of atoms of a dictionary that is learned from `count` patches.

        It is the given number. Without one, it is as many as have enough patches each; 0 if there are too
        few patches.
        """
        n_patches = self.n_most(count)
        if self.n_atoms is None:
            return min(N_ATOMS, n_patches // PATCHES_PER_ATOM)
        return self.n_atoms if self.n_atoms <= n_patches else 0

    def settings(self, where=""):
        """Return the learner's own options, an object of its options class.

        Parameters
        ----------
        where : str, the beginning of messages

        Raises
        ------
        InputError
            If the learner has no such option, or does not accept the value.
        """
        given = {to_kebab_case(name): value for name, value in self.learner_option.items()}
        return LEARNERS[self.learner].Options.from_table(given, f"{where}learner {self.learner}")


@dataclass(frozen=True, kw_only=True)
class AnnotateOptions(Options):
    """Options of predictions for new images."""

    table: ClassVar[str] = "annotate"

    abstain_margin: float = option(
        0.0,
        FloatType(least=0, most=1),
        'Answer "undetermined" if the probability is within this distance of the threshold of the term.',
    )
    ontology: tuple = option(
        (),
        TupleType(PathType()),
        "An OBO file, such as FBbt or FBdv (repeatable), to add ids of terms and stage ranges to the table.",
        in_header=False,
    )


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions(Options):
    """Options of evaluations."""

    table: ClassVar[str] = "evaluate"

    folds: int | None = option(
        None,
        IntegerType(least=2),
        "The number of folds of the cross-validation. Each gene is in one fold.",
        stands_for="5; fewer if there are few genes",
    )
    nested: bool = option(
        False,
        FlagType(),
        "Cross-validate within the training genes of each fold; use these scores to choose options.",
    )
    roll_up: tuple = option(
        (),
        TupleType(PathType()),
        "An OBO file, such as FBbt (repeatable), to give genes the parents of their terms, also new ones.",
        in_header=False,
    )


@dataclass(frozen=True, kw_only=True)
class ReportOptions(Options):
    """Options of the report, besides the run's own files."""

    table: ClassVar[str] = "report"

    ontology: tuple = option(
        (),
        TupleType(PathType()),
        "An OBO file, such as FBbt or FBdv (repeatable): terms link to their entries at FlyBase.",
        in_header=False,
    )


@dataclass(frozen=True, kw_only=True)
class SimilarOptions(Options):
    """Options of the search for look-alikes."""

    table: ClassVar[str] = "similar"

    top: int = option(
        20, IntegerType(), "The number of genes, and of images, that are listed for each query."
    )
    lacks: tuple = option((), TermsType(), "List genes that lack these curated terms, or any of the query's.")
    has: tuple = option((), TermsType(), "List genes that have these curated terms; both repeatable.")
