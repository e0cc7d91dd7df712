"""The Jinja2 templates of the report page; all values are escaped, except HTML from other templates."""

import json
from functools import cache
from importlib.resources import files

from markupsafe import Markup

from flyannot.base.text import pluralise


def render(name, **values):
    """Render the template file `name` with these values as HTML."""
    return Markup(_environment().get_template(name).render(values))


def read_template(name):
    """Return the text of a template file without rendering it, such as a style sheet or a script."""
    return Markup((files("flyannot.report") / "templates" / name).read_text(encoding="utf-8"))


def read_all_templates():
    """Return a list of the texts of all template files; if one changes, pages count as outdated."""
    paths = (files("flyannot.report") / "templates").iterdir()
    return [read_template(name) for name in sorted(path.name for path in paths)]


@cache
def _environment():
    """Return the Jinja2 environment of the templates, which is created once."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("flyannot.report"),
        autoescape=True,
        auto_reload=False,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["counted"] = pluralise
    environment.filters["json"] = json.dumps
    return environment
