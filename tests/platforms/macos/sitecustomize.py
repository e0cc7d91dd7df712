"""Python as on macOS: see ../hidden.py."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from hidden import MACOS, hide  # noqa: E402 - found by the line above

hide(MACOS)
sys.path.pop(0)
