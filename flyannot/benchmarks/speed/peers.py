"""Which peers are here.  None is needed to use flyannot; each is asked for by name."""

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec


@dataclass(frozen=True)
class Peer:
    """A program that we are measured against."""

    module: str
    project: str  # its name in the package index
    install: str


PEERS = {
    "spams": Peer("spams", "spams-bin", "pip install 'flyannot[bench]'"),
    "scikit-learn": Peer("sklearn", "scikit-learn", "pip install scikit-learn"),
    "opencv": Peer("cv2", "opencv-python-headless", "pip install opencv-python-headless"),
}


def why_absent(name):
    """One line that says that a peer is absent and how to get it; "" if it is here."""
    peer = PEERS[name]
    return "" if find_spec(peer.module) else f"absent: {name} is not installed ({peer.install})"


def submodule(name, path=""):
    """A module of a peer, such as submodule("scikit-learn", "decomposition")."""
    return import_module(".".join(filter(None, (PEERS[name].module, path))))
