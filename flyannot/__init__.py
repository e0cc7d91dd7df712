"""flyannot: anatomical terms for Drosophila embryo gene-expression images, by sparse coding."""

__version__ = "0.1.0"
