# `make demo` and `make test` set up everything they need in .venv.
# PYTHON names an interpreter (3.11 or newer); VENV another place for the environment.

VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help demo test lint bench clean

help:
	@echo "make demo    a real long-context task behind the walls, then attacks on them (offline)"
	@echo "make test    lint, types and every test"
	@echo "make lint    lint and types only"
	@echo "make bench   the benchmarks, as ratios"
	@echo "make clean   remove .venv and caches"

$(READY): pyproject.toml .ci/setup
	@PYTHON="$(PYTHON)" .ci/setup $(VENV)

demo: $(READY)
	@$(BIN)/rlm-secure demo

test: lint
	$(BIN)/python -m pytest

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: $(READY)
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
