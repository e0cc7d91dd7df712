"""Masked online dictionary learning: Mensch et al., ICML 2016."""
