"""Pictures that are opened once, and what is stored of them for pages."""
