"""The data set folder: its tables, its images, and where they come from."""
