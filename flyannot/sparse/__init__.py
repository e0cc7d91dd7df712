"""Sparse coding: X ~ Z D with few non-zeros in Z.  Rows are samples and atoms, everywhere.

Every solver minimises the same objective for a sample x with the code z over the dictionary D:

    P(z) = 1/2 |x - z D|^2 + lam |z|_1.

`coders/` solves for z with D given.  `learners/` minimises the mean of P over the samples, over z and over D
with atoms of norm at most 1.  `objective.py` measures P and its duality gap in float64.
"""
