"""Limits on the size of the package, the tests, the benchmarks and the documentation."""

from tests.budget import code_lines, limits, sizes
from tests.conftest import ROOT


def test_nothing_is_larger_than_its_limit():
    allowed = limits()
    larger = [
        f"{place}: {size:,} of {allowed[place]:,}" for place, size in sizes().items() if size > allowed[place]
    ]
    assert not larger, "shorten something, or raise the limit in tests/budget.toml and say why"


def test_blank_lines_comments_and_docstrings_do_not_count():
    documented = '"""A\nmodule."""\n\ndef f():\n    """Say\n    what."""\n'
    source = documented + '    # why\n    return """a\n\nb"""  # three lines\n'
    assert code_lines(source) == 4


def test_the_slow_tests_are_there():
    for name in (ROOT / "tests" / "slow.txt").read_text().split():
        path, _, test = name.partition("::")
        assert f"def {test}(" in (ROOT / path).read_text() or not test, name
