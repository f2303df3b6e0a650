# Every target sets up .venv by itself and is quick when nothing changed.
PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: run test test-all lint docs bench wordnet services clean

run: .venv/.core
	$(BIN)/python examples/gas_transmission.py

test: .venv/.dev lint
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

test-all: .venv/.dev lint
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 -m ""

lint: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: .venv/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

bench: .venv/.dev
	$(BIN)/python benchmarks/ask_time.py --methods random gp-ei neural-bo --n 100 500 --dim 10

# The corpus of the suite `documents`; its tests are skipped where it is absent.
wordnet:
	@test -e /usr/share/wordnet/data.noun || .ci/install_wordnet

# A database and a browser; the tests that use them are skipped where they are absent.
services:
	@ls /usr/lib/postgresql/*/bin/pg_ctl >/dev/null 2>&1 || .ci/install_packages postgresql
	@command -v chromium >/dev/null || .ci/install_packages chromium

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/.core: .venv/bin/python pyproject.toml constraints.txt
	$(INSTALL) -e ".[report]"
	touch $@

.venv/.dev: .venv/.core
	$(INSTALL) -e ".[report,dashboard,dask,bench,dev]"
	$(INSTALL) --no-deps HEBO  # it asks for numpy < 1.25, but works with later ones
	touch $@

clean:
	rm -rf .venv site out
