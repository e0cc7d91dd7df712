"""Which entries of the table of groups and terms were observed: the others take no part in anything.

`observed` is a bool array (n_rows, n_terms), or None where all entries were.  A classifier gets a Y that
is false where nothing was observed, and must give the same for any other Y there.
"""

import numpy as np


def observed_rows(observed, n_terms):
    """For every term what picks the rows out of an array in which it was observed."""
    if observed is None:
        return [slice(None)] * n_terms
    return [np.flatnonzero(column) for column in observed.T]


def rows_and_terms(observed, n_terms):
    """(rows, terms) of all terms that were observed in the same rows, to be fitted at once; none that
    nowhere was."""
    if observed is None:
        return [(slice(None), slice(None))]
    patterns, number = np.unique(observed, axis=1, return_inverse=True)
    parts = [(np.flatnonzero(rows), np.flatnonzero(number == k)) for k, rows in enumerate(patterns.T)]
    return [(rows, terms) for rows, terms in parts if len(rows)]


def part_of(observed, rows, columns=slice(None)):
    """`observed` of some rows and terms."""
    return None if observed is None else observed[rows][:, columns]
