"""Encoding of pictures: from descriptors to one vector per image or group."""
