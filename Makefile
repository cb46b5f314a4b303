# Everything starts from Python 3.11+ and make. `make help` lists what there is.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.DEFAULT_GOAL := help
.PHONY: help demo test test-long coverage campaign lint format bench bench-gpu bench-against pictures lock clean
unexport PYTHONDONTWRITEBYTECODE  # every process that a test starts would compile all sources again
JOBS   ?= 2
PYTEST := $(BIN)/python -m pytest -n $(JOBS)
# compiles the tests while mypy, which uses one core, is at work: otherwise each of the processes would
COLLECT := $(BIN)/python -m pytest --collect-only -m "not long" > /dev/null 2>&1

help:  ## list the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/\t/' | expand -t 16

demo: $(VENV)/.installed  ## let the walking mechanism walk and write its report, a page that plays in a browser
	$(BIN)/momentree demo walking-mechanism

test: $(VENV)/.tools  ## lint, types and every test that is not long (under 6 minutes on 2 cores)
	@$(COLLECT) & $(MAKE) --no-print-directory lint; status=$$?; wait; exit $$status
	@echo "tests: each law, each error message and each room once; $(JOBS) processes, a dot is a test"
	@echo "machine code is generated quickly, at level 0; long tests of laws, motions and units use that of users, which gives the same bits"
	MOMENTREE_OPTIMIZE=0 $(PYTEST) -m "not long" --durations=5 --durations-min=5

test-long: $(VENV)/.tools $(VENV)/.robots  ## the rest of the tests: more seeds, joints, integrators, long motions (about 30 minutes on 2 cores)
	@echo "long tests: repeated proofs and long motions; $(JOBS) processes, a dot is a test"
	$(PYTEST) -m long --durations=10 --durations-min=30

coverage: $(VENV)/.tools  ## the tests of 'make test' once more, measured: at least 90 % of lines and branches
	$(PYTEST) -m "not long" --cov --cov-report=term --cov-report=html

CAMPAIGN := PYTHONPATH=tests $(BIN)/python -m campaign --n $(or $(N),1000) --seed $(or $(SEED),0) --jobs $(JOBS)
campaign: $(VENV)/.tools  ## random mechanisms against the oracle, and laws: make campaign N=1000 SEED=0 JOBS=2
	$(CAMPAIGN) --shrink
	$(CAMPAIGN) --family constrained
	$(CAMPAIGN) --laws
	$(CAMPAIGN) --laws --family constrained

lint: $(VENV)/.tools  ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.tools  ## let ruff put the code in order
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.tools  ## measure; writes docs/benchmarks.md and others
	$(BIN)/python benchmarks/structure_scale.py --write docs/benchmarks.md
	$(BIN)/python benchmarks/operation_counts.py --write docs/operation-counts.md
	$(BIN)/python benchmarks/symbolic_chain.py --write docs/symbolic-chain.md
	$(BIN)/python benchmarks/symbolic_lagrange.py --write docs/symbolic-lagrange.md
	$(BIN)/python benchmarks/forward_dynamics.py --write docs/forward-dynamics.md
	$(BIN)/python benchmarks/simulation.py --write docs/simulation-speed.md
	$(BIN)/python benchmarks/long_chains.py --write docs/long-chains.md
	$(BIN)/python benchmarks/closed_loops.py --write docs/closed-loops-speed.md
	$(BIN)/python benchmarks/closure_drift.py --write docs/closure-drift.md
	$(BIN)/python benchmarks/loop_solve.py --write docs/loop-solve.md
	$(BIN)/python benchmarks/couplings.py --write docs/couplings.md
	$(BIN)/python benchmarks/elementary_functions.py -n 1e8 --time --write docs/elementary-functions.md
	$(BIN)/python benchmarks/constants_as_parameters.py --write docs/constants.md
	$(BIN)/python benchmarks/like_bodies.py
	$(BIN)/python benchmarks/pages.py --write docs/look.md
	$(BIN)/python benchmarks/damaged_files.py -n 1000

bench-gpu: $(VENV)/.tools  ## measure motions on a GPU; writes docs/gpu.md
	$(BIN)/python benchmarks/gpu.py --write docs/gpu.md

bench-against: $(VENV)/.tools  ## this checkout against another, in turns: make bench-against OTHER=../before
	$(BIN)/python benchmarks/against_commit.py --other $(OTHER)

pictures: $(VENV)/.tools  ## renew the pictures of README, docs and examples that are not up to date; with CHECK=1 only name them
	$(BIN)/python benchmarks/make_pictures.py $(if $(CHECK),--check)

lock: $(VENV)/.tools  ## renew constraints.txt from what is installed
	$(BIN)/python -m pip freeze --exclude-editable --exclude momentree > constraints.txt

clean:  ## remove what was made
	rm -rf $(VENV) demo-report build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage* htmlcov

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Momentree needs Python 3.11 or newer; name one with: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) -e .
	@touch $@

$(VENV)/.tools: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) -e '.[test]'
	@touch $@ $(VENV)/.installed

# published robots; where they cannot be had, the tests that read them say so and are skipped
$(VENV)/.robots: pyproject.toml constraints.txt | $(VENV)/.tools
	-$(PIP) -e '.[robots]'
	@touch $@
