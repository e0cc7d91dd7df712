"""How flyannot runs on a machine: files, workers, memory, digests, the cache of compiled kernels."""
