"""Feature-sign search and the Lagrange dual: Lee et al., NIPS 2006."""
