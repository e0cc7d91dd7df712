"""The steps of the pipeline, one a file: read files, call the library, write one file.

Every step is a function (inputs, output, options, *, force, ...) -> Outcome.  An output that is
already what the step would make is left alone; one made otherwise is replaced only with `force`.
The command line and `flyannot run` are two callers of the same functions.
"""
