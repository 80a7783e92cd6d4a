# `make demo` and `make test` need nothing but Python; the environment is made in .venv on first use.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
DEMO   ?= comrecgc-demo
# What takes minutes and needs no arguments; every file in benchmarks/ says in its first lines how it is run.
BENCHMARKS := graphs training neighbourhood walk

# What asks the network for known vulnerabilities; a version about which nothing is known is an error, not a pass.
AUDIT := --requirement constraints.txt --no-deps --disable-pip --strict

.PHONY: demo test newest lint types bench docs dist audit clean

demo: $(BIN)/.installed-package
	$(BIN)/comrecgc demo --out $(DEMO)

test: $(BIN)/.installed
	$(BIN)/python -m pytest -n auto

# The newest versions that pyproject.toml allows, in an environment of their own.
newest:
	$(PYTHON) -m venv $(VENV)-newest
	$(VENV)-newest/bin/python -m pip install --quiet --upgrade pip
	$(VENV)-newest/bin/python -m pip install --quiet --upgrade --group dev --editable '.[chem]'
	$(VENV)-newest/bin/python -m pytest -n auto

lint: $(BIN)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(BIN)/.installed
	$(BIN)/mypy

bench: $(BIN)/.installed
	for name in $(BENCHMARKS); do echo "== $$name"; $(BIN)/python benchmarks/$$name.py || exit 1; done

audit: $(BIN)/.installed
	$(BIN)/python -m pip install --quiet pip-audit
	$(BIN)/pip-audit $(AUDIT)

docs: $(BIN)/.installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

dist: $(BIN)/.installed
	$(BIN)/python -m pip install --quiet --constraint constraints.txt build
	rm -rf dist
	$(BIN)/python -m build --outdir dist

$(BIN)/.installed-docs: $(BIN)/.installed
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --group docs
	touch $@

$(BIN)/.installed: $(BIN)/.installed-package
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --group dev --editable '.[chem]'
	touch $@

$(BIN)/.installed-package: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade --constraint constraints.txt pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[chem]'
	touch $@

clean:
	rm -rf $(VENV) $(VENV)-newest $(DEMO) site dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
