"""Stochastic Coordinate Coding (SCC)."""
