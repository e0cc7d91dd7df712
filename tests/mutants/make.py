"""One-line mutants of a module: a comparison, an operator, a constant, a bound or a call that is wrong."""

import ast
import copy
from typing import NamedTuple

PAIRS = [
    (ast.Lt, ast.LtE),
    (ast.Gt, ast.GtE),
    (ast.Eq, ast.NotEq),
    (ast.Is, ast.IsNot),
    (ast.In, ast.NotIn),
    (ast.Add, ast.Sub),
    (ast.Mult, ast.Div),
    (ast.BitAnd, ast.BitOr),
    (ast.And, ast.Or),
]
SWAPPED = {old: new for one, other in PAIRS for old, new in ((one, other), (other, one))}
SWAPPED[ast.FloorDiv] = ast.Mult
NAMES = {"min": "max", "max": "min", "any": "all", "all": "any", "minimum": "maximum", "maximum": "minimum"}
LOGS = {"log", "logger", "warnings"}  # what is only said changes no result
SKIPPED = (ast.JoinedStr, ast.arg, ast.Import, ast.ImportFrom, ast.Raise)  # a message's words, types


class Mutant(NamedTuple):
    """One change of a module: where it lies, what stands there, and the whole text with the change."""

    line: int
    function: str
    old: str
    new: str
    text: str

    @property
    def change(self):
        return f"{self.old} -> {self.new}"


def mutants_of(text):
    """Return every mutant of a module's text, in the order of its lines."""
    starts = [0]
    for line in text.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    for node, function in _nodes(ast.parse(text), "module"):
        for target, wrong in _wrong(node):
            begin = starts[target.lineno - 1] + target.col_offset
            end = starts[target.end_lineno - 1] + target.end_col_offset
            new = ast.unparse(ast.fix_missing_locations(wrong))
            put = f"({new})" if isinstance(wrong, ast.expr) and not isinstance(wrong, ast.Slice) else new
            changed = text.encode()[:begin] + put.encode() + text.encode()[end:]
            found.append(Mutant(target.lineno, function, ast.unparse(target), new, changed.decode()))
    return sorted(found, key=lambda m: (m.line, m.old, m.new))


def _nodes(node, function):
    """Yield every node that may be changed, with the name of the function around it."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        function = node.name
    yield node, function
    for field, value in ast.iter_fields(node):
        if isinstance(node, SKIPPED) or field in ("decorator_list", "annotation", "returns"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _nodes(child, function)


def _wrong(node):
    """Pairs: the node to replace, and a wrong form of it."""
    if isinstance(node, ast.Compare):
        for number, operator in enumerate(node.ops):
            wrong = copy.deepcopy(node)
            wrong.ops[number] = SWAPPED[type(operator)]()
            yield node, wrong
    elif isinstance(node, ast.BinOp | ast.BoolOp | ast.AugAssign) and type(node.op) in SWAPPED:
        wrong = copy.deepcopy(node)
        wrong.op = SWAPPED[type(node.op)]()
        yield node, wrong
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield node, node.operand
    elif isinstance(node, ast.Constant):
        yield from ((node, ast.Constant(other)) for other in _other_values(node.value))
    elif isinstance(node, ast.Slice):
        for side in ("lower", "upper"):
            if getattr(node, side) is not None:
                wrong = copy.deepcopy(node)
                setattr(wrong, side, ast.BinOp(getattr(wrong, side), ast.Add(), ast.Constant(1)))
                yield node, wrong
    elif isinstance(node, ast.Call):
        where = "attr" if isinstance(node.func, ast.Attribute) else "id"
        if getattr(node.func, where, None) in NAMES:
            wrong = copy.deepcopy(node)
            setattr(wrong.func, where, NAMES[getattr(node.func, where)])
            yield node, wrong
    elif isinstance(node, ast.Raise) or (isinstance(node, ast.Expr) and _acts(node.value)):
        yield node, ast.Pass()
    elif isinstance(node, ast.If | ast.IfExp | ast.While) and isinstance(
        node.test, ast.Name | ast.Attribute | ast.Call | ast.Subscript
    ):
        yield node.test, ast.UnaryOp(ast.Not(), node.test)


def _acts(value):
    """Return True for a statement that calls more than a logger."""
    names = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}
    return isinstance(value, ast.Call) and not LOGS & names


def _other_values(value):
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value - 1]
    return [2 * value if value else 1.0, value / 2 if value else -1.0] if isinstance(value, float) else []
