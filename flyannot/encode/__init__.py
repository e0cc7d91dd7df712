"""Encoding of pictures: from descriptors of patches to one feature vector per image or group."""
