from benchopt import BaseSolver

from flyannot import DictionaryLearning


class Solver(BaseSolver):
    """Stochastic coordinate coding; an iteration is a pass over all samples."""

    name = "flyannot-scc"
    requirements = ["pip::flyannot"]
    parameters = {"variant": ["quick", "released"]}

    def skip(self, X, D, lam, task):
        return task != "dictionary", "learns a dictionary"

    def set_objective(self, X, D, lam, task):
        self.X, self.D = X, D
        self.options = {
            "alpha": lam,
            "dict_init": D,
            "learner_params": {"variant": self.variant},
            "random_state": 0,
        }

    def warm_up(self):
        self.run(1)

    def run(self, n_iter):
        learned = (
            DictionaryLearning(len(self.D), max_iter=n_iter, **self.options).fit(self.X) if n_iter else None
        )
        self.learned = self.D if learned is None else learned.components_

    def get_result(self):
        return {"D": self.learned}
