"""Rates of learning that several items measure: OL by SPAMS, or by our own OL where SPAMS is absent."""

from dataclasses import dataclass

from flyannot.benchmarks.speed.children.learning import learn_ours, learn_spams
from flyannot.benchmarks.speed.peers import why_absent

PATCHES_AT_BATCH_1 = {500: 300, 1000: 150, 2000: 60}  # OL takes from 2 to 150 ms a patch there
PROJECTED = "projected"


@dataclass(frozen=True)
class Learned:
    """One run of a learner.  `trace` has (seconds, objective) of every epoch where there is one."""

    who: str
    variant: str
    m: int
    n: int
    n_epochs: int
    us_per_patch: float
    objective: float
    trace: list

    def hours(self, n_patches, n_epochs):
        """What so many visits take at this rate."""
        return hours(self.us_per_patch, n_patches, n_epochs)

    def row(self, **more):
        """For the table of measurements."""
        return more | {
            "who": self.who, "variant": self.variant, "n_atoms": self.m, "n_patches": self.n,
            "n_epochs": self.n_epochs, "us_per_patch": self.us_per_patch, "objective": self.objective,
        }  # fmt: skip


def hours(us_per_patch, n_patches, n_epochs):
    """Microseconds a visit into hours for all visits."""
    return us_per_patch * n_patches * n_epochs / 3.6e9


def run_scc(problem, m, n, *, n_epochs=10, variant="paper", **settings):
    """Learn by SCC from the first n patches of a problem."""
    settings = {"variant": variant} | settings
    done = learn_ours(**problem.arguments(m), n=n, n_epochs=n_epochs, settings=settings)
    return _learned("flyannot SCC", variant, m, done)


def run_our_ol(problem, m, n, *, batch_size, n_epochs=1):
    """Learn by our own OL."""
    settings = {"batch_size": batch_size}
    done = learn_ours(**problem.arguments(m), n=n, n_epochs=n_epochs, learner="ol", settings=settings)
    return _learned("flyannot OL", f"batch {batch_size}", m, done)


def run_ol(problem, m, n, *, batch_size, n_epochs=1):
    """Learn by OL at a batch size: SPAMS's trainDL, or our own OL where it is absent."""
    if why_absent("spams"):
        return run_our_ol(problem, m, n, batch_size=batch_size, n_epochs=n_epochs)
    done = learn_spams(**problem.arguments(m), n=n, n_epochs=n_epochs, batch_size=batch_size)
    return _learned("SPAMS OL", f"batch {batch_size}", m, done)


def who_is_ol():
    """Which program stands for the paper's OL, for people."""
    absent = why_absent("spams")
    return f"our own OL ({absent})" if absent else "SPAMS's trainDL, the program of the paper"


def _learned(who, variant, m, done):
    return Learned(
        who, variant, m, done["n"], done["epochs"], done["us_per_patch"], done["objective"],
        done.get("trace", []),
    )  # fmt: skip
