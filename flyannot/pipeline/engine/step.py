"""What a step of the chain says of itself, once: commands, runs, status and workflows derive from it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flyannot.base.options import Options
from flyannot.base.registry import import_object

IMAGES, ANNOTATIONS = "images", "annotations"  # the inputs that are no step's output: they are the data set's


@dataclass(frozen=True)
class Input:
    """What a step reads.

    name : of the argument of its command
    holds : IMAGES, ANNOTATIONS, or what another step makes: its kind, or the name of its file, without the
        suffix; in a run, the last step before makes it
    several : whether its command takes several files, as if they were one
    is_argument : whether its command takes it at all; in a run it is there
    """

    name: str
    holds: str
    several: bool = False
    is_argument: bool = True


@dataclass(frozen=True, kw_only=True)
class Step:
    """One step of the chain.

    name : of its command, of its table in a configuration and in headers, and of `run --step`
    about : what it does, in a line
    options : its class of options, whose `table` is the name
    reads : tuple of Input
    makes : name of the file that it leaves in the folder of a run; "" of the step that makes the data set,
        which is part of a run only where the configuration has its table
    kind : the kind of HDF5 file that it makes, or ""
    task : "module:function" from an `StepRequest` to the `Task`
    transform : "module:function" of a step between extract and learn-dict, from the
        `DescribedPatches` of one image and the options to other such patches
    help : what its command says after `about`; ends in "Example:" and lines that can be pasted
    selects : fields of `Selection` that its command takes
    is_seeded : whether its command takes a seed
    in_parts : whether its output is made in parts of images, which a workflow divides among jobs
    made_from : "module:function" from the path of an output that is no HDF5 file to {kind: digest} of what
        it was made from; "" where its task alone can tell whether it is up to date
    has_workers : whether a job of it can use several processors
    page : "module:function", which builds the Task of a page from the request of a finished step; its command
        then takes --page
    command : "module:attribute" of its command, where that is not made from all this
    """

    name: str
    about: str
    options: type[Options]
    makes: str
    task: str
    kind: str = ""
    transform: str = ""
    reads: tuple[Input, ...] = ()
    help: str = ""
    selects: tuple[str, ...] = ()
    is_seeded: bool = False
    in_parts: bool = False
    made_from: str = ""
    has_workers: bool = False
    page: str = ""
    command: str = ""

    def __post_init__(self):
        """Check that the parts of a step agree.

        Raises
        ------
        ValueError
            If an HDF5 output has no kind, if a step that reads and makes one kind has no `transform`, or if
            the table of its options is not named like the step.
        """
        if not self.kind and self.makes.endswith(".h5"):
            raise ValueError(f"the step {self.name} makes {self.makes}, and needs a kind")
        if not self.transform and self.kind in [read.holds for read in self.reads]:
            raise ValueError(f"the step {self.name} reads and makes {self.kind}, and needs a transform")
        if self.transform and self.options.table != self.name:
            raise ValueError(f"the options of the step {self.name} are in the table {self.options.table}")

    @property
    def makes_data_set(self):
        return not self.makes

    @property
    def role(self):
        """What other steps call its output, as `Input.holds` has it."""
        return self.kind or self.makes.partition(".")[0]

    def paths_read(self, data_set, path_of_kind):
        """Name of each Input -> its path, in a tuple: the data set, or what a function says of its kind."""
        return {
            read.name: (data_set if read.holds in (IMAGES, ANNOTATIONS) else path_of_kind(read.holds),)
            for read in self.reads
        }

    def task_of(self, request):
        """The Task of an `StepRequest`."""
        return import_object(self.task)(request)

    def page_of(self, request):
        """The Task of the page on what an `StepRequest` has made."""
        return import_object(self.page)(request)


@dataclass(frozen=True, kw_only=True)
class StepRequest:
    """What one step is asked to do.

    inputs : name of an Input -> tuple of Path
    out : Path of the output
    options : of its class
    selection : Selection
    run : Configuration of the run that it is a step of; None of a command by itself
    """

    inputs: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)
    out: Path
    options: Any
    selection: Any
    seed: int = 0
    run: Any = None

    @property
    def is_in_run(self):
        return self.run is not None
