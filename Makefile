# Two commands do everything on a fresh machine with Python 3.11 or later, make and pip:
#   make demo   installs, then serves 14 studies of 5 tenants and trains for real
#   make test   installs, then checks style, types and behaviour
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: demo test begin browser lint types unit bench regret reproduce soak dashboard screenshots docs lock clean help

help: ## What can be made
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 8

$(INSTALLED): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Bentham needs Python 3.11 or later; name one with: make PYTHON=python3.12 ..."; exit 1; }
	@echo "Installing the locked dependencies into $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python tools/install.py
	@touch $@
	@$(BIN)/python -m compileall -q -x '/(tests|ray/(data|rllib|serve|train|tune))/' $(VENV)/lib \
	  >/dev/null 2>&1 & # as pip would, but beside what follows, and not what nobody imports

demo: $(INSTALLED) ## A service that trains for five tenants, watched live; DEMO=--exit-when-done to end by itself
	@$(BIN)/bentham demo $(DEMO)

test: begin lint ## Style, types and all tests
	@$(MAKE) --no-print-directory --jobs 2 types unit

# A machine without a browser gets one while all else is installed and checked; `browser` waits
# for that, and says what stood in the way.
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

bench: $(INSTALLED) ## Decision time, without and with learning, as JSON
	@$(BIN)/bentham bench decisions --studies 100 --models 100 --json
	@$(BIN)/bentham bench decisions --studies 10000 --models 100 --observations 100000 --json
	@$(BIN)/bentham bench decisions --studies 1000 --models 100 --learned --json
	@$(BIN)/bentham bench service --json

regret: $(INSTALLED) ## Regret against the paper's configuration and an oracle (a quarter of an hour)
	@$(BIN)/bentham bench regret --devices 1,8 --repeat 5

reproduce: $(INSTALLED) ## The paper's figures and claims, judged: reproduction/report.html (ten minutes)
	@$(BIN)/bentham reproduce

soak: $(INSTALLED) ## Thousands of kills of a live service, and a judge (half an hour); SOAK=sqlite for a part
	@PYTHONPATH=tests $(BIN)/python tools/soak.py

dashboard: $(INSTALLED) browser ## Frames, memory and decision latency with a page open, under load (four minutes)
	@$(BIN)/python tools/dashboard_load.py $(DASHBOARD)

screenshots: $(INSTALLED) browser ## The pictures of the dashboard in docs/images/dashboard (three minutes)
	@PYTHONPATH=tests $(BIN)/python tools/make_screenshots.py

docs: $(INSTALLED) ## Make docs/reference.md and docs/events.md from the code
	@$(BIN)/python tools/make_reference.py

lock: ## Pin the newest versions that pyproject.toml allows (needs uv)
	uv pip compile pyproject.toml --extra dev --universal --generate-hashes --no-header \
	  --no-annotate --no-emit-index-url --upgrade --quiet -o requirements.lock

clean: ## Remove the environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
