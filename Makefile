# Everything runs from a fresh clone with python3 (>= 3.11) and make: the first target that needs
# the environment creates .venv and installs into it.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2

.PHONY: help demo reproduce test test-plain test-full lint bench docs package wheel clean

help:
	@echo "make demo       a real task beside scikit-learn, the paper's methods, a picture: a minute"
	@echo "make reproduce  the paper's figures and verdicts, quick: minutes (SPD1_DATA: folder of real data)"
	@echo "make test       all tests but the slow sweeps (minutes)"
	@echo "make test-plain a part of the tests with kernels as plain Python: no compiler in the way"
	@echo "make test-full  the slow sweeps too"
	@echo "make lint       ruff and mypy"
	@echo "make bench      the benchmarks of benchmarks/, last the race against other packages"
	@echo "                (SPD1_DATA: folder of the real data; RACE: options, such as --quick)"
	@echo "make package    sdist and plain wheel, each installed and tried: dist/"
	@echo "make wheel      a wheel with compiled kernels, for this Python and Numba: dist/"
	@echo "make docs       the documentation, gallery included: docs/_build/html/index.html (minutes)"

$(BIN)/python:
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11))" || \
	  { echo "spd1 needs Python 3.11 or later; set PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)

# A stamp per group of extras: installing again only when pyproject.toml has changed.
$(VENV)/demo.stamp: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --disable-pip-version-check -e ".[plot]"
	@touch $@

$(VENV)/test.stamp: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --disable-pip-version-check -e ".[test]"
	@touch $@

$(VENV)/bench.stamp: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --disable-pip-version-check -e ".[bench]"
	@touch $@

$(VENV)/lint.stamp: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --disable-pip-version-check -e ".[lint]"
	@touch $@

$(VENV)/docs.stamp: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --disable-pip-version-check -e ".[docs]"
	@touch $@

demo: $(VENV)/demo.stamp
	$(BIN)/python examples/demo.py

reproduce: $(VENV)/demo.stamp
	$(BIN)/spd1 reproduce all --quick --out reproduction

# A file's tests stay together (loadfile): they need the same kernels, and would compile them twice.
test: $(VENV)/test.stamp
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist loadfile -m "not slow"

# Kernels as plain Python wrap around where integers overflow, as random draws mean to, and say so.
test-plain: $(VENV)/test.stamp
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q -n $(WORKERS) -m "plain and not slow" tests \
	  -W "ignore:overflow encountered:RuntimeWarning"

test-full: $(VENV)/test.stamp
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist loadfile

lint: $(VENV)/lint.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/demo.stamp $(VENV)/bench.stamp
	$(BIN)/python benchmarks/cold_start.py
	$(BIN)/python benchmarks/iteration_cost.py
	$(BIN)/python benchmarks/tiles.py
	$(BIN)/python benchmarks/growth.py
	$(BIN)/python benchmarks/paths.py
	$(BIN)/python benchmarks/race.py $(RACE)

# Warnings are errors; the second run looks for links between pages that lead nowhere.
docs: $(VENV)/docs.stamp
	$(BIN)/python -m sphinx -b html -W --keep-going docs docs/_build/html
	$(BIN)/python -m sphinx -b linkcheck -W --keep-going -q -d docs/_build/html/.doctrees docs docs/_build/linkcheck

# Kernels that others will run: nothing of this machine's cache, nothing of its processor's own.
wheel: $(VENV)/demo.stamp
	rm -rf build/kernels
	$(BIN)/spd1 warm-up --all --into build/kernels
	SPD1_KERNELS=$(CURDIR)/build/kernels $(BIN)/python -m pip wheel --no-deps --wheel-dir dist .

# As it goes to a registry: the wheel is built from the sdist, and both are tried where nothing else is.
package: $(BIN)/python
	rm -rf dist
	$(BIN)/python -m pip install --disable-pip-version-check build
	$(BIN)/python -m build
	$(PYTHON) tests/try_package.py dist/*.whl
	$(PYTHON) tests/try_package.py dist/*.tar.gz

clean:
	rm -rf $(VENV) .pytest_cache .hypothesis .mypy_cache .ruff_cache build dist demo-output reproduction
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	rm -rf docs/_build docs/auto_examples docs/reference/generated
