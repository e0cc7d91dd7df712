"""Python as on Windows: see ../hidden.py."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from hidden import WINDOWS, hide  # noqa: E402 - found by the line above

hide(WINDOWS)
sys.path.pop(0)
