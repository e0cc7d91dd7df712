"""Limits on the size of the package, the tests, the benchmarks and the documentation."""

from tests.budget import code_lines, limits, sizes


def test_nothing_is_larger_than_its_limit():
    allowed = limits()
    assert {place: size for place, size in sizes().items() if size > allowed[place]} == {}


def test_blank_lines_comments_and_docstrings_do_not_count():
    documented = '"""A\nmodule."""\n\ndef f():\n    """Say\n    what."""\n'
    source = documented + '    # why\n    return """a\n\nb"""  # three lines\n'
    assert code_lines(source) == 4
