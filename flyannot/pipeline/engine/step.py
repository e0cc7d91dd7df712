"""The description of a step, from which commands, runs, status and workflows are derived."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from flyannot.base.options import Options
from flyannot.base.registry import import_object

IMAGES, ANNOTATIONS = "images", "annotations"  # inputs from the data set, which no step makes
_MAY_CHANGE = {"values", "positions", "patches"}


@dataclass(frozen=True)
class StepInput:
    """An input of a step.

    name : name of the argument of its command
    holds : IMAGES, ANNOTATIONS, a step, or an output (its kind, or its file name without suffix)
        In a run, the last earlier step with such an output makes it.
    several : True if the command takes several files, which count as one
    is_argument : True if the command takes it as an argument, False if only a run has it
    """

    name: str
    holds: str
    several: bool = False
    is_argument: bool = True


@dataclass(frozen=True, kw_only=True)
class Step:
    """A step of the chain.

    name : of its command, of its table in configurations and headers, and of `run --step`
    about : one line on what it does
    options : its class of options, whose `table` is the name
    makes : name of its output in the folder of a run
    task : "module:function" from a StepRequest to the Task
    kind : kind of HDF5 file that it makes, or ""
    transform : "module:function" of a step between extract and learn-dict, from the `DescribedPatches` of one
        image and the options to transformed ones
    changes : what the transform may change, see `PatchTransform`
    reads : tuple of StepInput
    help : text of the command's help after `about`; ends in "Example:" and lines that can be pasted
    selects : fields of `Selection` that its command takes
    is_seeded : whether its command takes a seed
    in_parts : whether its output is made in parts of images, which a workflow divides among jobs
    made_from : "module:function" from the path of an output that is no HDF5 file to {kind: digest} of its
        inputs; "" if only its task can tell whether the output is up to date
    has_workers : whether it can use several processors
    page : "module:function" from a StepRequest to the Task of a page on the output; its command then takes
        --page
    command : "module:attribute" of its command, if that is not derived from this description
    """

    name: str
    about: str
    options: type[Options]
    makes: str
    task: str
    kind: str = ""
    transform: str = ""
    changes: tuple[str, ...] = ()
    reads: tuple[StepInput, ...] = ()
    help: str = ""
    selects: tuple[str, ...] = ()
    is_seeded: bool = False
    in_parts: bool = False
    made_from: str = ""
    has_workers: bool = False
    page: str = ""
    command: str = ""

    def __post_init__(self):
        """Check that the fields of the step do not contradict each other.

        Raises
        ------
        ValueError
            If the output is HDF5 and `kind` is empty.  If the step reads and makes files of one kind and
            `transform` is empty.  If it has a `transform`, and the table of its options has another name or
            an option that headers lack: pictures are encoded with the options in a header.
        """
        if not self.kind and self.makes.endswith(".h5"):
            raise ValueError(f"the step {self.name} makes {self.makes}, and needs a kind")
        if not self.transform and self.kind in [read.holds for read in self.reads]:
            raise ValueError(f"the step {self.name} reads and makes {self.kind}, and needs a transform")
        if bool(self.transform) != bool(self.changes) or not {*self.changes} <= _MAY_CHANGE:
            raise ValueError(f"the step {self.name} must say what its transform changes: {_MAY_CHANGE}")
        if self.transform and self.options.table != self.name:
            raise ValueError(f"the options of the step {self.name} are in the table {self.options.table}")
        if self.transform and not all(entry.metadata["in_header"] for entry in fields(self.options)):
            raise ValueError(f"all options of the step {self.name} must be in headers")

    @property
    def role(self):
        """The name by which other steps refer to the output of this step; compare `StepInput.holds`."""
        return self.kind or self.makes.partition(".")[0]

    def patch_transform(self, options):
        """Return the `PatchTransform` of this step with some options."""
        from flyannot.encode.encoder import PatchTransform  # imports slowly

        return PatchTransform(self.name, import_object(self.transform), options, self.changes)

    def build_task(self, request):
        """Build the Task that carries out a StepRequest of this step."""
        return import_object(self.task)(request)

    def build_page_task(self, request):
        """Build the Task that makes the page about the output of a StepRequest."""
        return import_object(self.page)(request)


@dataclass(frozen=True, kw_only=True)
class StepRequest:
    """A request to carry out one step.

    inputs : name of a StepInput -> tuple of Path
    out : Path of the output
    options : of the step's class
    selection : Selection
    seed : int
    run : Configuration of the run that the step is part of; None for a command by itself
    images : tuple of the Images of the run, as its tables list them
    fates : list of the PictureFates of the other pictures of the run
    curated : CuratedTerms of the run; None if it has none, or for a command by itself
    also : Tasks of later steps whose outputs this step makes from the same opening of the pictures
    """

    inputs: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)
    out: Path
    options: Any
    selection: Any
    seed: int = 0
    run: Any = None
    images: tuple = ()
    fates: Sequence = ()
    curated: Any = None
    also: tuple = ()
