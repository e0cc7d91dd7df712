"""A run as a workflow: jobs for an engine of others, each of them `flyannot run` of one step, or of a share
of one."""
