# `make run` and `make test` set everything up by themselves; they need Python >= 3.11 and make.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

DIST ?= dist

.PHONY: run test lint kernels packages benchmarks pairs rounding clean

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[test,lint]"
	touch $@

run: $(VENV)/.installed
	$(BIN)/symderiv study examples/power-law-plateau.toml

test: $(VENV)/.installed
	$(BIN)/python -m pytest -n 2

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Rewrite the checked-in solver modules from the derivation.
kernels: $(VENV)/.installed
	$(BIN)/symderiv generate --checked-in

# The wheel is built from the sdist, so both are known to be whole.
packages: $(VENV)/.installed
	$(BIN)/python -m build --outdir $(DIST) .

benchmarks: $(VENV)/.installed
	$(BIN)/python -m benchmarks

# Every pair of activations against the definition of the update; goes on where it was stopped.
pairs: $(VENV)/.installed
	cd tests && ../$(BIN)/python -m pairs --results ../pairs-results/results.jsonl

# Every way of showing a certified number, at 10^5 random balls and digits.
rounding: $(VENV)/.installed
	$(BIN)/python tests/property/test_outward_rounding.py 100000

clean:
	rm -rf $(VENV) dist build
