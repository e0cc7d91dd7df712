"""Reference implementations that ours are measured against.

References of other projects are imported by name, and none is needed to use flyannot. The modules of this
folder implement a published program or the obvious method, and are compiled as ours are.
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
    "opencv": Reference("cv2", "opencv-python-headless", "pip install opencv-python-headless"),
}


def why_reference_is_absent(name):
    """Return a line on how to install a reference; "" if it is installed, or for no name."""
    if not name or find_spec(REFERENCES[name].module):
        return ""
    return f"absent: {name} is not installed ({REFERENCES[name].install})"
