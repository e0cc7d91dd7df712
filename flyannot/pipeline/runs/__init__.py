"""Whole runs: configurations, all steps in order, their status, and workflows."""
