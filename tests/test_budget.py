"""The package, the tests, the benchmarks and the documentation stay below their limits."""

from tests.budget import code_lines, limits, sizes


def test_nothing_is_larger_than_its_limit():
    allowed = limits()
    assert {place: size for place, size in sizes().items() if size > allowed[place]} == {}


def test_blank_lines_comments_and_docstrings_do_not_count():
    source = '"""A\nmodule."""\n\nimport os  # here\n\n\ndef f():\n    """Say\n    what."""\n    # why\n    return """a\n\nb"""\n'
    assert code_lines(source) == 5
