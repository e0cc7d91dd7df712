"""Reference implementations, beside which ours are measured.

Programs of other projects are asked for by name, and none is needed to use flyannot.  Programs of this
folder that stand for a published program, or for the obvious way, are compiled like ours.
"""

from importlib.util import find_spec
from typing import NamedTuple


class Reference(NamedTuple):
    """A program of others: what Python imports, its name in the package index, and how it is installed."""

    module: str
    project: str
    install: str


REFERENCES = {
    "spams": Reference("spams", "spams-bin", "pip install 'flyannot[bench]'"),
    "scikit-learn": Reference("sklearn", "scikit-learn", "pip install scikit-learn"),
    "celer": Reference("celer", "celer", "pip install 'flyannot[bench]'"),
    "skglm": Reference("skglm", "skglm", "pip install 'flyannot[bench]'"),
    "osqp": Reference("osqp", "osqp", "pip install 'flyannot[reproduce]'"),
    "opencv": Reference("cv2", "opencv-python-headless", "pip install opencv-python-headless"),
}


def why_reference_is_absent(name):
    """Say in one line that a reference is absent and how to get it; return "" otherwise."""
    if not name or find_spec(REFERENCES[name].module):
        return ""
    return f"absent: {name} is not installed ({REFERENCES[name].install})"
