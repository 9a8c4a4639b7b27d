"""Kernels for the host CPU, compiled at run time."""
