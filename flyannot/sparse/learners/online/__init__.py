"""Online learning (OL) and its masked form (MODL): sums of codes in the place of gradients."""
