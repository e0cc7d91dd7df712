"""Tests of the options of training."""

import pytest

from flyannot.base.errors import InputError
from flyannot.terms.options import TrainOptions


def test_a_term_with_a_comma_is_named_in_quotes():
    for given in ('"gut, dorsal",pole cell', ["pole cell", '"gut, dorsal"']):
        options = TrainOptions(exclude_terms=given)
        assert options.exclude_terms == ("gut, dorsal", "pole cell")
        assert TrainOptions.from_header(options.to_header()) == options
    with pytest.raises(InputError, match="a name with a comma in double quotes"):
        TrainOptions(exclude_terms='"gut')
