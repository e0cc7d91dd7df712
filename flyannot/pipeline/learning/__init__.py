"""The samples from which dictionaries are learned."""
