# Each target does all the set-up it needs, once, in .venv. `make` alone lists them.
VENV := .venv
BIN := $(VENV)/bin

# The first Python that is new enough; looked for only when .venv is made. Another one: make test PYTHON=/path/to/python3.12
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo "$$p" && exit; done; echo python3)
# More words for the program that a target runs: make sweep ARGS="--config quick", make test ARGS="tests/test_units.py"
ARGS ?=
# A folder of carried packages (see `make wheels`) stands in for the network as soon as one is in it.
WHEELS ?= wheels
CARRIED := $(wildcard $(WHEELS)/*.whl)
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check

.PHONY: help sweep test lint bench readme clean

help:
	@echo "make sweep   measure this machine: table, ceilings file and picture in results/   (ARGS=\"--config quick\")"
	@echo "make test    all tests; correctness only, nothing is timed                        (ARGS=\"-k name\")"
	@echo "make lint    ruff and mypy"
	@echo "make bench   every ceiling as a share of its physical limit, repeatability, times; two to three minutes"
	@echo "make setup-cuda  build PyCUDA for an NVIDIA GPU, with or without a CUDA toolkit   (WHEELS=DIR: no network)"
	@echo "make gpu-check   prove a GPU in under six minutes; files go to results/            (DEVICE=1 LIMIT_S=360 RESULTS=DIR)"
	@echo "make wheels      fetch what a GPU machine without a network needs into wheels/     (FOR=3.12 HAS=\"numpy scipy\" TOOLKIT=no)"
	@echo "make readme  run the commands of README and docs again and write their output into them"
	@echo "make clean   remove what make made; results/ stays"

sweep: $(VENV)/installed
	@$(BIN)/ert sweep $(ARGS)

test: $(VENV)/installed-dev
	@$(BIN)/python -m pytest -n auto $(ARGS)

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/installed
	@$(BIN)/python bench/bench.py $(ARGS)

readme: $(VENV)/installed-dev
	@$(BIN)/python tests/readme_blocks.py

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/installed: setup.cfg pyproject.toml | $(VENV)/pip-works
ifneq ($(CARRIED),)
	@echo "Installing ert and what it needs into $(VENV) from $(WHEELS), without a network" >&2
	@$(PIP) --no-index --find-links $(abspath $(WHEELS)) 'setuptools>=70.1'
	@$(PIP) --no-index --find-links $(abspath $(WHEELS)) --no-build-isolation --editable .
else
	@echo "Installing ert and what it needs into $(VENV) (once, about a minute)" >&2
	@$(PIP) --editable . || { echo "make: without a network, packages can be carried: docs/gpu-check.md" >&2; exit 1; }
endif
	@touch $@

$(VENV)/installed-dev: setup.cfg pyproject.toml | $(VENV)/pip-works
	@echo "Installing ert, what it needs and what its tests need into $(VENV) (once, one to two minutes)" >&2
	@$(PIP) --editable '.[dev]'
	@touch $@ $(VENV)/installed

# An environment that works is kept, whoever made it; one that is broken (its Python is gone, or was never finished) is made anew.
$(VENV)/pip-works:
	@if ! $(BIN)/python -m pip --version >/dev/null 2>&1; then \
		python="$(PYTHON)"; \
		"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
			echo "make: '$$python' is no Python 3.11 or newer. Install one (Debian, Ubuntu: apt-get install python3 python3-venv)," >&2; \
			echo "      or name one: make PYTHON=/path/to/python3.12 ..." >&2; exit 1; }; \
		if [ -n "$(CARRIED)" ]; then "$$python" bench/offline_venv.py $(VENV) $(WHEELS) && touch $@; exit; fi; \
		"$$python" -c 'import ensurepip, venv' 2>/dev/null || { \
			name=$$("$$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])'); \
			echo "make: '$$python' cannot make virtual environments: it lacks ensurepip. Debian, Ubuntu: apt-get install $$name" >&2; exit 1; }; \
		"$$python" -m venv --clear $(VENV) || exit 1; \
	fi; touch $@

-include gpu.mk
