# What needs an NVIDIA GPU, and what a machine with one but without a network needs.
DEVICE ?= 0
# Where results go, and how long everything may take, from the start of make on.
RESULTS ?= results
LIMIT_S ?= 360
# Of the machine to carry wheels to: its version of Python, the packages it has, whether it has a CUDA toolkit; CUBLAS=yes: cuBLAS, too.
FOR ?=
HAS ?=
TOOLKIT ?= yes
CUBLAS ?= no
# PyCUDA is built within the limit, too.
STARTED := $(if $(filter gpu-check,$(MAKECMDGOALS)),$(shell date +%s))

.PHONY: setup-cuda gpu-check wheels

setup-cuda: $(VENV)/installed
	@$(BIN)/python -m ert.pycuda_setup --wheels "$(WHEELS)"

gpu-check: setup-cuda
	@$(BIN)/python bench/gpu_check.py --device $(DEVICE) --out "$(RESULTS)" --limit-s $(LIMIT_S) $(if $(STARTED),--started $(STARTED))

wheels: $(VENV)/installed
	@$(BIN)/python bench/carry.py --folder "$(WHEELS)" $(if $(FOR),--python $(FOR)) --has "$(HAS)" \
		$(if $(filter no,$(TOOLKIT)),--no-toolkit) $(if $(filter yes,$(CUBLAS)),--cublas)
