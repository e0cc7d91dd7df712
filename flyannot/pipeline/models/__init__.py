"""Encoders and models from files, as they are used on pictures."""
