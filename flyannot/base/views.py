"""Views of embryos: their names, and the type of an option whose value is a view."""

from functools import cache, lru_cache

from flyannot.base.options import TextType
from flyannot.base.text import fold

VIEWS = ("lateral", "dorsal", "ventral")
_ALIKE = 0.8  # difflib's similarity of a misspelt view; "dorsolateral" is a view of its own
_NOUNS = {"view", "vue", "vista", "veduta", "ansicht", "aanzicht", "widok", "вид"}
# The beginnings of words for a view in other languages, without accents; up to _ENDING letters may follow.
_BEGINNINGS = {
    "lateral": "lateral seitlich seitenansicht zijaanzicht boczn боков латеральн 側面 侧面 측면",
    "dorsal": "dorsal ruckenansicht rugzijde grzbietow спинн дорсальн 背面 背側 背侧 등쪽",
    "ventral": "ventral bauchansicht buikzijde brzuszn брюшн вентральн 腹面 腹側 腹侧 배쪽",
}
_ENDING = 3


@lru_cache(maxsize=2**12)
def parse_view(text):
    """Return a view in the form in which views are compared: "Lateral" and "lateral view" become "lateral".

    Capitals, invisible characters, the word "view" and accents in a usual view are ignored.
    A usual view is also known in other languages, such as "vue latérale".
    """
    visible = "".join(c for c in text.casefold() if c.isprintable())
    words = [word for word in fold(visible).split() if word not in _NOUNS]
    for view, beginnings in _BEGINNINGS.items():
        for known in beginnings.split() if len(words) == 1 else ():
            if words[0].startswith(known) and len(words[0]) <= len(known) + _ENDING:
                return view
    return " ".join(visible.split()).removesuffix(" view")


@cache
def suggest_view(view):
    """Return the usual view that a text abbreviates or misspells, such as "lateral" for "lat."; or ""."""
    from difflib import get_close_matches  # on demand, for a quick `--help`

    short = view.rstrip(".")
    meant = [name for name in VIEWS if short and name.startswith(short)]
    meant = meant or get_close_matches(view, VIEWS, n=1, cutoff=_ALIKE)
    return "" if view in VIEWS else next(iter(meant), "")


class ViewType(TextType):
    """The type of an option whose value is a view, in small or large letters."""

    def parse(self, value):
        return parse_view(super().parse(value))
