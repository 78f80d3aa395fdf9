# Each target does all of its own set-up; `make demo` and `make test` work in an empty clone.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
DEMO ?= demo

.PHONY: help demo test test-unit test-slow campaign lint docs format bench paper dist clean

help:  ## Show the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 14

.venv/core: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "taxocaps needs Python 3.11 or newer"'
	@echo 'Installing taxocaps and its libraries into .venv, which takes some minutes the first time.'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) -e '.[networks,serve]'
	@touch $@

.venv/dev: .venv/core
	$(PIP) -e '.[dev]'
	@touch $@

DEMO_FILES = $(DEMO)/pydocs/train.jsonl $(DEMO)/pydocs/taxonomy.tsv --test $(DEMO)/pydocs/test.jsonl

demo: .venv/core  ## Train the default model on docstrings, beside a linear SVM, and label three sentences
	@echo 'Docstrings of six Python packages become documents, and their modules a taxonomy.'
	@echo 'Reading them takes about ten seconds, training one to two minutes on two cores.'
	$(BIN)/taxocaps data pydocs --packages gensim,networkx,numpy,python,scipy,sklearn --out $(DEMO)/pydocs
	$(BIN)/taxocaps train $(DEMO_FILES) --out $(DEMO)/model --overwrite
	@echo; echo 'A linear SVM on the same documents, for comparison:'
	@$(BIN)/taxocaps train $(DEMO_FILES) --model SVM --out $(DEMO)/svm --overwrite
	@echo; echo 'Where in the Python world do three sentences belong?'
	@$(BIN)/taxocaps predict $(DEMO)/model --at-least 1 \
		--text 'Turns every document into a word-order-preserving graph of words, and that into a matrix of word blocks.' \
		--text 'Compute the shortest path between two nodes of a weighted graph by the algorithm of Dijkstra.' \
		--text 'Memory stays bounded whatever the size of the corpus, and interrupted work goes on where it stopped.'
	@echo; echo 'Next: read $(DEMO)/model/README.md; label your own text: $(BIN)/taxocaps predict $(DEMO)/model --text "..."'
	@echo 'See it in the browser, and why: $(BIN)/taxocaps serve $(DEMO)/model. How training went: $(DEMO)/model/report.html'
	@echo 'Train the network of the paper: --model HE-AGCRCNN. See a document as a graph: $(BIN)/taxocaps graph examples/musk.txt'

test: test-unit test-slow  ## Everything: the unit suite, then the slow one

# One thread per process: two processes of two torch threads each would slow each other down tenfold.
# Work is stolen only at the end: until then each process has whole files, whose tests share models and servers.
test-unit: .venv/dev  ## The unit suite (about three minutes on two cores)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m 'not slow' -n 2 --dist worksteal src tests

test-slow: .venv/dev  ## What takes longer: the built wheel, large inputs, full disks
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m slow -n 2 --dist worksteal

MINUTES ?= 10
# Damaged files are written and removed by the hundred thousand: in memory, where the system has a place there.
campaign: .venv/dev  ## Try damaged inputs, faults and kills, each kind for MINUTES=10; SEED=N repeats a campaign, or continues it
	$(if $(wildcard /dev/shm),TMPDIR=/dev/shm) OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m campaign --campaign-minutes $(MINUTES) $(if $(SEED),--campaign-seed $(SEED)) tests/campaigns

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

bench: .venv/dev  ## All speeds in a few minutes, beside their limits and the figures on file; WRITE=1 keeps new ones
	OMP_NUM_THREADS=1 NUMBA_NUM_THREADS=1 $(BIN)/python benchmarks/bench.py $(if $(WRITE),--write)

# Table 1 counts the documents, table 2 comes out of the catalogue, the others are experiments of benchmarks/grid.toml.
paper: .venv/dev  ## Rerun a table or figure of the paper, such as TABLE=3 or FIGURE=5 TAXONOMY=rcv1/taxonomy.tsv; or all tables
ifeq ($(FIGURE),5)
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/figure5.py $(TAXONOMY) $(OPTIONS)
else ifeq ($(FIGURE),6)
	$(BIN)/python benchmarks/figure6.py $(OPTIONS)
else ifeq ($(TABLE),1)
	$(BIN)/python benchmarks/run.py --statistics
else ifneq ($(TABLE),2)
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/run.py $(if $(TABLE),--table $(TABLE)) $(OPTIONS)
endif
	$(BIN)/python benchmarks/render.py

# The time of the last commit stands in the archives, so that the same commit gives the same bytes.
dist: .venv/dev  ## The wheel and the source archive, into dist
	rm -rf dist
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(BIN)/python -m build --no-isolation
	cd dist && sha256sum *

clean:  ## Remove what the targets made
	rm -rf .venv $(DEMO) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
