"""SISO, hash-accelerated SISO, and what they search with."""
