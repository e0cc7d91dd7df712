"""The page's templates, by Jinja2: whatever is put into one is escaped, but for HTML of another."""

import json
from functools import cache
from importlib.resources import files

from markupsafe import Markup

from flyannot.base.text import pluralise


def render(name, **values):
    """A template filled in: HTML."""
    return Markup(_environment().get_template(name).render(values))


def raw(name):
    """The text of a template as it is: style, or script."""
    return Markup((files("flyannot.report") / "templates" / name).read_text(encoding="utf-8"))


def all_texts():
    """The texts of all templates: when one changes, a page is made again."""
    return [raw(name) for name in _environment().list_templates()]


@cache
def _environment():
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("flyannot.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["counted"] = pluralise
    environment.filters["json"] = json.dumps
    return environment
