"""Pictures: from an image file to the descriptors of its patches."""
