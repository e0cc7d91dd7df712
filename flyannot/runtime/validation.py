"""Options that cannot be meant, refused everywhere in the same words."""

from flyannot.errors import InputError, did_you_mean


def chosen(what, name, known):
    """`name`, if it is one of the `known` names; else InputError."""
    if name in known:
        return name
    raise InputError(
        f'there is no {what} "{name}".{did_you_mean(name, known)}', fix=f"use one of {', '.join(known)}"
    )


def require_legal(who, options):
    """Refuse, for `who`, the first illegal one of the options (name, value, is legal, legal range)."""
    for name, value, is_legal, legal_range in options:
        if not is_legal:
            raise InputError(f"{who} cannot work with {name} = {value}", fix=f"choose {name} {legal_range}")
