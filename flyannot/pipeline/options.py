"""The options of steps that have no room of their own below this one."""

from dataclasses import dataclass, replace
from typing import ClassVar

from flyannot.base.errors import InputError
from flyannot.base.options import (
    UNLESS_DEFAULT,
    Choice,
    Count,
    FilePath,
    Flag,
    Kind,
    Options,
    OrAuto,
    Real,
    Several,
    Text,
    option,
)
from flyannot.base.stage_ranges import StageRange
from flyannot.sparse.learners import LEARNERS

N_ATOMS = 1000  # where patches are enough
PATCHES_PER_ATOM = 10  # at least: an atom that few patches share is a copy of one of them, not a pattern
N_PARTS = 16  # of --max-patches auto
BYTES_OF_WORKER = 300 * 2**20  # data-parallel; measured: 237 to 252 MB, in rounds of 150,000 patches a part
WORTH_MORE = 0.005  # of the objective, which twice as many patches must gain there


@dataclass(frozen=True, kw_only=True)
class Selection(Options):
    """Which images a step works on."""

    table: ClassVar[str] = "select"

    stage_range: tuple = option(
        (),
        Several(StageRange()),
        "Only this stage range (repeatable): 1-3, 4-6, 7-8, 9-10, 11-12 or 13-16.",
        stands_for="all",
    )
    view: tuple = option(
        (), Several(Text()), "Only images of this view (repeatable), such as lateral.", stands_for="all"
    )


@dataclass(frozen=True, kw_only=True)
class RunOptions(Options):
    """How steps are carried out; nothing here changes the bits of their outputs."""

    table: ClassVar[str] = "run"

    jobs: int | None = option(
        None,
        Count(),
        "Cores to use at most: as many as gain time. The result is the same for any number.",
        stands_for="all cores",
        more=True,
    )
    scheduler: str | None = option(
        None,
        Text("ADDRESS"),
        "Let the workers of a Dask scheduler do the work: its address, such as tcp://host:8786.",
        more=True,
        in_files=False,
        variable="FLYANNOT_SCHEDULER",
    )


class LearnerSettings(Kind):
    """NAME=VALUE, several of them; or a table of a configuration.  The learner checks the values."""

    name = "NAME=VALUE"
    words = "NAME=VALUE, such as variant=paper"
    is_repeatable = True
    owners = LEARNERS  # each has its options in its class `Options`

    def parse(self, value):
        """A dict from name, in snake case, to value."""
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
    """What to fetch, and how politely."""

    table: ClassVar[str] = "fetch"

    genes: tuple = option(
        (),
        Several(Text()),
        "Only these genes (repeatable): names separated by commas, or @FILE with one a line.",
        stands_for="all",
    )
    stage_range: tuple = option(
        (), Several(StageRange()), "Only images of this stage range (repeatable).", stands_for="all"
    )
    max_images: int | None = option(None, Count(), "At most this many images.", stands_for="all")
    thumbnails: bool = option(False, Flag(), "The site's small copies of the images.")
    refresh: bool = option(False, Flag(), "Fetch the tables again even if they are there.", in_header=False)
    base_url: str = option("https://insitu.fruitfly.org/", Text(), "The site's address.")
    connections: int = option(2, Count(most=4), "Requests at a time.", in_header=False)
    pause: float = option(0.5, Real(least=0), "Seconds between the starts of two requests.", in_header=False)


@dataclass(frozen=True, kw_only=True)
class LearnOptions(Options):
    """How a dictionary is learned."""

    table: ClassVar[str] = "learn-dict"

    n_atoms: int | None = option(
        None,
        Count(),
        "Atoms of each dictionary.",
        stands_for="1,000, or a tenth of the patches if fewer than 10,000",
        in_header=UNLESS_DEFAULT,
    )
    n_epochs: int | None = option(
        None,
        Count(),
        "Passes over all patches.",
        stands_for="3; 10 with other learners or variants",
    )
    max_patches: int | str | None = option(
        None,
        OrAuto(Count()),
        "Learn from at most this many patches, drawn at random. auto takes more and more of them, in 16 "
        "parts, until doubling them gains less than --tol.",
        stands_for="all",
    )
    shared: bool = option(
        False, Flag(), "One dictionary, from the patches of all stage ranges, instead of one for each."
    )
    lam: float | None = option(
        None, Real(above=0), "Weight of the L1 norm.", stands_for="1.2 / sqrt(128), about 0.106"
    )
    data_parallel: int | None = option(
        None,
        Count(most=4096),
        "Cut the patches into this many parts, learn from each side by side, and average the atoms. Patches "
        "are read from their files as they are visited: for more than fit in memory, or for several workers. "
        "16 parts suit most data. For --learner scc.",
        stands_for="one part, held in memory",
        kept_as="shares",
    )
    tol: float | None = option(
        None,
        Real(least=0, below=1),
        "Stop early, once an epoch lowers the objective by less than this fraction of it. With "
        "--data-parallel, once doubling the patches does. 0.002 leaves little to gain.",
        stands_for="never before --n-epochs; with --max-patches auto 0.005",
        more=True,
    )
    learner: str = option(
        "scc",
        Choice(LEARNERS),
        "The method. scc is the quickest, for any number of patches; ol ends as low, later; lagrange-dual is "
        "for some thousand patches; dssc is for comparison; modl's masks (reduction) pay on whole pictures.",
        more=True,
    )
    learner_option: dict = option(
        {},
        LearnerSettings(),
        "An option of the learner (repeatable), such as variant=paper; the documentation lists them.",
        more=True,
    )

    def __post_init__(self):
        super().__post_init__()
        object.__setattr__(self, "learner_option", dict(self.learner_option))
        if self.max_patches == "auto":
            object.__setattr__(self, "data_parallel", self.data_parallel or N_PARTS)
            object.__setattr__(self, "tol", WORTH_MORE if self.tol is None else self.tol)
        if self.data_parallel and not LEARNERS[self.learner].is_data_parallel:
            able = ", ".join(name for name in LEARNERS if LEARNERS[name].is_data_parallel)
            raise InputError(
                f"the learner {self.learner} cannot learn data-parallel",
                fix=f"leave out --data-parallel and --max-patches auto, or use --learner {able}",
            )

    def resolved(self):
        """Return a copy in which `lam` and `n_epochs` are numbers, those of the learner if they were open."""
        from flyannot.sparse.fit import default_lam  # numba: `--help` stays quick

        n_epochs = self.n_epochs or LEARNERS[self.learner].usual_epochs(self.settings())
        return replace(self, lam=self.lam or float(default_lam(128)), n_epochs=n_epochs)

    def to_header(self):
        """Return the options by name, as JSON: resolved, with all options of the learner."""
        header = super(LearnOptions, self.resolved()).to_header()
        return header | {"learner_option": self.settings().to_header()}

    def n_most(self, count):
        """Of `count` patches, how many are learned from at most."""
        return min(count, self.max_patches) if isinstance(self.max_patches, int) else count

    def n_atoms_for(self, count):
        """Atoms of a dictionary that is learned from `count` patches: those that were asked for, or as many
        as have enough patches; 0 where these are too few."""
        n_patches = self.n_most(count)
        if self.n_atoms is None:
            return min(N_ATOMS, n_patches // PATCHES_PER_ATOM)
        return self.n_atoms if self.n_atoms <= n_patches else 0

    def settings(self, where=""):
        """The learner's own options: an object of its options class.  Messages begin with `where`.

        Raises
        ------
        InputError
            If the learner has no such option, or does not take the value.
        """
        return LEARNERS[self.learner].Options.of_table(self.learner_option, f"{where}learner {self.learner}")


@dataclass(frozen=True, kw_only=True)
class AnnotateOptions(Options):
    """What is said of new images."""

    table: ClassVar[str] = "annotate"

    abstain_margin: float = option(
        0.0,
        Real(least=0, most=1),
        'Answer "undetermined" where the probability is this near to the threshold of the term.',
    )
    ontology: tuple = option(
        (),
        Several(FilePath()),
        "An OBO file, such as FBbt or FBdv, or a table of ids (repeatable): the table gets ids of terms and "
        "stage ranges.",
        in_header=False,
    )


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions(Options):
    """How terms are evaluated."""

    table: ClassVar[str] = "evaluate"
    gone: ClassVar[dict] = {"retrieval": False, "pixels": None}

    folds: int | None = option(
        None,
        Count(least=2),
        "Folds of the cross-validation; no gene is in two of them.",
        stands_for="5; fewer if there are few genes",
        in_header=UNLESS_DEFAULT,
    )
    nested: bool = option(
        False,
        Flag(),
        "Nested cross-validation, within the training genes of each fold: choose options by this score.",
    )
    roll_up: tuple = option(
        (),
        Several(FilePath()),
        "An OBO file, such as FBbt (repeatable): a gene with a term has its parent terms too.",
        in_header=False,
        more=True,
    )


@dataclass(frozen=True, kw_only=True)
class ReportOptions(Options):
    """What a report shows besides a run's own files."""

    table: ClassVar[str] = "report"

    ontology: tuple = option(
        (),
        Several(FilePath()),
        "An OBO file, such as FBbt or FBdv, or a table of ids (repeatable): terms link to their entries at "
        "FlyBase.",
        in_header=False,
    )


@dataclass(frozen=True, kw_only=True)
class SimilarOptions(Options):
    """How much of what looks alike is listed."""

    table: ClassVar[str] = "similar"

    top: int = option(20, Count(), "How many genes, and how many images, are listed for each query.")
