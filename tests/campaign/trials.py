"""Numbers of trials: few in the ordinary tests, more in the campaign (`make campaign`)."""

import os

IN_CAMPAIGN = bool(os.environ.get("CAMPAIGN"))


def n_trials(n, campaign=None):
    """Return n, or in the campaign `campaign` (by default 10 n)."""
    if not IN_CAMPAIGN:
        return n
    return 10 * n if campaign is None else campaign
