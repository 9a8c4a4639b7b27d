# What needs an NVIDIA GPU. WHEELS: a folder with a carried wheel of PyCUDA and of what it needs, for machines without a network.
WHEELS ?= wheels
DEVICE ?= 0

.PHONY: setup-cuda gpu-check

setup-cuda: $(VENV)/installed
	@$(BIN)/python -m ert.pycuda_setup --wheels $(WHEELS)

gpu-check: setup-cuda
	@$(BIN)/python bench/gpu_check.py --device $(DEVICE)
