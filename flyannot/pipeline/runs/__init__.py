"""Whole runs: all steps one after the other, how far they are, and as jobs of a workflow."""
