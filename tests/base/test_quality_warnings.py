"""Tests that warnings about pictures are the same after they were stored as text."""

import ast
from importlib import import_module
from pathlib import Path

import flyannot
from flyannot.base.quality_warnings import QualityWarning, format_warnings, parse_warnings
from flyannot.images import quality

PACKAGE = Path(flyannot.__file__).parent


def texts_of_warnings():
    """Return the texts and names in all calls that make a warning, or the reason of one."""
    found = {v for name, v in vars(quality).items() if name.isupper() and isinstance(v, str)}
    for path in {*PACKAGE.rglob("*.py")} - {PACKAGE / "base" / "quality_warnings.py"}:
        for call in ast.walk(ast.parse(path.read_text())):
            if not isinstance(call, ast.Call):
                continue
            if ast.unparse(call.func) not in ("QualityWarning", "no_embryo_error"):
                continue
            module = import_module("flyannot." + ".".join(path.relative_to(PACKAGE).with_suffix("").parts))
            for node in ast.walk(call):
                value = getattr(module, node.id, None) if isinstance(node, ast.Name) else None
                value = node.value if isinstance(node, ast.Constant) else value
                found |= {value} if isinstance(value, str) else set()
    return sorted(found)


def test_every_warning_is_the_same_after_it_was_stored():
    texts = texts_of_warnings()
    assert {"blank", quality.PORTRAIT, "folds or organs?", "the background is not plain"} <= set(texts)
    details = ["", "60 x 24 px", "a: b", "more unusual than 99.5% of the training images"]
    warnings = tuple(QualityWarning(kind, detail) for kind in texts for detail in [*details, *texts])
    assert parse_warnings(format_warnings(warnings)) == warnings
    assert parse_warnings(format_warnings(())) == ()
