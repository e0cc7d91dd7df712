"""Measurements of our own: speed beside references, and annotation."""
