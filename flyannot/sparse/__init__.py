"""Sparse coding: X ~ Z D with few non-zeros in Z.  Rows are samples and atoms, everywhere.

One objective for every solver: 1/2 |x - z D|^2 + lam |z|_1, averaged over samples only where reported.
"""
