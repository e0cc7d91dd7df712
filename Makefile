# Two commands for a newcomer: `make demo` and `make test`.  Both install what they need into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(if $(filter Windows_NT,$(OS)),Scripts,bin)
RECORD := --papers
BENCHOPT := -d photographs -n 15 --no-display
RUN := $(VENV)/$(BIN)/python -m
# Python compiles a module when it is first imported: most modules of these packages never are.
INSTALL := install --quiet --disable-pip-version-check --no-compile
# Install packages (2) into an environment (1).  uv takes a quarter of pip's processor time, but does not read pip's
# configuration, so pip is tried after it.
INSTALL_INTO = ($(RUN) uv pip install --quiet --python $(1) $(2) || $(RUN) pip --python $(1) $(INSTALL) $(2))
ENVIRONMENT := $(VENV)/pyvenv.cfg
INSTALLED := $(VENV)/.installed
INDEXED := tests/sparse/test_torture.py tests/sparse/test_learners.py
HIDDEN := tests/jobs tests/files tests/pipeline tests/cli
ANYWHERE := $(addprefix tests/,base files sparse images encode dataset terms export estimators)
FOR_TESTS := $(VENV)/.installed-for-tests
# A worker takes tests that lie together, which share what they are made from, and in the end those of another.
SIDE_BY_SIDE := -n auto --maxprocesses 4 --dist worksteal
EXTRAS := dask,fetch,anndata,browser,bench,reproduce,microscopy
SNAKEMAKE := $(VENV)/snakemake/.installed
ENGINES := 'snakemake>=9,<10' 'snakemake-executor-plugin-slurm>=2'
UV := $(VENV)/.uv
REPORT := demo-output/report.html
# Tests start hundreds of processes: each would compile the package's modules anew, if the caller forbids to keep them.
export PYTHONDONTWRITEBYTECODE :=
VERSION := $(shell sed -n 's/^__version__ = "\(.*\)"/\1/p' flyannot/__init__.py)

.PHONY: demo test tests test-quick oldest anywhere bounds platforms lint site mutants campaign pictures models bench
.PHONY: benchopt reproduce-tables record wheel try-wheel container version notes clean

demo: $(INSTALLED)  ## the whole chain on synthetic embryos
	@echo "The whole chain on synthetic embryos, step by step: about a minute."
	@echo "The first time on a machine its kernels are compiled, once: under a minute more."
	$(VENV)/$(BIN)/flyannot run --demo
	@echo
	@echo "These are SYNTHETIC embryos. Everything lies in demo-output/:"
	@echo "  embryos/         the images and their terms      descriptors.h5 ... model.h5   each step's file"
	@echo "  predictions.csv  the predicted terms             scores.json                   the table above"
	@echo "Open the report in a browser: $(CURDIR)/demo-output/report.html"
	@echo "Look into a file with: $(VENV)/$(BIN)/flyannot show demo-output/model.h5"

# The demo comes before them: it compiles kernels, once for the tests and the site.
test: $(ENVIRONMENT)  ## all that is checked; tests that need the real data skip where it is absent
	$(MAKE) --jobs 2 $(FOR_TESTS) $(SNAKEMAKE)
	$(MAKE) --jobs 2 lint $(REPORT)
	$(MAKE) --jobs 2 site tests

tests: $(FOR_TESTS) $(SNAKEMAKE)  ## tests and doctests
	$(RUN) pytest -rs $(SIDE_BY_SIDE)

test-quick: $(FOR_TESTS)  ## one case of each quick test, for work in between
	$(RUN) pytest $(SIDE_BY_SIDE) --quick tests

oldest: $(SNAKEMAKE)  ## the tests with the oldest releases that pyproject.toml allows, in an environment of their own
	$(PYTHON) -m venv --without-pip $(VENV)/oldest
	$(RUN) uv pip install --quiet --python $(VENV)/oldest --resolution lowest-direct --editable '.[$(EXTRAS)]'
	$(RUN) uv pip install --quiet --python $(VENV)/oldest --editable '.[test]'
	$(VENV)/oldest/$(BIN)/python -m pytest $(SIDE_BY_SIDE)

anywhere: $(FOR_TESTS)  ## the tests that ask nothing of the system: for macOS and Windows
	$(RUN) pytest $(SIDE_BY_SIDE) -m "not not_on_windows and not not_on_macos" $(ANYWHERE)

bounds: $(FOR_TESTS)  ## coders and learners with every index of their kernels checked; vector code (sparse/simd) is not
	NUMBA_BOUNDSCHECK=1 $(RUN) pytest $(SIDE_BY_SIDE) $(INDEXED)

platforms: $(FOR_TESTS)  ## the tests of files, steps and commands with Linux-only names hidden: as macOS, as Windows
	TESTED_AS=macos PYTHONPATH=$(CURDIR)/tests/platforms $(RUN) pytest $(SIDE_BY_SIDE) -m "not not_on_macos" $(HIDDEN)
	TESTED_AS=windows PYTHONPATH=$(CURDIR)/tests/platforms $(RUN) pytest $(SIDE_BY_SIDE) -m "not not_on_windows" $(HIDDEN)

lint: $(FOR_TESTS)  ## the house style, types, and what a forge reads
	$(RUN) ruff check --quiet .
	$(RUN) ruff format --quiet --check .
	$(RUN) tests.language
	$(RUN) tests.commit_subjects
	$(RUN) mypy --no-error-summary
	$(RUN) mypy --no-error-summary --config-file= --strict tests/estimators/typed_user.py
	$(RUN) check_jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(RUN) check_jsonschema --quiet --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/[!c]*.yml
	$(RUN) check_jsonschema --quiet --builtin-schema vendor.dependabot .github/dependabot.yml
	$(RUN) check_jsonschema --quiet --builtin-schema vendor.citation-file-format CITATION.cff
	$(VENV)/$(BIN)/zizmor --quiet --offline --no-progress --min-severity medium .github

site: $(FOR_TESTS) $(REPORT)  ## the pages as a site, in site/; a broken link or a warning is an error
	NO_MKDOCS_2_WARNING=1 $(RUN) mkdocs build
	@echo "Open site/index.html in a browser."

mutants: $(FOR_TESTS)  ## would the tests notice a wrong line of twelve modules? MUTANTS='--module files/digest.py' for one
	$(VENV)/$(BIN)/python tests/mutants/run.py $(MUTANTS)

campaign: $(FOR_TESTS)  ## faults tried at length, and the table of docs/reliability.md; ROW=11 for one row
	$(RUN) tests.campaign.run $(ROW)

pictures: demo $(FOR_TESTS)  ## the pictures of README and docs, from synthetic embryos; needs chromium
	$(VENV)/$(BIN)/python docs/pictures/make_sheets.py
	$(VENV)/$(BIN)/python docs/pictures/make_pictures.py

models: $(FOR_TESTS)  ## the model that comes with flyannot and the tables of docs/models.md, from the data that tests use
	$(VENV)/$(BIN)/python docs/pictures/make_models.py

bench: $(FOR_TESTS)  ## how fast all this is beside other programs; BENCH=--full for all of it
	-$(RUN) pip install --quiet --disable-pip-version-check --editable '.[test,bench]'
	$(RUN) benchmarks $(BENCH) --force -o results/bench

benchopt:  ## dictionary learning and the lasso beside SPAMS and scikit-learn, by benchopt
	$(PYTHON) -m venv $(VENV)/benchopt
	$(VENV)/benchopt/$(BIN)/python -m pip install --quiet --disable-pip-version-check benchopt spams-bin --editable .
	OMP_NUM_THREADS=1 $(VENV)/benchopt/$(BIN)/benchopt run benchmarks/benchopt $(BENCHOPT)

reproduce-tables: $(FOR_TESTS)  ## the papers' tables and figures beside ours; REPRODUCE=--full for larger sizes: hours
	-$(RUN) pip install --quiet --disable-pip-version-check --editable '.[test,bench,reproduce]'
	$(RUN) benchmarks --papers $(REPRODUCE) -o reproduced

record: $(FOR_TESTS)  ## measure data/results, docs/papers.md and docs/measured.md anew: hours; RECORD='ITEM ...' for some
	$(RUN) benchmarks $(RECORD) --full -o reproduced/full
	cp reproduced/full/items/*.json data/results/
	$(RUN) benchmarks.page.recorded data/results docs

wheel: $(FOR_TESTS)  ## wheel and source into dist/; with REPOSITORY=https://... links of README lead there
	rm -rf dist $(VENV)/source && mkdir -p $(VENV)/source && git archive HEAD | tar -x -C $(VENV)/source
	test -z "$(REPOSITORY)" || (cd $(VENV)/source && sed -i -E \
		-e 's#!\[([^]]*)\]\(docs/#![\1]($(REPOSITORY)/raw/v$(VERSION)/docs/#g' \
		-e 's#([^!]\[[^]]*\]\()([a-zA-Z]+[./])#\1$(REPOSITORY)/blob/v$(VERSION)/\2#g' README.md && \
		sed -i 's#^\[project.urls\]#&\nRepository = "$(REPOSITORY)"#' pyproject.toml)
	$(RUN) build --outdir dist $(VENV)/source

try-wheel:  ## the wheel of dist/ in an empty environment: the demo, the supplied model, the Python names
	$(PYTHON) -m venv --clear $(VENV)/wheel
	$(VENV)/wheel/$(BIN)/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	cd $(VENV)/wheel && $(BIN)/flyannot run --demo
	cd $(VENV)/wheel && $(BIN)/flyannot annotate blastoderm demo-output/embryos --stage-range 4-6 -o terms.h5 --page
	cd $(VENV)/wheel && $(BIN)/python -c "from flyannot import *; print(DenseSIFT(), DictionaryLearning(), SparseCoder())"

container:  ## the container of configs/Containerfile, and the demo in it
	podman build -f configs/Containerfile -t flyannot .
	podman run --rm flyannot run --demo

version:  ## whether TAG=v1.2.3, package, CITATION.cff and CHANGELOG.md name one version
	test "$(TAG)" = "v$(VERSION)" && grep -qx "version: $(VERSION)" CITATION.cff && grep -q '"version": "$(VERSION)"' codemeta.json
	grep -q "^## $(VERSION) (20[0-9-]*)" CHANGELOG.md

notes:  ## what CHANGELOG.md says of this version
	@sed -n '/^## $(VERSION)/,/^## [^$(VERSION)]/p' CHANGELOG.md | grep -v '^## '

$(ENVIRONMENT):
	@$(PYTHON) -c 'import sys; sys.exit("flyannot needs Python 3.11 or later: make PYTHON=/path/to/python3.11") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)

$(INSTALLED): pyproject.toml | $(ENVIRONMENT)
	@echo "Installing flyannot into $(VENV); the first time it is downloaded with all it needs."
	$(RUN) pip $(INSTALL) --editable .
	@touch $@

$(UV): | $(ENVIRONMENT)
	-$(RUN) pip $(INSTALL) uv
	@touch $@

$(FOR_TESTS): pyproject.toml | $(UV)
	@echo "Installing flyannot and what the tests need into $(VENV)."
	$(call INSTALL_INTO,$(VENV),--editable '.[test]')
	@touch $(INSTALLED) $@

# An environment of its own: it brings sixty packages.  Without it the tests that need it say so, and skip.
$(SNAKEMAKE): | $(UV)
	@echo "Installing Snakemake, for the tests of workflows, into $(VENV)/snakemake."
	-$(PYTHON) -m venv --without-pip $(VENV)/snakemake && $(call INSTALL_INTO,$(VENV)/snakemake,$(ENGINES)) && touch $@

$(REPORT): $(INSTALLED)
	$(VENV)/$(BIN)/flyannot --quiet run --demo

clean:
	rm -rf $(VENV) demo-output site dist
