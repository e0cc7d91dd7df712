"""Whole runs: all steps one after the other, how far they are, as jobs, and many of them in one table."""
