"""The options of steps that have no room of their own below this one."""

from dataclasses import dataclass
from typing import ClassVar

from flyannot.errors import InputError
from flyannot.features.grid import Grid
from flyannot.options import (
    Choice,
    Count,
    FilePath,
    Flag,
    Memory,
    Options,
    OrAuto,
    Real,
    Several,
    Text,
    option,
)
from flyannot.sparse.learners import LEARNERS
from flyannot.stage_ranges import StageRange
from flyannot.steps.learner_settings import LearnerSettings

N_SHARES = 16  # of --max-patches auto
BYTES_OF_WORKER = 300 * 2**20  # by shares; measured: 237 to 252 MB, in rounds of 150,000 patches a share
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
        "Worker processes. The result is the same for any number.",
        stands_for="all cores",
        more=True,
    )
    scheduler: str | None = option(
        None,
        Text("ADDRESS"),
        "Let the workers of a Dask scheduler do the work: its address, such as tcp://host:8786.",
        more=True,
        variable="FLYANNOT_SCHEDULER",
    )


@dataclass(frozen=True, kw_only=True)
class LearnOptions(Options):
    """How a dictionary is learned."""

    table: ClassVar[str] = "learn-dict"

    n_atoms: int = option(1000, Count(), "Atoms of each dictionary.")
    n_epochs: int = option(10, Count(), "Passes over all patches.")
    max_patches: int | str | None = option(
        None,
        OrAuto(Count()),
        "Learn from at most this many patches, drawn at random. auto reads more and more of them, in 16 "
        "--shares, until twice as many gain less than --tol.",
        stands_for="all",
    )
    shared: bool = option(
        False, Flag(), "One dictionary, from the patches of all stage ranges, instead of one for each."
    )
    lam: float | None = option(
        None, Real(above=0), "Weight of the L1 norm.", stands_for="1.2 / sqrt(128), about 0.106"
    )
    shares: int | None = option(
        None,
        Count(most=4096),
        "Read the patches from their files as they are visited, in this many shares, which workers visit at "
        "the same time: for more patches than fit in memory, or more workers than one. 16 suits most; scc "
        "only, whose variant is quick then.",
        stands_for="all in memory, one worker",
    )
    tol: float | None = option(
        None,
        Real(least=0, below=1),
        "End when an epoch, or with --shares twice as many patches, lowers the objective by less than this "
        "part of it; 0.002 leaves little to gain.",
        stands_for="never before --n-epochs; with --max-patches auto 0.005",
        more=True,
    )
    memory: int | None = option(
        None,
        Memory(),
        "Take no more than this, such as 4GB: learning in memory that needs more is refused, and with "
        "--shares fewer workers visit patches at a time, 300 MB each. The result is the same.",
        stands_for="what is free",
        more=True,
        in_header=False,
    )
    learner: str = option(
        "scc",
        Choice(LEARNERS),
        "Solver. modl is made for whole pictures: descriptors are too short for its masks to pay.",
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
            object.__setattr__(self, "shares", self.shares or N_SHARES)
            object.__setattr__(self, "tol", WORTH_MORE if self.tol is None else self.tol)
        if self.shares and not LEARNERS[self.learner].is_data_parallel:
            able = ", ".join(name for name in LEARNERS if LEARNERS[name].is_data_parallel)
            raise InputError(
                f"the learner {self.learner} cannot learn by shares",
                fix=f"leave out --shares and --max-patches auto, or use --learner {able}",
            )

    def n_most(self, count):
        """Of `count` patches, how many are learned from at most."""
        return min(count, self.max_patches) if isinstance(self.max_patches, int) else count

    def settings(self, where=""):
        """The learner's own options: an object of its options class.  Messages begin with `where`.

        Raises
        ------
        InputError
            If the learner has no such option, or does not take the value.
        """
        learner = LEARNERS[self.learner]
        given = (learner.data_parallel_defaults if self.shares else {}) | self.learner_option
        return learner.Options.of_table(given, f"{where}learner {self.learner}")


@dataclass(frozen=True, kw_only=True)
class AnnotateOptions(Options):
    """What is said of new images."""

    table: ClassVar[str] = "annotate"

    abstain_margin: float = option(
        0.0,
        Real(least=0, most=1),
        'Answer "undetermined" where the probability is this near to that at the threshold of the term.',
    )
    ontology: tuple = option(
        (),
        Several(FilePath()),
        "An OBO file, such as FBbt or FBdv (repeatable): the table gets ids of terms and stage ranges.",
        in_header=False,
    )


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions(Options):
    """How terms are evaluated."""

    table: ClassVar[str] = "evaluate"

    folds: int = option(5, Count(least=2), "Folds of the cross-validation; no gene is in two of them.")
    nested: bool = option(
        False,
        Flag(),
        "Nested cross-validation: within the training genes of each fold. The score to choose options by.",
    )
    roll_up: tuple = option(
        (),
        Several(FilePath()),
        "An OBO file, such as FBbt (repeatable): a gene with a term has its parent terms too.",
        in_header=False,
        more=True,
    )
    retrieval: bool = option(
        False,
        Flag(),
        "Also score what looks alike, of FEATURES: the terms that a gene shares with the nearest others, and "
        "whether an image finds the other images of its gene.",
        more=True,
    )
    pixels: tuple | None = option(
        None,
        Grid(),
        "FEATURES is a data set folder: evaluate its grey levels, averaged over these cells, such as 16x32. "
        "The baseline.",
        more=True,
    )


@dataclass(frozen=True, kw_only=True)
class ReportOptions(Options):
    """What a report shows besides a run's own files."""

    table: ClassVar[str] = "report"

    ontology: tuple = option(
        (),
        Several(FilePath()),
        "An OBO file, such as FBbt or FBdv (repeatable): terms link to their entries at FlyBase. Without it, "
        "the ids that `annotate --ontology` wrote are taken.",
        in_header=False,
    )


@dataclass(frozen=True, kw_only=True)
class SimilarOptions(Options):
    """What is said of what looks alike."""

    table: ClassVar[str] = "similar"

    top: int = option(20, Count(), "How many genes, and how many images, are listed for each query.")
