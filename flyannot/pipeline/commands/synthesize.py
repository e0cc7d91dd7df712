"""The task that draws synthetic embryos."""

from flyannot.dataset.synthetic import SynthesizeOptions
from flyannot.dataset.synthetic.generate import README, format_readme, synthesize
from flyannot.files.text_files import read_first_bytes
from flyannot.pipeline.engine.task import Outcome, Task

DEMO = SynthesizeOptions(n_genes=100, max_images=3)  # of `flyannot run --demo`


class SynthesizeTask(Task):
    """A task that draws a data set folder of synthetic embryos.

    Parameters
    ----------
    folder : Path
    options : SynthesizeOptions
    seed : int
    """

    is_replaced = True
    is_locked = False

    def __init__(self, folder, options, seed):
        super().__init__(folder)
        self._options, self._seed = options, seed

    def stale_reason(self, *, is_verified=True):
        if not (self.path / "images.csv").exists():
            return "it is not there yet"
        readme = self.path / README
        expected = format_readme(self._options, self._seed).encode()
        is_other = readme.is_file() and read_first_bytes(readme, len(expected) + 1) != expected
        return "these embryos were drawn with other options" if is_other else ""

    def make(self, execution):
        how = {"force": execution.force, "progress": execution.progress, "workers": execution.workers}
        made = synthesize(self.path, self._options, seed=self._seed, **how)
        return Outcome(self.path, True, ", ".join(f"{n:,} {what}" for what, n in made.items()))
