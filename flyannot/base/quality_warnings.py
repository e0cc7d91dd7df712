"""Warnings about the quality of a picture, which are values until they are printed or stored."""

from typing import NamedTuple


class QualityWarning(NamedTuple):
    """A warning about a picture: its kind in words, such as "small", and a detail, such as "60 x 24 px".

    The kind must not contain ": ", and neither may contain ", ".
    """

    kind: str
    detail: str = ""

    def __str__(self):
        return f"{self.kind}: {self.detail}" if self.detail else self.kind


def format_warnings(warnings):
    """Format the QualityWarnings of one picture as text, separated by commas."""
    return ", ".join(map(str, warnings))


def parse_warnings(text):
    """Parse text from `format_warnings`, and return the tuple of QualityWarnings in it."""
    return tuple(QualityWarning(*one.split(": ", 1)) for one in text.split(", ") if one)
