import numpy as np
import spams
from benchopt import BaseSolver


class Solver(BaseSolver):
    """SPAMS's homotopy: exact codes, once."""

    name = "spams-lars"
    sampling_strategy = "run_once"
    requirements = ["pip::spams-bin"]

    def skip(self, X, D, lam, task):
        return task != "codes", "codes over given atoms"

    def set_objective(self, X, D, lam, task):
        self.X, self.D, self.lam = np.asfortranarray(X.T), np.asfortranarray(D.T), lam

    def run(self, _):
        self.codes = spams.lasso(self.X, self.D, lambda1=self.lam, mode=2, numThreads=1)

    def get_result(self):
        return {"Z": self.codes.T.toarray()}
