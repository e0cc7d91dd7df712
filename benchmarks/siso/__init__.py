"""Sparse codes over very many labelled images: Huang et al., ACM Multimedia 2013."""
