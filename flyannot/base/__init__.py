"""What all other rooms stand on: errors, options, registries, words, and the system."""
