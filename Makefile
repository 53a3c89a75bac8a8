# Readers:      make lab | book | serve
# Contributors: make check | test | words | notebooks, and one part of `test`: lint | types |
#               javascript | unit | nbval | browser
# Teachers:     make zip | pdf | slides | figures
# README.md has the same commands without make.

PYTHON ?= python3
PORT ?= 8000
BIN := .venv/bin
# PyTorch's index of CPU builds; empty: let pip choose.
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
TORCH_RELEASE ?= $(shell sed -n 's/^\(torch[<>=][^ ]*\).*/\1/p' requirements.txt)
START := /lab/tree/chapters/start.ipynb
NOTEBOOKS := $(wildcard chapters/*/*.ipynb) chapters/which-would-you-sign.ipynb
BUILD := $(BIN)/jupyter-book build . --warningiserror --nitpick --keep-going
# One worker more than processors (conftest.py), but at most four, because each loads PyTorch, a
# browser or a kernel.
PYTEST := $(BIN)/python -m pytest --numprocesses=auto --maxprocesses=4
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# Write bytecode even where the environment forbids it, so that modules are compiled once.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: lab book serve check fast test lint types javascript compile unit nbval browser weekly matrix \
	audit links notebooks words zip pdf slides figures clean

# Trust our notebooks, so that JupyterLab shows stored figures.
lab: .venv/readers
	@$(BIN)/python -m tools.run_notebooks --trust
	$(BIN)/jupyter lab "--LabApp.default_url=$(START)"

# After a failure, delete Sphinx's cache: it does not repeat warnings for cached pages.
book: .venv/readers
	@$(BUILD) --quiet || { rm -rf _build/.doctrees; exit 1; }
	@echo "The book: file://$(CURDIR)/_build/html/index.html   (make serve: http://localhost:$(PORT)/)"

serve: book
	$(BIN)/python -m http.server $(PORT) --bind 127.0.0.1 --directory _build/html

# Lint, types and the quick tests, in about a minute
check: .venv/installed
	@$(MAKE) --no-print-directory --jobs=3 lint types fast

fast: .venv/installed
	$(PYTEST) -p no:nbval --doctest-modules --hypothesis-profile=quick \
		-m "not slow and not browser" --quiet tests d2lattn tools website

# Everything. The book is built from scratch, to notice removed pages and terms.
test: .venv/installed
	@rm -rf _build
	@$(MAKE) --no-print-directory --jobs=2 book lint types javascript compile
	$(PYTEST) --nbval --doctest-modules --durations=25 tests d2lattn tools website $(NOTEBOOKS)

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/zizmor --offline --quiet .github

types: .venv/installed
	$(BIN)/mypy

# Skipped without Node, except in CI. Neither readers nor the book need Node.
javascript:
	@if command -v npm >/dev/null; then cd javascript && npm ci --silent && npm --silent test; \
	elif [ "$$CI" = true ]; then echo "npm is missing: figures cannot be tested"; exit 1; \
	else echo "no npm: the figures' own tests are skipped"; fi

unit: .venv/installed
	$(PYTEST) --doctest-modules --ignore=tests/pages tests d2lattn tools website

# Rewrite the tests' assertions once, while the book is built, and not in each worker.
compile: .venv/installed
	-@$(BIN)/python -m pytest -p no:nbval --doctest-modules --collect-only --quiet \
		tests d2lattn tools website >/dev/null

nbval: .venv/installed
	$(PYTEST) --nbval --durations=3 $(NOTEBOOKS)

browser: book .venv/installed
	$(PYTEST) tests/pages tests/book

# Tests that take minutes, such as training the translators again.
weekly: book .venv/installed
	$(PYTEST) -p no:nbval -m weekly --durations=5 tests

# Other versions of Python and PyTorch (noxfile.py); about an hour
matrix: .venv/installed
	$(BIN)/nox

# Known vulnerabilities in the installed packages
audit: .venv/installed
	@$(PYTHON) -m venv .venv/audit
	@.venv/audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit
	@.venv/audit/bin/pip-audit --strict --skip-editable --path $(BIN)/../lib/python*/site-packages

# Links from the book to other sites
links: .venv/readers
	$(BIN)/jupyter-book build . --builder linkcheck --path-output _build/links --quiet

# Run all notebooks and store their outputs.
notebooks: .venv/readers
	$(BIN)/python -m tools.run_notebooks

# After a change of words: recompute reading times and cell names; nothing is run.
words: .venv/readers
	@$(BIN)/python -m tools.reading_time --write >/dev/null

# The book as one file; the walks as PDF (needs Chromium); slides (needs Node); figures
zip: book
	$(BIN)/python -m tools.make_zip

pdf: book .venv/installed
	$(BIN)/python -m tools.make_pdf

slides: .venv/readers
	@command -v npm >/dev/null || { echo "slides need Node, for reveal.js"; exit 1; }
	@cd javascript && { test -e node_modules/reveal.js || npm ci --silent; }
	$(BIN)/python -m tools.make_slides

figures: .venv/readers
	$(BIN)/python -m tools.make_figures

clean:
	rm -rf .venv .nox _build

# On Linux pip chooses PyTorch with 3 GB of CUDA. Without an NVIDIA driver, take the CPU build from
# PyTorch's index; if that is out of reach, let pip choose.
define TORCH
if [ -n "$(TORCH_INDEX)" ] && [ "$$(uname)" = Linux ] && [ ! -e /proc/driver/nvidia ] \
	&& ! command -v nvidia-smi >/dev/null; then \
	$(PIP) --timeout 10 --retries 0 --index-url "$(TORCH_INDEX)" "$(TORCH_RELEASE)" \
		2>.venv/torch.log || { tail -n 1 .venv/torch.log; \
		echo "PyTorch's CPU build is out of reach; pip chooses a build."; }; \
fi
endef

.venv/readers: requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "The book needs Python 3.11 or newer: make PYTHON=python3.11 …")'
	@$(PYTHON) -m venv .venv
	@echo "Installing PyTorch and what the book needs (about 1.5 GB; a few minutes) …"
	@$(TORCH)
	@$(PIP) -r requirements.txt
	@touch $@

.venv/installed: .venv/readers requirements-test.txt constraints.txt
	@$(PIP) -r requirements-test.txt
	@touch $@
