# Everything a change is tried with. Needs Python and uv (`pip install uv`), nothing else.
.DEFAULT_GOAL := help
.PHONY: help check test test-all test-sdk test-oldest coverage compat pgbouncer fix generate docs wheels

RUN := uv run --locked

# Without a cache: which imports are our own depends on files that the cache of another does not see.
RUFF := $(RUN) ruff check --no-cache

help: ## What there is to do
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

check: ## All a change must pass besides tests; changes nothing
	uv lock --check
	$(RUFF)
	$(RUN) ruff format --check
	$(RUN) mypy
	$(RUN) lint-imports
	$(RUN) zizmor --offline --quiet .github/workflows
	$(RUN) check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(RUN) python -m tools.check_history
	$(RUN) python -m tools.generate_protos --check
	$(RUN) python -m tools.generate_docs --check
	$(RUN) python -m tools.check_docs

test: ## The plain run: everything that is quick
	uv run pytest -n auto

test-all: ## The plain run and the slow tests
	uv run pytest -n auto --slow

test-sdk: ## The SDK's wheel on Python 3.10 (PYTHON310=path chooses which), without core
	$(RUN) python -m tools.test_sdk
	$(RUN) python -m tools.test_sdk --with langgraph-checkpoint==3.0.1 \
		--with 'langchain-core==1.0.*'

coverage: ## Every branch of the codec is taken by a test
	$(RUN) pytest -n auto tests/sdk/langgraph_documents --cov=naas_abi_sdk.langgraph_documents \
		--cov-branch --cov-report=term-missing:skip-covered --cov-fail-under=100

# LangGraph's own saver of that age is left out: it does not yet order pending writes by task path.
test-oldest: ## The saver and the agent with the oldest LangGraph and LangChain they allow
	uv run --with langgraph-checkpoint==3.0.1 --with 'langgraph-checkpoint-postgres==3.0.*' \
		--with 'langgraph==1.0.*' --with 'langgraph-prebuilt<1.0.9' \
		--with 'langchain==1.0.*' --with 'langchain-core==1.0.*' \
		python -m pytest -n auto tests/core/memory tests/core/agent -k 'not TestReference'

compat: ## Threads exchanged with the last published packages, installed apart
	uv run pytest tests/compat -m compat

pgbouncer: ## PostgreSQL documents through PgBouncer (`apt-get install pgbouncer` first)
	uv run pytest -n auto tests/core/document -m pgbouncer

wheels: ## Build the three wheels and try them as a user would
	$(RUN) python -m tools.check_wheels

fix: ## Mend what can be mended by itself
	$(RUFF) --fix
	$(RUN) ruff format

generate: ## Write what is derived from code, and the code of the wire contract
	$(RUN) python -m tools.generate_protos
	$(RUN) python -m tools.generate_docs

docs: ## Links reach a file, code blocks parse, derived pages are current
	$(RUN) python -m tools.check_docs
	$(RUN) python -m tools.generate_docs --check

.PHONY: bench
bench: ## Our savers and LangGraph's side by side, at length; `python -m benchmarks --quick` is short
	$(RUN) python -m benchmarks
