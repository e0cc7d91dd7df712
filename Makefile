# Two commands for a newcomer: `make demo` and `make test`.  Both install what they need into .venv.
PYTHON ?= python3
VENV := .venv
RECORD := --papers
RUN := $(VENV)/bin/python -m
INSTALLED := $(VENV)/.installed
INDEXED := tests/sparse/test_torture.py tests/sparse/test_learners.py
HIDDEN := tests/runtime tests/store tests/steps tests/cli
FOR_TESTS := $(VENV)/.installed-for-tests
SNAKEMAKE := $(VENV)/snakemake/.installed

.PHONY: demo test bounds platforms lint mutants campaign pictures models bench reproduce-tables record clean

demo: $(INSTALLED)  ## the whole chain on synthetic embryos
	@echo "The whole chain on synthetic embryos, step by step: about a minute."
	@echo "The first time on a machine its kernels are compiled, once: under a minute more."
	$(VENV)/bin/flyannot run --demo
	@echo
	@echo "These are SYNTHETIC embryos. Everything lies in demo-output/:"
	@echo "  embryos/         the images and their terms      descriptors.h5 ... model.h5   each step's file"
	@echo "  predictions.csv  the predicted terms             scores.json                   the table above"
	@echo "Open the report in a browser: $(CURDIR)/demo-output/report.html"
	@echo "Look into a file with: $(VENV)/bin/flyannot show demo-output/model.h5"

test: lint $(SNAKEMAKE)  ## lint, then tests and doctests; those that need the real data skip where it is absent
	$(RUN) pytest -n auto --maxprocesses 4

bounds: $(FOR_TESTS)  ## coders and learners with every index of their kernels checked; vector code (sparse/simd) is not
	NUMBA_BOUNDSCHECK=1 $(RUN) pytest -n auto --maxprocesses 4 $(INDEXED)

platforms: $(FOR_TESTS)  ## the tests of files, steps and commands with Linux-only names hidden: as macOS, as Windows
	TESTED_AS=macos PYTHONPATH=$(CURDIR)/tests/platforms $(RUN) pytest -n auto --maxprocesses 4 -m "not not_on_macos" $(HIDDEN)
	TESTED_AS=windows PYTHONPATH=$(CURDIR)/tests/platforms $(RUN) pytest -n auto --maxprocesses 4 -m "not not_on_windows" $(HIDDEN)

lint: $(FOR_TESTS)  ## the house style, and types
	$(RUN) ruff check --quiet .
	$(RUN) ruff format --quiet --check .
	$(RUN) mypy --no-error-summary

mutants: $(FOR_TESTS)  ## would the tests notice a wrong line? under an hour; MUTANTS='--per-module 4' for less
	$(VENV)/bin/python tests/mutants/run.py $(MUTANTS)

campaign: $(FOR_TESTS)  ## faults tried at length, and the table of docs/reliability.md; ROW=11 for one row
	$(RUN) tests.campaign.run $(ROW)

pictures: demo $(FOR_TESTS)  ## the pictures of README and docs, from synthetic embryos; needs chromium
	$(VENV)/bin/python docs/pictures/make_sheets.py
	$(VENV)/bin/python docs/pictures/make_pictures.py

models: $(FOR_TESTS)  ## the model that comes with flyannot and the tables of docs/models.md, from the data that tests use
	$(VENV)/bin/python docs/pictures/make_models.py

bench: $(FOR_TESTS)  ## how fast all this is beside other programs; BENCH=--full for all of it
	-$(RUN) pip install --quiet --disable-pip-version-check --editable '.[test,bench]'
	$(RUN) benchmarks $(BENCH) --force -o results/bench

reproduce-tables: $(FOR_TESTS)  ## the papers' tables and figures beside ours; REPRODUCE=--full for larger sizes: hours
	-$(RUN) pip install --quiet --disable-pip-version-check --editable '.[test,bench,reproduce]'
	$(RUN) benchmarks --papers $(REPRODUCE) -o reproduced

record: $(FOR_TESTS)  ## measure data/results, docs/papers.md and docs/measured.md anew: hours; RECORD='ITEM ...' for some
	$(RUN) benchmarks $(RECORD) --full -o reproduced/full
	cp reproduced/full/items/*.json data/results/
	$(RUN) benchmarks.page.recorded data/results docs

$(INSTALLED): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("flyannot needs Python 3.11 or later: make PYTHON=/path/to/python3.11") if sys.version_info < (3, 11) else None'
	@echo "Installing flyannot into $(VENV); the first time it is downloaded with all it needs."
	$(PYTHON) -m venv $(VENV)
	$(RUN) pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(FOR_TESTS): $(INSTALLED)
	@echo "Installing what the tests need into $(VENV)."
	$(RUN) pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $@

# An environment of its own: it brings sixty packages.  Without it the tests that need it say so, and skip.
$(SNAKEMAKE): $(INSTALLED)
	@echo "Installing Snakemake, for the tests of workflows, into $(VENV)/snakemake."
	-$(PYTHON) -m venv $(VENV)/snakemake && $(VENV)/snakemake/bin/python -m pip install --quiet \
		--disable-pip-version-check 'snakemake>=9,<10' && touch $@

clean:
	rm -rf $(VENV) demo-output
