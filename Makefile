# Everything that is done to this project, by name. `make help` lists it.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# A user's commands start from compiled code, and so do those that tests and benches start.
unexport PYTHONDONTWRITEBYTECODE
# The release whose contract the wire must not break; until there is one, the commit that added proto/.
BREAKING_BASE = $(shell git describe --tags --abbrev=0 --match 'v[0-9]*' 2>/dev/null || git log --diff-filter=A --format=%H -- proto/compass/v1/compass.proto | tail -1)
TEST_WORKERS ?= auto
# The SDKs that have an adapter; each is tested in an environment of its own.
AGENT_SDKS := openai anthropic pydantic-ai openai-agents claude-agent-sdk langgraph google-adk acp
# What the tests of one need beside it: the libraries of the providers that it asks.
EXTRAS_pydantic-ai := --extra openai --extra anthropic
EXTRAS_langgraph := --group agents-langgraph
SPHINX := --quiet --fail-on-warning --keep-going --nitpicky -c docs -d build/doctrees

.DEFAULT_GOAL := help
.PHONY: help setup setup-run demo demo-cluster test test-all test-slow test-agents bench bench-page check docs lint types imports ledger vendored proto-gen proto-check proto-lint fmt lock lock-agents clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Two stamps: what a user needs to run the demo, and what a developer needs on top.
$(VENV)/run.stamp: requirements-run.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "compass needs Python 3.11 or newer; name one with make PYTHON=python3.12 …")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements-run.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/dev.stamp: requirements-dev.txt $(VENV)/run.stamp
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements-dev.txt
	@touch $@

setup-run: $(VENV)/run.stamp ## Make .venv with what the command needs
setup: $(VENV)/dev.stamp ## Make .venv with all that developing needs

demo: $(VENV)/run.stamp ## Replay a failing and an aborted agent run while a second process tails it
	@$(BIN)/python tests/demo/demo.py

demo-cluster: $(VENV)/dev.stamp ## Kill the leader of three servers and a hub while four agents publish
	@$(BIN)/python tests/demo/cluster.py

test: $(VENV)/dev.stamp ## Run the tests
	$(BIN)/python -m pytest -n $(TEST_WORKERS)

test-all: test test-slow ## Run all tests, the long ones too

test-slow: $(VENV)/dev.stamp ## Run the long tests: large, many kills, many readers
	$(BIN)/python -m pytest -n $(TEST_WORKERS) -m slow --timeout 900

.PRECIOUS: $(VENV)-agents/%/stamp
$(VENV)-agents/%/stamp: tests/agents/requirements/%.txt
	@test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --require-hashes -r $<
	@touch $@

test-agents: $(AGENT_SDKS:%=test-agent-%) ## Test the adapters of SDKs, each with the real one

test-agent-%: $(VENV)-agents/%/stamp
	COMPASS_AGENT_SDK=$* PYTHONPATH=src:gen $(<D)/bin/python -m pytest tests/agents

bench: $(VENV)/dev.stamp ## Measure, each figure as a ratio against its floor in the same run
	PYTHONPATH=tests $(BIN)/python tests/bench/bench.py

bench-page: $(VENV)/dev.stamp ## Measure, and write docs/performance.md from it
	@mkdir -p build && rm -f build/bench.json
	-PYTHONPATH=tests $(BIN)/python tests/bench/bench.py --json build/bench.json
	PYTHONPATH=tests $(BIN)/python tests/bench/page.py build/bench.json

check: lint types imports ledger vendored proto-check proto-lint docs ## Run every check that is no test

docs: $(VENV)/dev.stamp ## Make the documents a site in build/site, strictly, and run its examples
	$(BIN)/python -m sphinx $(SPHINX) . build/site
	$(BIN)/python -m sphinx $(SPHINX) -b doctest . build/doctest
	@echo build/site/index.html

lint: $(VENV)/dev.stamp ## Style, format, spelling
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell README.md CHANGELOG.md CONTRIBUTING.md docs src tests proto Makefile
	$(BIN)/rumdl check --no-cache --quiet README.md CHANGELOG.md CONTRIBUTING.md docs

types: $(VENV)/dev.stamp ## Types, strictly
	$(BIN)/basedpyright

imports: $(VENV)/dev.stamp ## The layers of the architecture
	$(BIN)/lint-imports

ledger: $(VENV)/dev.stamp ## Hold decisions and their records to the rules, since the last release or BASE
	PYTHONPATH=docs/designs $(BIN)/python -m gate $(if $(BASE),--base "$(BASE)")

vendored: $(VENV)/dev.stamp ## Compare the libraries in the session pane with their checksums
	$(BIN)/python tests/vendoring.py

proto-gen: $(VENV)/dev.stamp ## Make gen/ from proto/
	$(BIN)/buf format -w proto
	$(BIN)/buf lint
	$(BIN)/python proto/generate.py

proto-check: $(VENV)/dev.stamp ## Fail when gen/ is not what proto/ makes
	$(BIN)/python proto/generate.py --check

proto-lint: $(VENV)/dev.stamp ## buf format, lint and breaking
	$(BIN)/buf format --diff --exit-code proto
	$(BIN)/buf lint
	@if [ -n "$(BREAKING_BASE)" ]; then echo "buf breaking --against $(BREAKING_BASE)"; \
	$(BIN)/buf breaking --against ".git#ref=$(BREAKING_BASE)"; \
	else echo "buf breaking: no commit to compare with yet"; fi

fmt: $(VENV)/dev.stamp ## Format sources and the contract
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .
	$(BIN)/rumdl fmt --no-cache --quiet README.md CHANGELOG.md CONTRIBUTING.md docs
	$(BIN)/buf format -w proto

lock: ## Resolve the locked requirements anew (needs uv)
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header --group run pyproject.toml -o requirements-run.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header --extra grpc --extra mcp --extra nats --extra otel --extra serve --extra subscriber --group dev pyproject.toml -o requirements-dev.txt

lock-agents: $(AGENT_SDKS:%=lock-agent-%) ## Resolve the requirements of the SDKs' tests anew (needs uv)

lock-agent-%:
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header --extra $* $(EXTRAS_$*) --group agents pyproject.toml -o tests/agents/requirements/$*.txt

clean: ## Remove what make made
	rm -rf $(VENV) $(VENV)-agents .demo build dist .hypothesis .pytest_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
