import numpy as np
import spams
from benchopt import BaseSolver


class Solver(BaseSolver):
    """Online dictionary learning of Mairal et al., 2010; an iteration is a pass over all samples."""

    name = "spams-online"
    requirements = ["pip::spams-bin"]
    parameters = {"batch_size": [256, 512]}

    def skip(self, X, D, lam, task):
        return task != "dictionary", "learns a dictionary"

    def set_objective(self, X, D, lam, task):
        self.X, self.D, self.lam = np.asfortranarray(X.T), np.asfortranarray(D.T), lam

    def run(self, n_iter):
        rules = {"mode": 2, "lambda1": self.lam, "batchsize": self.batch_size, "numThreads": 1}
        rules |= {"iter": n_iter * self.X.shape[1] // self.batch_size, "verbose": False}
        self.learned = spams.trainDL(self.X, D=self.D, **rules) if n_iter else self.D

    def get_result(self):
        return {"D": self.learned.T}
