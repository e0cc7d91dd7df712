"""Vector instructions for operations on rows of matrices, and the product X D^T, for coders and learners."""
