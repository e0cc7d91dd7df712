"""Stochastic coordinate coding: Lin et al., KDD 2014."""
