"""Labelled synthetic embryos."""
