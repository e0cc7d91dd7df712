"""The data that the benchmarks measure on."""
