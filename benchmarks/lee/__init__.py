"""Lee et al., NIPS 2006: feature-sign search for codes, the Lagrange dual for bases."""
