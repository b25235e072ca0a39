# make test      set up .venv from the lock file, check format, lint, types and imports, run the quick tests (3 to 6 minutes)
# make test-all  the same with all tests, as CI does (10 to 25 minutes)
# make test-pythons  run the tests of the core with each installed Python from 3.11 to 3.15 (minutes each)
# make test-numba    run them with numba's newest release or release candidate (minutes)
# make test-arm  compare values with those on two emulated ARM processors (an hour; needs Debian's qemu)
# make demo      train AlphaZero for four minutes, then play a tournament and write a report (5 to 10 minutes in all)
# make play      start the web page, until Ctrl+C
# make docs      update the generated parts of docs/, then build the site in build/site; a warning is an error (a minute)
# make examples  train briefly with TorchRL, Tianshou, AgileRL and RLlib, and play with frameworks for language models, in their own environments
# make bench     write the benchmark table, with rates of OpenSpiel, PettingZoo and Pgx
# make lock      resolve all dependencies again and pin them

PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
# Imports write the bytecode of the few modules that are used.
INSTALL := $(BIN)/pip install --quiet --no-compile
PROCESSES ?= 3
# A test that hangs for twenty minutes ends the run, which names it.
HANGS := --max-worker-restart 0 -o faulthandler_timeout=1200 -o faulthandler_exit_on_timeout=true
PYTEST := $(BIN)/pytest --numprocesses $(PROCESSES) --dist loadfile --no-loadscope-reorder $(HANGS)
MODELS := tests/examples/language_models
# Tests start many processes, which import the same modules.
unexport PYTHONDONTWRITEBYTECODE
export PIP_DISABLE_PIP_VERSION_CHECK = 1
export NO_MKDOCS_2_WARNING = 1

.PHONY: test test-all checks-and-compilation compiled test-pythons test-numba test-arm checks demo play docs examples bench lock clean

test: checks-and-compilation
	$(PYTEST) -m "not slow" --durations=10 --durations-min=5

test-all: checks-and-compilation
	$(PYTEST) --durations=20 --durations-min=5

# Compiling needs few packages, so it begins while pip still installs the others.
checks-and-compilation:
	$(MAKE) --no-print-directory --jobs=2 checks compiled

compiled: .venv/core
	$(BIN)/python -m cc_env warm

test-pythons:
	$(PYTHON) tests/pythons.py

test-numba:
	$(PYTHON) tests/pythons.py --newest-numba

test-arm: .venv/ready
	$(BIN)/python tests/portability/emulated_arm.py

checks: .venv/ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

demo: .venv/ready
	$(BIN)/python -m training.experiments.demo

play: .venv/ready
	$(BIN)/python -m cc_env serve --open

docs: .venv/ready
	$(BIN)/python -m docs.make
	$(BIN)/python -m mkdocs build --quiet

examples: .venv-examples/ready .venv-verifiers/ready .venv-openenv/ready .venv-kaggle/ready
	CC_ENV_EXAMPLES=all .venv-examples/bin/pytest tests/examples -k heavy --durations=0 --durations-min=5
	CC_ENV_EXAMPLES=all .venv-verifiers/bin/pytest $(MODELS)/test_textarena.py $(MODELS)/test_verifiers.py
	CC_ENV_EXAMPLES=all .venv-openenv/bin/pytest $(MODELS)/test_openenv.py
	CC_ENV_EXAMPLES=all .venv-kaggle/bin/pytest $(MODELS)/test_kaggle.py

bench: .venv/bench
	$(BIN)/python -m benchmarks

.venv/core: requirements.lock setup.cfg pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "cc_env needs Python 3.11 or newer; set PYTHON=...")'
	$(PYTHON) -m venv .venv
	$(INSTALL) --constraint requirements.lock setuptools
	$(INSTALL) --constraint requirements.lock --no-build-isolation --editable .[cli]
	touch $@

.venv/ready: .venv/core
	$(INSTALL) -r requirements.lock
	$(BIN)/pip check
	touch $@

.venv/bench: .venv/ready requirements-bench.lock
	$(INSTALL) -r requirements-bench.lock
	touch $@

.venv-%/ready: requirements-%.lock setup.cfg
	$(PYTHON) -m venv .venv-$*
	.venv-$*/bin/pip install --quiet --no-compile -r $<
	.venv-$*/bin/pip install --quiet --no-deps --no-build-isolation --editable .
	.venv-$*/bin/pip check
	touch $@

# kaggle-environments names the packages of all its games, such as JAX, as requirements; its core needs few of them.
.venv-kaggle/ready: requirements-kaggle.lock setup.cfg
	$(PYTHON) -m venv .venv-kaggle
	.venv-kaggle/bin/pip install --quiet --no-compile --no-deps -r $<
	.venv-kaggle/bin/pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

# A local version of torch such as +cpu is not part of the pin.
lock:
	rm -rf .venv
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet "torch==2.13.0"
	$(BIN)/pip install --quiet --editable .[dev]
	$(BIN)/pip freeze --all --exclude-editable --exclude pip | sed 's/+.*//' > requirements.lock
	$(BIN)/pip install --quiet --editable .[dev,bench]
	$(BIN)/pip freeze --all --exclude-editable --exclude pip | sed 's/+.*//' > requirements-bench.lock
	touch .venv/core
	touch .venv/ready
	touch .venv/bench
	rm -rf .venv-examples
	$(PYTHON) -m venv .venv-examples
	.venv-examples/bin/pip install --quiet "torch==2.13.0"
	.venv-examples/bin/pip install --quiet --editable .[examples]
	.venv-examples/bin/pip freeze --all --exclude-editable --exclude pip | sed 's/+.*//' > requirements-examples.lock
	touch .venv-examples/ready
	rm -rf .venv-verifiers .venv-openenv
	for extra in verifiers openenv; do \
		$(PYTHON) -m venv .venv-$$extra && \
		.venv-$$extra/bin/pip install --quiet "setuptools>=77" --editable .[$$extra] && \
		.venv-$$extra/bin/pip freeze --all --exclude-editable --exclude pip > requirements-$$extra.lock && \
		touch .venv-$$extra/ready || exit 1; \
	done
	rm -rf .venv-kaggle
	$(PYTHON) -m venv .venv-kaggle
	.venv-kaggle/bin/pip install --quiet "setuptools>=77" flask hypothesis jsonschema pytest requests --editable .[cli]
	.venv-kaggle/bin/pip install --quiet --no-deps kaggle-environments==1.33.2
	.venv-kaggle/bin/pip freeze --all --exclude-editable --exclude pip > requirements-kaggle.lock
	touch .venv-kaggle/ready

clean:
	rm -rf .venv .venv-examples .venv-verifiers .venv-openenv .venv-kaggle build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
