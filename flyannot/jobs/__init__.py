"""How work is carried out: processes and threads, memory, compiled kernels."""
