# Each target does all of its own set-up; `make demo` and `make test` work in an empty clone.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
DEMO ?= demo

.PHONY: help demo test test-unit test-slow lint docs format bench clean

help:  ## Show the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 14

.venv/core: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "taxocaps needs Python 3.11 or newer"'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) -e .
	@touch $@

.venv/dev: .venv/core
	$(PIP) -e '.[dev]'
	@touch $@

demo: .venv/core  ## The main job on the embedded corpus, from nothing to a picture
	$(BIN)/taxocaps data pydocs --out $(DEMO)/pydocs
	$(BIN)/taxocaps corpus check $(DEMO)/pydocs/train.jsonl $(DEMO)/pydocs/dev.jsonl $(DEMO)/pydocs/test.jsonl --taxonomy $(DEMO)/pydocs/taxonomy.tsv
	$(BIN)/taxocaps encode $(DEMO)/pydocs/train.jsonl --out $(DEMO)/encoded --overwrite
	$(BIN)/taxocaps graph $(DEMO)/pydocs/train.jsonl --id networkx.algorithms.centrality.closeness.closeness_centrality --out $(DEMO)/graph.html --rows 8
	@echo 'Open $(DEMO)/graph.html in a browser. Then try your own: $(BIN)/taxocaps graph examples/musk.txt'

test: test-unit test-slow  ## Everything: the unit suite, then the slow one

# One thread per process: two processes of two torch threads each would slow each other down tenfold.
test-unit: .venv/dev  ## The unit suite (under 3 minutes on two cores)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m 'not slow' -n 2 src tests

test-slow: .venv/dev  ## What takes longer: the built wheel, large inputs, full disks
	$(BIN)/python -m pytest -m slow

lint: .venv/dev  ## Format, lint, types, import contracts, and the documentation without a warning
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/mkdocs build --quiet

docs: .venv/dev  ## Build the documentation into build/site
	$(BIN)/mkdocs build

format: .venv/dev  ## Rewrite the code in the house format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: .venv/dev  ## Speed and memory of encoding, beside networkx
	$(BIN)/python benchmarks/encode.py

clean:  ## Remove what the targets made
	rm -rf .venv $(DEMO) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
