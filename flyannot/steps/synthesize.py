"""Synthetic embryos as a step of a run."""

from flyannot.dataset.synthetic.generate import README, readme_of, synthesize
from flyannot.steps.engine.task import Outcome, Task


def task_of_step(asked):
    """The `flyannot.steps.engine.task.Task` of what a `flyannot.steps.engine.step.Asked` asks for."""
    folder, options, seed = asked.out, asked.options, asked.seed

    def why():
        if not (folder / "images.csv").exists():
            return "it is not there yet"
        readme = folder / README
        is_other = readme.is_file() and readme.read_text(encoding="utf-8", errors="replace") != readme_of(
            options, seed
        )
        return "these embryos were drawn with other options" if is_other else ""

    def make(execution):
        made = synthesize(folder, options, seed=seed, force=execution.force, progress=execution.progress)
        return Outcome(folder, True, ", ".join(f"{n:,} {what}" for what, n in made.items()))

    return Task(folder, why, make, is_replaced=True, is_locked=False)
