"""The page of all items, and its figures."""
