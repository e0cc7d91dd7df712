"""What all commands share: options, exit codes, help pages, interrupts, progress."""
