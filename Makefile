# make book | test | lab | notebooks | serve. README.md has the same commands without make.

PYTHON ?= python3
PORT ?= 8000
BIN := .venv/bin
NOTEBOOKS := $(wildcard chapters/*.ipynb)
BUILD := $(BIN)/jupyter-book build . --warningiserror --nitpick --keep-going

.PHONY: book test lab notebooks serve lint unit nbval browser clean

book: .venv/installed
	@$(BUILD) --quiet
	@echo "The book: file://$(CURDIR)/_build/html/index.html   (make serve shows it at http://localhost:$(PORT)/)"

# One step after another: each needs what the one before it proved.
test: .venv/installed
	@$(MAKE) --no-print-directory lint
	@$(MAKE) --no-print-directory unit
	@$(MAKE) --no-print-directory nbval
	@$(MAKE) --no-print-directory book
	@$(MAKE) --no-print-directory browser

lint:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

unit:
	$(BIN)/python -m pytest tests d2lattn --doctest-modules --ignore=tests/book

nbval:
	$(BIN)/python -m pytest --nbval --durations=3 $(NOTEBOOKS)

browser:
	$(BIN)/python -m pytest tests/book

lab: .venv/installed
	$(BIN)/jupyter lab --notebook-dir=chapters

notebooks: .venv/installed
	$(BIN)/python scripts/run_notebooks.py

serve: book
	$(BIN)/python -m http.server $(PORT) --bind 127.0.0.1 --directory _build/html

clean:
	rm -rf .venv _build

.venv/installed: requirements.txt pyproject.toml
	@$(PYTHON) scripts/check_python.py
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@
