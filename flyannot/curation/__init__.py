"""Corrections of curators: how they are read and applied, and how far curators agree."""
