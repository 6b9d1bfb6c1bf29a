# One command for the main job (`make demo`), one for the tests (`make test`); each sets up what it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
# Compiled on all cores, but for the packages' own tests; files of other Pythons within packages are no fault.
COMPILE := $(BIN)/python -m compileall -qq -j 0 -x '/tests?/' $(VENV)/lib || true
# Names and versions with hashes of all that is needed (`make lock`): for training, and the tools of development.
LOCKS := requirements.lock requirements-dev.lock
# Compiled modules are kept, whatever the shell says: without them half the time of `make test-fast` is compilation.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: general setup extras demo test test-fast coverage mutation pythons check format bench fuzz lock docs wheel release clean \
  distclean

setup: $(READY)

# Locked versions; the project itself in place, so that edits count at once. The pip of Python 3.11 takes 40 seconds longer.
$(READY): $(LOCKS) pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) pip==26.3
	$(PIP) --no-deps --require-hashes $(LOCKS:%=--requirement %)
	$(PIP) --no-deps --editable .
	$(COMPILE)
	$(BIN)/qe schema --output experiments/schema.json --overwrite
	touch $@

# The optional extras that tests use (kenlm and eflomal build from source: C and C++ compilers; PySpark needs Java);
# tests skip without.
extras: $(READY)
	$(PIP) --no-deps --require-hashes --requirement requirements-extras.lock
	$(COMPILE)

demo: $(READY)
	$(BIN)/qe demo

# Every capability once: what a newcomer runs. `make check` runs the rest, too.
PYTEST := $(BIN)/pytest
test: $(READY)
	$(PYTEST) -n auto --dist loadfile -m "not slow or capability"

# The inner loop: without the tests that train, serve, start Spark or a browser, or need data beside the checkout.
test-fast: $(READY)
	$(BIN)/pytest -n auto --dist loadfile -m "not slow"

# `make test`, and how much of the code it runs: fails below FLOOR percent.
FLOOR := 83
coverage: $(READY)
	rm -rf output/coverage && mkdir -p output/coverage
	$(MAKE) test PYTEST="$(BIN)/coverage run -m pytest"
	$(BIN)/coverage combine --quiet output/coverage
	$(BIN)/coverage report --skip-covered --sort cover --fail-under $(FLOOR)

# How many small faults the tests notice: on demand (docs/testing.md).
mutation: $(READY)
	$(BIN)/python .ci/mutation.py

# The fast tests on other Pythons: `make pythons PYTHONS="python3.12 python3.13"`, each in an environment of its own;
# `make pythons PYTHONS=python3.11 LOWEST=1` with the lowest versions that pyproject.toml permits.
PYTHONS ?= python3.11 python3.12 python3.13
pythons:
	for python in $(PYTHONS); do LOWEST=$(LOWEST) .ci/on_python "$$python" || exit 1; done

# Format, lint, types, `make test` measured, then attacks, fuzz, Spark, browser, wheel, pages and real data.
check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(MAKE) coverage
	$(BIN)/pytest -n auto --dist loadfile -m "slow and not capability"

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# The newest versions that pyproject.toml permits, with hashes.
lock: $(READY)
	$(PIP) uv
	.ci/lock

# One model for any language pair (docs/without-labels.md): public data, encoder, training, figures of every pair left out.
# DATA=../shared/data, say, if the data are there.
DATA ?= output/general-data
ENCODER := multilingual-e5-small
general: $(READY)
	test -d $(DATA)/mlqe-pe || $(BIN)/qe data fetch mlqe-pe $(patsubst %,--pair %,ro-en en-de si-en ru-en) --output $(DATA)/mlqe-pe
	test -d $(DATA)/wmt23-qe || $(BIN)/qe data fetch wmt23-qe $(patsubst %,--pair %,en-gu en-hi en-ta en-te) --output $(DATA)/wmt23-qe
	$(BIN)/qe encoders list | grep -q $(ENCODER) || $(BIN)/qe encoders make $(ENCODER)
	$(BIN)/qe encoders list | grep -q $(ENCODER)-int8 || $(BIN)/qe encoders quantize $(ENCODER)
	$(BIN)/qe train experiments/general/da.yaml --data-root $(DATA) --output output/general --per-fold

# The documentation site in output/site: pages of docs/, of the code, and of the demo; no network, here or when read.
docs: $(READY)
	$(PIP) --no-deps --require-hashes --requirement requirements-docs.lock
	test -d output/demo/model || $(BIN)/qe demo --quiet
	$(BIN)/qe report output/demo --overwrite --quiet
	$(BIN)/python docs/site/generate.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

wheel: $(READY)
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir output/wheel .

# The version of pyproject.toml: tests, dated notes, a wheel that works in a fresh environment, what it is made of, a tag.
release: check
	$(BIN)/python .ci/release.py audit
	$(BIN)/python .ci/release.py date
	rm -rf output/wheel && $(MAKE) wheel
	PYTHON=$(PYTHON) .ci/try_wheel output/wheel/mtqe-*.whl
	$(BIN)/python .ci/release.py sbom output/release/sbom.cdx.json
	$(BIN)/python .ci/release.py tag

# Speed, and what happens to jobs and servers under stress; benchmarks/studies/ has the scripts behind docs/results/.
bench: $(READY)
	test -d output/demo/model || $(BIN)/qe demo --quiet
	$(BIN)/python benchmarks/bench_features.py baseline17
	$(BIN)/python benchmarks/bench_scoring.py --rows 60000
	$(BIN)/python benchmarks/bench_kill.py --model output/demo/model --input output/demo/data/new.tsv
	$(BIN)/python benchmarks/bench_serving.py --model output/demo/model --input output/demo/data/new.tsv
	$(BIN)/python benchmarks/fuzz_server.py --model output/demo/model --input output/demo/data/new.tsv
	$(BIN)/python benchmarks/soak_server.py --model output/demo/model --input output/demo/data/new.tsv
	$(BIN)/python benchmarks/bench_search.py
	$(BIN)/python benchmarks/bench_significance.py
	$(BIN)/python benchmarks/bench_replications.py --simulations 300
	$(BIN)/python benchmarks/bench_peers.py --page docs/results/speed.md
	$(BIN)/python benchmarks/bench_compare.py

# Everything that is loaded from files, mutated for SECONDS each; ONLY names targets: make fuzz ONLY=translated.
SECONDS ?= 60
fuzz: $(READY)
	$(BIN)/python benchmarks/fuzz_loaders.py --seconds $(SECONDS) $(addprefix --only ,$(ONLY))

# What this file built. Runs, models and the tracking store of their training stay.
clean:
	rm -rf $(VENV) *.egg-info build output/demo output/site output/wheel .mypy_cache .pytest_cache .ruff_cache

# What else lies here and is in no commit: listed with its size, and removed if the answer is y.
distclean: clean
	@set -- $(wildcard output mlflow.db mlartifacts mlruns); test $$# -eq 0 || { du -sh "$$@"; \
	  printf 'Remove these? They cannot be made again without training. [y/N] '; read -r answer || answer=n; \
	  if test "$$answer" = y; then rm -rf "$$@"; else echo 'nothing else removed'; fi; }
