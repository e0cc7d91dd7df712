"""Views of embryos: their names, and the type of an option whose value is a view."""

from flyannot.base.options import TextType
from flyannot.base.text import fold

VIEWS = ("lateral", "dorsal", "ventral")
_ALIKE = 0.8  # difflib's similarity of a misspelt view; "dorsolateral" is a view of its own


def parse_view(text):
    """Return a view in the form in which views are compared: "Lateral" and "lateral view" become "lateral".

    Capitals, characters that are not visible, and the word "view" do not count, nor accents in a usual view.
    """
    visible = "".join(c for c in text.casefold() if c.isprintable())
    view = " ".join(visible.split()).removesuffix(" view")
    return fold(view) if fold(view) in VIEWS else view


def suggest_view(view):
    """Return the usual view that is abbreviated or misspelt, such as "lateral" for "lat."; "" for none."""
    from difflib import get_close_matches  # on demand, for a quick `--help`

    short = view.rstrip(".")
    meant = [name for name in VIEWS if short and name.startswith(short)]
    meant = meant or get_close_matches(view, VIEWS, n=1, cutoff=_ALIKE)
    return "" if view in VIEWS else next(iter(meant), "")


class ViewType(TextType):
    """The type of an option whose value is a view, in small or large letters."""

    def parse(self, value):
        return parse_view(super().parse(value))
