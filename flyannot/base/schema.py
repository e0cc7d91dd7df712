"""Schemas of stored records: which fields a JSON value must have, of which type, range and length.

A schema is

- an `OptionType`, for a single value. Text counts as text, never as a number or flag
- a dict, field -> schema, for an object; other fields may be there. The key None stands for every field
- a list with one schema, for a list of any length; a list with several schemas, for a list of that length
- a tuple (schema, None), for a value that may be null
"""

from flyannot.base.options import ChoiceType, TextType

_OF_TEXT = ChoiceType, TextType


def check_schema(value, schema, name="it"):
    """Check that a JSON value has the fields, types and ranges that a schema asks for.

    Parameters
    ----------
    value : JSON value
    schema : as the module docstring describes
    name : str, how messages call the value; parts of it are named as name.part

    Raises
    ------
    ValueError
        If the value does not fit. The message names the first field that is wrong.
    """
    if isinstance(schema, tuple):
        if value is not None:
            check_schema(value, schema[0], name)
    elif isinstance(schema, dict | list):
        if not isinstance(value, type(schema)):
            raise ValueError(f"{name} is not {'a list' if isinstance(schema, list) else 'an object'}")
        if isinstance(schema, list):
            if len(value) != len(schema) > 1:
                raise ValueError(f"{name} has {len(value)} entries instead of {len(schema)}")
            value = dict(enumerate(value))
            schema = dict(enumerate(schema)) if len(schema) > 1 else {None: schema[0]}
        for key, of_part in schema.items():
            for part in value if key is None else (key,):
                if part not in value:
                    raise ValueError(f"{name} has no field {part}")
                check_schema(value[part], of_part, f"{name}.{part}".removeprefix("it."))
    else:
        try:
            schema.parse(None if isinstance(value, str) and not isinstance(schema, _OF_TEXT) else value)
        except ValueError:
            raise ValueError(f"{name} must be {schema.words}") from None
