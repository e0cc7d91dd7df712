"""Doubly stochastic successive convex approximation (DSSC)."""
