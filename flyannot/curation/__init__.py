"""Corrections of curators: read, applied, and how far curators agree."""
