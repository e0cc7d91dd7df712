"""A file in words, for `flyannot show`."""

import json

from flyannot.store.reading import open_stored
from flyannot.store.schema import MADE_BY

_MOST_SHOWN = 10  # values of a short dataset that are printed


def describe_file(path):
    """Header, then every dataset of every stage range with its shape; lists of terms in full."""
    with open_stored(path) as stored:
        lines = [
            f"{path}: {stored.kind}, made by {MADE_BY[stored.kind]} of flyannot {stored.version}",
            f"digest   {stored.digest}",
            *(f"from     {role} {digest}" for role, digests in stored.inputs.items() for digest in digests),
            *(f"option   {name} = {json.dumps(value)}" for name, value in sorted(stored.options.items())),
        ]
        if stored.seed is not None:
            lines.append(f"seed     {stored.seed}")
        lines += [f"skipped  {image}: {reason}" for image, reason in stored.failures]
        for stage_range in stored.stage_ranges:
            lines += ["", stage_range, *_datasets(stored, stage_range)]
        return "\n".join(lines)


def _datasets(stored, stage_range):
    names = []
    group = stored.group(stage_range)
    group.visit(names.append)
    for name in names:
        if hasattr(group[name], "shape"):
            shape = " x ".join(f"{n:,}" for n in group[name].shape)
            kind = "text" if group[name].dtype.kind == "S" else str(group[name].dtype)
            yield f"  {name:<24} {shape:<18} {kind:<8} {_values(stored, stage_range, name)}"


def _values(stored, stage_range, name):
    shape = stored.group(stage_range)[name].shape
    if name.startswith("trace/") or name == "term" or len(shape) == 1 and shape[0] <= _MOST_SHOWN:
        return ", ".join(v if isinstance(v, str) else f"{v:.5g}" for v in stored.array(stage_range, name))
    return ""
