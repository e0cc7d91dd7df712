"""No room grows beyond its budget: what is added to one place is taken from another."""

from tests.budget import budget, package_of, sizes


def test_no_place_is_larger_than_its_budget():
    """If one must be, lower the figure of another room by as much in the same commit."""
    allowed = budget()
    larger = {
        (place, name): number
        for place, size in sizes().items()
        for name, number in size.items()
        if number > allowed.get(place, {}).get(name, 0)
    }
    assert larger == {}


def test_the_rooms_together_are_allowed_no_more_than_the_package():
    allowed = budget()
    assert all(number <= allowed["flyannot"][name] for name, number in package_of(allowed).items())
