"""Errors, options, registries, text and the operating system: the foundation of all other rooms."""
