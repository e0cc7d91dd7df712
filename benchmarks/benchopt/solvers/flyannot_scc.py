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
        self.options = {"alpha": lam, "dict_init": D, "random_state": 0}
        self.options["learner_params"] = {"variant": self.variant}

    def warm_up(self):
        self.run(1)

    def run(self, n_iter):
        learner = DictionaryLearning(len(self.D), max_iter=n_iter, **self.options)
        self.learned = learner.fit(self.X).components_ if n_iter else self.D

    def get_result(self):
        return {"D": self.learned}
