"""Every option of every command as one page of Markdown: data/OPTIONS.md."""

import click

RENEW = "flyannot info --options > data/OPTIONS.md"

_HEAD = f"""\
# Every option of every command

Made by `{RENEW}`: change the commands, not this page.

Every command also takes `-v`, `--verbose` (say more), `-q`, `--quiet` (say only what went wrong),
`--debug` (show tracebacks) and `--help`. Any option can be given in the environment, in capitals and with
the name of its command: `FLYANNOT_EXTRACT_STRIDE_PX=8`. In a configuration of `flyannot run` options have
the names below, without the dashes.
"""
_SHARED = {"--verbose", "--quiet", "--debug", "--help"}


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
    rows = [_argument(p) if isinstance(p, click.Argument) else _option(p) for p in _own(command)]
    lines = [f"## {name}", "", " ".join(command.about.split()), ""]
    if rows:
        lines += ["| | value | default | |", "|---|---|---|---|", *map(_line, rows), ""]
    return "\n".join(lines)


def _own(command):
    return [param for param in command.params if not _SHARED & set(param.opts)]


def _argument(param):
    name = param.metavar or param.name.upper()
    return [f"`{name}`" + ("..." if param.nargs == -1 and "..." not in name else ""), "", "", ""]


def _option(param):
    names = ", ".join(f"`{name}`" for name in (*param.opts, *param.secondary_opts))
    return [names, _value(param), _default(param), param.help or ""]


def _value(param):
    if param.is_flag:
        return ""
    kind = param.type
    if isinstance(kind, click.Choice):
        return ", ".join(f"`{choice}`" for choice in kind.choices)
    name = "path" if isinstance(kind, click.Path) else param.metavar or kind.name
    name = {"integer range": "integer", "float range": "float"}.get(name, name)
    least = getattr(kind, "min", None)
    if least is not None:
        name += f", above {least:g}" if kind.min_open else f", {least:g} or more"
    if getattr(kind, "max", None) is not None:
        name += f", at most {kind.max:g}"
    return name + (", repeatable" if param.multiple else "")


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
