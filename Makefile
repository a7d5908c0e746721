# Everything a newcomer needs is `make demo` and `make test`; each sets up what it needs first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

HOURS ?= 1
SEED ?= 1

.PHONY: demo test bench planted soak replay check format lock wheel clean

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; name one with make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

demo: $(READY)
	$(BIN)/python -m examples.demo

test: $(READY)
	$(BIN)/python -m pytest

# Each planted bug is looked for by the timelines and the random worlds; see docs/testing.md.
planted: $(READY)
	$(BIN)/python -m tests.simulation.hunting

# HOURS of real time; the report in the working folder is where the next run goes on from.
soak: $(READY)
	$(BIN)/python -m tests.simulation.soak --hours $(HOURS)

# What happened in the world of one SEED, as a sequence diagram in text.
replay: $(READY)
	@$(BIN)/python -m tests.simulation.replay $(SEED)

# Floors, peers and ours in one run: make bench ONLY=relay|queue|hub|agent|sim, all of them without ONLY. The peers
# stand beside what is locked, not among it.
PEERS := $(VENV)/peers
$(PEERS)/.ready: $(READY) tests/bench/requirements.txt
	rm -rf $(PEERS)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target $(PEERS) -r tests/bench/requirements.txt
	@touch $@

bench: $(PEERS)/.ready
	@$(BIN)/python -m tests.bench $(if $(ONLY),--only $(ONLY))

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q tests/test_house.py

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# The lock names versions and hashes for every platform, never a registry.
lock: $(READY)
	$(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --quiet --no-emit-index-url --no-annotate \
	  --group dev --custom-compile-command "make lock" -o requirements.lock pyproject.toml

wheel: $(READY)
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation -w dist .

clean:
	rm -rf $(VENV) dist build
