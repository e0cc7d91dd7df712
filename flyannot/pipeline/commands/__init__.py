"""Tasks of commands that are no steps of a run."""
