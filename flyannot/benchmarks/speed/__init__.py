"""Our speed beside that of reference implementations."""
