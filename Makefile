# make book | test | check | lab | notebooks | serve | zip | pdf | slides | figures. README.md has the
# same commands without make.

PYTHON ?= python3
PORT ?= 8000
BIN := .venv/bin
# Empty: PyTorch comes as pip chooses it.
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
TORCH_RELEASE ?= $(shell sed -n 's/^\(torch[<>=][^ ]*\).*/\1/p' requirements.txt)
# What JupyterLab shows first: the questions, as links
START := /lab/tree/chapters/start.ipynb
NOTEBOOKS := $(wildcard chapters/*/*.ipynb) chapters/which-would-you-sign.ipynb
BUILD := $(BIN)/jupyter-book build . --warningiserror --nitpick --keep-going

# A worker for each processor and one that computes while another waits for a page (conftest.py),
# four at most: each holds a PyTorch, a browser or a notebook's kernel.
PYTEST := $(BIN)/python -m pytest --numprocesses=auto --maxprocesses=4

# What Python compiled is kept, even where the environment says no: each run would do it anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: book test check fast lab notebooks words serve zip pdf slides figures lint types javascript unit nbval browser weekly clean

# After a failure it forgets what it read: of a page that it knows already it would not warn again.
book: .venv/installed
	@$(BUILD) --quiet || { rm -rf _build/.doctrees; exit 1; }
	@echo "The book: file://$(CURDIR)/_build/html/index.html   (make serve shows it at http://localhost:$(PORT)/)"

# The book first, because the browser opens its pages, and beside it all that takes less long; then
# all tests share the workers. It is built from nothing: in what was built before, a term that is
# gone from the glossary would go unnoticed, and a page that is gone would be tested.
test: .venv/installed
	@rm -rf _build
	@$(MAKE) --no-print-directory --jobs=2 book lint types javascript
	$(PYTEST) --nbval --doctest-modules --durations=25 tests d2lattn $(NOTEBOOKS)

# What can be known within a minute; to load nbval alone takes two seconds.
check: .venv/installed
	@$(MAKE) --no-print-directory --jobs=3 lint types fast

fast: .venv/installed
	$(PYTEST) -p no:nbval --doctest-modules --hypothesis-profile=quick \
		-m "not slow and not browser" --quiet tests d2lattn

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/zizmor --offline --quiet .github

types: .venv/installed
	$(BIN)/mypy

# Where there is Node; in CI there must be. Readers and the book need none.
javascript:
	@if command -v npm >/dev/null; then cd javascript && npm ci --silent && npm --silent test; \
	elif [ "$$CI" = true ]; then echo "npm is missing: explorables cannot be tested"; exit 1; \
	else echo "no npm: the explorables' own tests are skipped"; fi

unit: .venv/installed
	$(PYTEST) --doctest-modules --ignore=tests/pages tests d2lattn

nbval: .venv/installed
	$(PYTEST) --nbval --durations=3 $(NOTEBOOKS)

# What takes many minutes and changes seldom: the shipped translators, judged and trained again;
# every walk and workshop run and played in JupyterLab; each figure's speed, and axe in its page.
weekly: book
	$(PYTEST) -p no:nbval -m weekly --durations=5 tests

# Other processors, Pythons and PyTorchs, one after the other (noxfile.py); takes about an hour.
matrix: .venv/installed
	$(BIN)/nox

# Known vulnerabilities in the installed packages
audit: .venv/installed
	@$(PYTHON) -m venv .venv/audit
	@.venv/audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit
	@.venv/audit/bin/pip-audit --strict --skip-editable --path $(BIN)/../lib/python*/site-packages

# Whether pages of others that the book leads to still answer; beside the book, not into it.
links: .venv/installed
	$(BIN)/jupyter-book build . --builder linkcheck --path-output _build/links --quiet

browser: book
	$(PYTEST) tests/pages

# Outputs that nobody trusts are shown without drawings and figures until the notebook is run.
lab: .venv/installed
	@$(BIN)/jupyter trust $(NOTEBOOKS) >/dev/null
	$(BIN)/jupyter lab "--LabApp.default_url=$(START)"

notebooks: .venv/installed
	$(BIN)/python -m tools.run_notebooks

# After a change of words alone: minutes in the headers, names of cells; nothing is run
words: .venv/installed
	@$(BIN)/python -m tools.honest_time --write >/dev/null

serve: book
	$(BIN)/python -m http.server $(PORT) --bind 127.0.0.1 --directory _build/html

# To hand out, below _build: the book in one file; the walks printed; slides for teach.md's sessions;
# the walks' figures
zip: book
	$(BIN)/python -m tools.make_zip

pdf: book
	$(BIN)/python -m tools.make_pdf

slides: .venv/installed
	@command -v npm >/dev/null || { echo "slides need Node, for reveal.js"; exit 1; }
	@cd javascript && { test -e node_modules/reveal.js || npm ci --silent; }
	$(BIN)/python -m tools.make_slides

figures: .venv/installed
	$(BIN)/python -m tools.make_figures

clean:
	rm -rf .venv _build

# For Linux, pip chooses PyTorch with 3 GB of CUDA, which the book never uses. Where there is no
# NVIDIA driver, take the CPU build from PyTorch's own index, or go on if that is out of reach.
define TORCH
if [ -n "$(TORCH_INDEX)" ] && [ "$$(uname)" = Linux ] && [ ! -e /proc/driver/nvidia ] \
	&& ! command -v nvidia-smi >/dev/null; then \
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --timeout 10 --retries 0 \
		--index-url "$(TORCH_INDEX)" "$(TORCH_RELEASE)" \
		2>.venv/torch.log || { tail -n 1 .venv/torch.log; \
		echo "PyTorch's CPU build is out of reach; pip chooses a build."; }; \
fi
endef

.venv/installed: requirements.txt pyproject.toml
	@$(PYTHON) -m venv .venv
	@$(TORCH)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@
