"""Doubly stochastic successive convex approximation: Koppel et al., ICASSP 2018."""
