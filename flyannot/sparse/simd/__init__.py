"""Row operations and the product X D^T as explicit vector code, for the kernels of coders and learners."""
