"""Feature-sign search."""
