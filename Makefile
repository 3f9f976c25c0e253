# Thin: the work is attest, pytest and attest book inside the environment that the first target makes.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2

.PHONY: verify test test-slow book gpu bench lint clean

verify: $(VENV)/core
	$(BIN)/attest verify --workers $(WORKERS)

test: $(VENV)/test
	$(BIN)/pytest -m "not slow" -n $(WORKERS) tests/test_claims.py
	$(BIN)/pytest -m "not slow" -n $(WORKERS) --ignore tests/test_claims.py

test-slow: $(VENV)/test
	$(BIN)/pytest -m slow

book: $(VENV)/book
	$(BIN)/attest book --workers $(WORKERS)

# On a GPU machine with torch, numpy, scipy and sympy of its own: no environment is made, PYTHON must be that machine's.
gpu:
	$(PYTHON) -m checks.scale --device cuda --out checks/evidence/gpu.json

bench: $(VENV)/test
	$(BIN)/python -m tests.benchmarks

lint: $(VENV)/test
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, this is " + sys.version.split()[0])'
	$(PYTHON) -m venv $(VENV)

$(VENV)/core: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

$(VENV)/test: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test,lint]'
	touch $@

$(VENV)/book: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[book]'
	touch $@

clean:
	rm -rf $(VENV) build .attest book/_work
