# One command for the main job (`make demo`), one for the tests (`make test`); each sets up what it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready

.PHONY: setup extras demo test check format bench clean

setup: $(READY)

# Locked versions; the project itself in place, so that edits count at once.
$(READY): requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	touch $@

# The optional extras that tests use (kenlm builds from source: it needs a C++ compiler); tests skip without.
extras: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements-extras.lock

demo: $(READY)
	$(BIN)/qe demo

test: $(READY)
	$(BIN)/pytest -n auto --dist loadfile

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest -n auto --dist loadfile

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY)
	for script in benchmarks/bench_*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

clean:
	rm -rf $(VENV) output mlflow.db mlartifacts
