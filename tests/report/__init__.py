"""Tests of the report: a package, so that one browser serves all its modules."""
