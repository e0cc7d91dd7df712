"""Synthetic embryos as a step of a run."""

from flyannot.dataset.synthetic.generate import README, readme_of_synthesis, synthesize
from flyannot.runtime.text_files import first_bytes
from flyannot.steps.engine.task import Outcome, Task


def task_of_step(asked):
    """The `flyannot.steps.engine.task.Task` of what a `flyannot.steps.engine.step.Asked` asks for."""
    folder, options, seed = asked.out, asked.options, asked.seed

    def why():
        if not (folder / "images.csv").exists():
            return "it is not there yet"
        readme, expected = folder / README, readme_of_synthesis(options, seed).encode()
        is_other = readme.is_file() and first_bytes(readme, len(expected) + 1) != expected
        return "these embryos were drawn with other options" if is_other else ""

    def make(execution):
        made = synthesize(folder, options, seed=seed, force=execution.force, progress=execution.progress)
        return Outcome(folder, True, ", ".join(f"{n:,} {what}" for what, n in made.items()))

    return Task(folder, why, make, is_replaced=True, is_locked=False)
