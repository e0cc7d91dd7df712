"""Every option of every command as one page of Markdown: docs/commands.md."""

from dataclasses import fields

import click

from flyannot.cli.shared.help_page import is_of_every_command
from flyannot.cli.shared.options import FieldOption
from flyannot.options import kebab, shown_default

RENEW = "flyannot info --options > docs/commands.md"

_HEAD = f"""\
# Every option of every command

Made by `{RENEW}`: change the commands, not this page.

Every command also takes `-v`, `--verbose` (say more), `-q`, `--quiet` (say only what went wrong),
`--debug` (show tracebacks), `--log-format json` (messages for programs, one object a line) and `--help`.
Options of a table, such as `[extract]`, can be given in a configuration of `flyannot run`, by the names below
without the dashes, and in the environment, in capitals and with the name of the table:
`FLYANNOT_EXTRACT_STRIDE_PX=8`.
"""


def commands_below(group, name="flyannot"):
    """(full name, command) of every command in a group, also in groups within it."""
    for word in group.list_commands(None):
        command = group.get_command(None, word)
        if isinstance(command, click.Group):
            yield from commands_below(command, f"{name} {word}")
        else:
            yield f"{name} {word}", command


def option_table():
    """The page."""
    from flyannot.cli import group

    return "\n".join([_HEAD, *(_section(name, command) for name, command in commands_below(group))]).strip()


def _section(name, command):
    own = [param for param in command.params if not is_of_every_command(param)]
    rows = [_argument(p) if isinstance(p, click.Argument) else _option(p) for p in own]
    lines = [f"## {name}", "", " ".join(command.about.split()), ""]
    if rows:
        lines += ["| | value | default | table | |", "|---|---|---|---|---|", *map(_line, rows), ""]
    for param in own:
        if isinstance(param, FieldOption):
            for owner, cls in getattr(param.field.metadata["kind"], "owners", {}).items():
                lines += [f"### {param.opts[0]} of {owner}", ""]
                lines += ["| | value | default | |", "|---|---|---|---|"]
                lines += [*map(_line_of_field, fields(cls.Options)), ""]
    return "\n".join(lines)


def _line_of_field(option):
    """Of an option that a thing of a registry, such as a learner, has of its own."""
    about = option.metadata
    return _line([f"`{kebab(option.name)}`", _words(about["kind"]), shown_default(option), about["help"]])


def _argument(param):
    name = param.metavar or param.name.upper()
    return [f"`{name}`" + ("..." if param.nargs == -1 and "..." not in name else ""), "", "", "", ""]


def _option(param):
    names = ", ".join(f"`{name}`" for name in (*param.opts, *param.secondary_opts))
    if isinstance(param, FieldOption):
        about = param.field.metadata
        table = f"`[{param.table}]`" if about["in_files"] else ""
        return [names, _value(param), param.shown_default, table, about["help"]]
    return [names, _value(param), _default(param), "", param.help or ""]


def _value(param):
    if param.is_flag:
        return ""
    kind = param.field.metadata["kind"] if isinstance(param, FieldOption) else param.type
    has_choices = bool(getattr(kind, "choices", None))
    if isinstance(param, FieldOption) or has_choices:
        text = _words(kind)
    elif isinstance(kind, click.Path):
        text = "a path"
    else:
        text = param.metavar or kind.name.replace(" range", "")
    return text + (", repeatable" if param.multiple else "")


def _words(kind):
    return ", ".join(f"`{choice}`" for choice in kind.choices) or kind.words


def _default(param):
    if isinstance(param.show_default, str):
        return param.show_default
    if param.required:
        return "required"
    if not param.show_default:  # there is none, or the help says it
        return ""
    if param.secondary_opts:
        return (param.opts if param.default else param.secondary_opts)[0]
    values = param.default if isinstance(param.default, tuple | list) else [param.default]
    return ", ".join(str(value) for value in values)


def _line(cells):
    return "| " + " | ".join(" ".join(cell.replace("|", "\\|").split()) for cell in cells) + " |"
