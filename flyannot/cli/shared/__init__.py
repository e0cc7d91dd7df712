"""Options, help pages, messages, progress and exit codes, which all commands share."""
