"""Row operations as explicit vector code, for the solvers."""
