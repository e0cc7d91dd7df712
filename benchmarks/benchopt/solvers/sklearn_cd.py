import warnings

from benchopt import BaseSolver
from sklearn.decomposition import sparse_encode
from sklearn.exceptions import ConvergenceWarning


class Solver(BaseSolver):
    """scikit-learn's coordinate descent; an iteration is a sweep over all atoms."""

    name = "sklearn-cd"
    requirements = ["scikit-learn"]

    def skip(self, X, D, lam, task):
        return task != "codes", "codes over given atoms"

    def set_objective(self, X, D, lam, task):
        self.X, self.D, self.lam = X, D, lam
        warnings.simplefilter("ignore", ConvergenceWarning)  # it is asked for few sweeps first

    def run(self, n_iter):
        self.codes = sparse_encode(self.X, self.D, algorithm="lasso_cd", alpha=self.lam, max_iter=n_iter + 1)

    def get_result(self):
        return {"Z": self.codes}
