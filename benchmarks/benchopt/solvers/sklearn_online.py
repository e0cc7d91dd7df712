from benchopt import BaseSolver
from sklearn.decomposition import MiniBatchDictionaryLearning


class Solver(BaseSolver):
    """scikit-learn's online learning; an iteration is a pass over all samples."""

    name = "sklearn-online"
    requirements = ["scikit-learn"]
    parameters = {"batch_size": [256]}

    def skip(self, X, D, lam, task):
        return task != "dictionary", "learns a dictionary"

    def set_objective(self, X, D, lam, task):
        self.X, self.D, self.lam = X, D, lam

    def run(self, n_iter):
        rules = {"alpha": self.lam, "batch_size": self.batch_size, "dict_init": self.D, "random_state": 0}
        rules |= {"max_no_improvement": None, "tol": 0, "fit_algorithm": "cd"}
        learner = MiniBatchDictionaryLearning(len(self.D), max_iter=n_iter, **rules) if n_iter else None
        self.learned = self.D if learner is None else learner.fit(self.X).components_

    def get_result(self):
        return {"D": self.learned}
