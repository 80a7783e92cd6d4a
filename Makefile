# `make demo` and `make test` need nothing but Python; the environment is made in .venv on first use.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
DEMO   ?= comrecgc-demo
# What takes minutes and needs no arguments; every file in benchmarks/ says in its first lines how it is run.
BENCHMARKS := graphs training ged neighbourhood walk

.PHONY: demo test lint types bench clean

demo: $(BIN)/.installed
	$(BIN)/comrecgc demo --out $(DEMO)

test: $(BIN)/.installed
	$(BIN)/python -m pytest -n auto

lint: $(BIN)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(BIN)/.installed
	$(BIN)/mypy

bench: $(BIN)/.installed
	for name in $(BENCHMARKS); do echo "== $$name"; $(BIN)/python benchmarks/$$name.py || exit 1; done

$(BIN)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade --constraint constraints.txt pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --group dev --editable '.[chem]'
	touch $@

clean:
	rm -rf $(VENV) $(DEMO) .pytest_cache .mypy_cache .ruff_cache .hypothesis
