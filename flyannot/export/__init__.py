"""Results for other tools: one function writes one kind of file in one format, see `formats`."""
