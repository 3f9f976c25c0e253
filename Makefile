# Thin: the work is attest, pytest and attest book inside the environment that the first target makes.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

unexport PYTHONDONTWRITEBYTECODE  # many processes are started, each of which would compile all modules anew

.PHONY: verify test test-claims test-slow book checked-book gpu bench lint clean

verify: $(VENV)/core
	$(BIN)/attest verify $(if $(WORKERS),--workers $(WORKERS))

# A file's tests in one process: what they share is made once.
test: test-claims
	$(BIN)/pytest -m "not slow" -n $(or $(WORKERS),auto) --dist loadfile --ignore tests/checks/run/test_claims.py

test-claims: $(VENV)/test
	$(BIN)/pytest -m "not slow" -n $(or $(WORKERS),auto) --dist worksteal tests/checks/run/test_claims.py

test-slow: $(VENV)/test
	$(BIN)/pytest -m slow

book: $(VENV)/book
	$(BIN)/attest book $(if $(WORKERS),--workers $(WORKERS))

# From the records that the tests of the claims leave in the cache, and every page opened in a browser; one browser,
# as the tests may run beside it.
checked-book: test-claims $(VENV)/book
	$(BIN)/attest book --max-tokens 1024 --workers $(or $(WORKERS),1) --check --out build/book

# On a GPU machine with torch, numpy, scipy and sympy of its own: no environment is made, PYTHON must be that machine's.
gpu:
	$(PYTHON) -m checks.scale --device cuda --out checks/records/gpu.json

bench: $(VENV)/test
	$(BIN)/python tests/benchmarks/bench_commands.py
	$(BIN)/python -m tests.benchmarks

lint: $(VENV)/test
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

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
	rm -rf $(VENV) build .attest
