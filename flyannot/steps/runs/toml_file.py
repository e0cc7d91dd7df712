"""TOML files of users: read, and what is wrong in them said with the line that mends it."""

import re
import tomllib
from pathlib import Path

from flyannot.errors import InputError
from flyannot.runtime.atomic_file import read_text


def read_toml(path, *, example="configs/demo.toml"):
    """The tables of a TOML file.

    Raises
    ------
    InputError
        If it cannot be read, or is none; `example` is a file to name instead.
    """
    path, fix = Path(path), f"name a TOML file, such as {example}"
    text = read_text(path, fix=fix)
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise InputError(f"{path} is not a configuration: it is nested too deep", fix=fix) from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is not TOML: {error}", fix=_remedy_of_toml(text, str(error))) from error


def _remedy_of_toml(text, message):
    """How to mend the line of a TOML file that an error names."""
    found = re.search(r"at line (\d+)", message)
    line = text.splitlines()[int(found[1]) - 1] if found else ""
    name, equals, value = (part.strip() for part in line.partition("="))
    if equals and "\\" in value:
        return f"a path takes / in double quotes, or stands in single quotes: {name} = '{_bare(value)}'"
    is_open = value[:1] in ("'", '"') and (len(value) == 1 or value[-1] != value[0])
    if equals and value and (is_open or value[0] not in "\"'[{"):
        return f'text stands in quotes: {name} = "{_bare(value)}"'
    return 'write a line as name = "text" or name = number, and a table as [extract]'


def _bare(value):
    return value.strip("\"' ")
