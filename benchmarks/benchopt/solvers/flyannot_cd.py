from benchopt import BaseSolver

from flyannot import SparseCoder


class Solver(BaseSolver):
    """Coordinate descent, until the duality gap of every code is small enough."""

    name = "flyannot-cd"
    sampling_strategy = "tolerance"
    requirements = ["pip::flyannot"]

    def skip(self, X, D, lam, task):
        return task != "codes", "codes over given atoms"

    def set_objective(self, X, D, lam, task):
        self.X, self.D, self.lam = X, D, lam

    def warm_up(self):
        self.run(1e-2)

    def run(self, tol):
        self.codes = SparseCoder(self.D, alpha=self.lam, tol=max(tol, 1e-6)).transform(self.X)

    def get_result(self):
        return {"Z": self.codes}
