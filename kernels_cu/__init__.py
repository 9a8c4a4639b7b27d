"""CUDA kernels, compiled at run time."""
