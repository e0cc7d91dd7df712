"""How often a test tries: seconds' worth with the others, more in the campaign (`make campaign`)."""

import os

IN_CAMPAIGN = bool(os.environ.get("CAMPAIGN"))


def n_trials(n, campaign=None):
    """n, or in the campaign `campaign` (ten times as many unless told)."""
    if not IN_CAMPAIGN:
        return n
    return 10 * n if campaign is None else campaign
