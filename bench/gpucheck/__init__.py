"""The parts of `make gpu-check`; ``bench/gpu_check.py`` puts them in order.

table.py      rows, and the file that holds them at any moment
programs.py   other programs, each with a limit of time; what they say goes into one log
expected.py   what is expected of a device
sweeps.py     running a sweep, and the rows of what it found
points.py     single points of a sweep, for those who ask why a number falls short
steps.py      steps that need the device itself, each in a process of its own
witnesses.py  others' ways to use the device: the driver's copy, cuBLAS
"""
