"""How well embryos are annotated, and their images found, by what the papers do not measure."""
