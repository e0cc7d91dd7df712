"""The templates of the page, by Jinja2: all values are escaped except HTML of another template."""

import json
from functools import cache
from importlib.resources import files

from markupsafe import Markup

from flyannot.base.text import pluralise


def render(name, **values):
    """Fill in a template; return HTML."""
    return Markup(_environment().get_template(name).render(values))


def read_template(name):
    """Return the text of a template as it is: a style sheet or a script."""
    return Markup((files("flyannot.report") / "templates" / name).read_text(encoding="utf-8"))


def read_all_templates():
    """Return the texts of all templates: a page is made again when one of them changes."""
    return [read_template(name) for name in _environment().list_templates()]


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
