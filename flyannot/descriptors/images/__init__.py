"""Pictures: named, opened and decoded (in one place), checked, and brought to the standard size."""
