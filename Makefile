# On a fresh machine with Python 3.11 or later, make and pip:
#   make demo   installs Bentham, then serves 14 studies of 5 tenants and trains their models
#   make test   installs Bentham, then checks style and types and runs the tests
#   make quick  runs the tests that need no browser, PostgreSQL, Ray or other process
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
# Not compiled in advance: too many files for the few of them that are imported.
RARELY_IMPORTED := tests|ray|pip|setuptools|pkg_resources|mypy|mypyc|fontTools|pygments|graphql|optuna|narwhals
# The tests start hundreds of processes. Without bytecode files, each would compile the sources again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test quick begin browser lint types unit bench regret reproduce soak dashboard screenshots docs lock clean help

help: ## List the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 8

$(INSTALLED): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Bentham needs Python 3.11 or later; choose one with: make PYTHON=python3.12 ..."; exit 1; }
	@echo "Installing the locked dependencies into $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python tools/install.py
	@touch $@
	@$(BIN)/python -m compileall -q -x '/($(RARELY_IMPORTED))/' $(VENV)/lib src >/dev/null 2>&1 & # as pip would

demo: $(INSTALLED) ## Run a live service that trains for five tenants; DEMO=--exit-when-done to exit at the end
	@$(BIN)/bentham demo $(DEMO)

test: begin lint ## Check style and types and run all tests
	@$(MAKE) --no-print-directory --jobs 2 types unit

quick: lint ## Check style and run the tests that need no browser, PostgreSQL, Ray or other process
	@$(BIN)/pytest --quick -n auto --dist worksteal -p no:schemathesis

# Installs a browser, if there is none, while everything else is installed and checked. `browser`
# waits for it, and reports why it failed.
begin:
	@$(PYTHON) tools/find_browser.py --install >/dev/null 2>&1 &

browser: $(INSTALLED)
	@$(BIN)/python tools/find_browser.py --install >/dev/null

lint: $(INSTALLED)
	@$(BIN)/ruff format --check --quiet . || { echo "Run: $(BIN)/ruff format ."; exit 1; }
	@$(BIN)/ruff check --quiet .

types: $(INSTALLED)
	@$(BIN)/mypy

unit: $(INSTALLED) browser
	@$(BIN)/pytest -n auto --dist worksteal

bench: $(INSTALLED) ## Benchmark decisions (fixed and learned prior) and the service, as JSON
	@$(BIN)/bentham bench decisions --studies 100 --models 100 --json
	@$(BIN)/bentham bench decisions --studies 10000 --models 100 --observations 100000 --json
	@$(BIN)/bentham bench decisions --studies 1000 --models 100 --learned --json
	@$(BIN)/bentham bench service --json

regret: $(INSTALLED) ## Compare regret with the paper's configuration and an oracle (15 minutes)
	@$(BIN)/bentham bench regret --devices 1,8 --repeat 5

reproduce: $(INSTALLED) ## Repeat the paper's experiments and check its claims: reproduction/report.html (10 minutes)
	@$(BIN)/bentham reproduce

soak: $(INSTALLED) ## Kill a live service thousands of times and check its state (30 minutes); SOAK=sqlite for one part
	@PYTHONPATH=tests $(BIN)/python tools/soak.py

dashboard: $(INSTALLED) browser ## Measure frame times, memory and decision latency with a page open under load (4 minutes)
	@$(BIN)/python tools/dashboard_load.py $(DASHBOARD)

screenshots: $(INSTALLED) browser ## Take the dashboard screenshots in docs/images/dashboard (3 minutes)
	@PYTHONPATH=tests $(BIN)/python tools/make_screenshots.py

docs: $(INSTALLED) ## Generate docs/reference.md and docs/events.md from the code
	@$(BIN)/python tools/make_reference.py

lock: ## Pin the newest versions that pyproject.toml allows (needs uv)
	uv pip compile pyproject.toml --extra dev --universal --generate-hashes --no-header \
	  --no-annotate --no-emit-index-url --upgrade --quiet -o requirements.lock

clean: ## Remove the environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
