"""The options of a step as the header of a file names them."""

from dataclasses import asdict, fields


def named_options(options, later):
    """The fields of a dataclass by name, without those of `later` that have their default.

    Older files do not name the options that came later, and mean their defaults: nor does a new file,
    unless it uses them, so that the same work makes the same bytes.
    """
    defaults = {field.name: field.default for field in fields(options)}
    return {k: v for k, v in asdict(options).items() if k not in later or v != defaults[k]}
