# `make demo` and `make test` set up everything they need in .venv.
# PYTHON names an interpreter (3.11 or newer); VENV another place for the environment; JOBS how many parts of the tests
# run at a time (most of them wait); TESTS more options for them (`.venv/bin/python -m tests --help`); TYPES which type
# checkers read the code; FUZZ, SECONDS_EACH and SEED say which fuzzer runs, for how long, and with which inputs; OUT where
# `make evidence` writes, and EVIDENCE more options for it (`.venv/bin/python -m tests.evidence --help`).

VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
JOBS ?= 5
FUZZ ?= all
SECONDS_EACH ?= 60
TYPES ?= mypy pyright

.PHONY: help demo quick test parts coverage fuzz evidence lint docs docs-serve bench goals bench-peers live sbom clean

help:
	@echo "make demo    a real long-context task behind the walls, then attacks on them (offline)"
	@echo "make quick   the heart of the tests, in a minute: language, local walls, loop; no cloud, no Docker, no browser"
	@echo "make test    lint, types and the tests; with TESTS=--all the exhaustive ones, too"
	@echo "make coverage  which branches of the trusted files the tests run"
	@echo "make fuzz    the fuzzers, a minute each: FUZZ=lines for one alone, SECONDS_EACH=300, SEED=1 for the same inputs again"
	@echo "make evidence  one dated report that can be filed: walls, attacks, coverage, figures; in OUT=build/evidence, in half an hour"
	@echo "make lint    lint, spelling, docstrings and types only"
	@echo "make docs    the site, into build/site; make docs-serve shows it while you write"
	@echo "make bench   the benchmarks, as ratios"
	@echo "make goals   what speed was promised, and what is measured, in a quarter of an hour; writes benchmarks/GOALS.md (CI=seconds of .ci/run)"
	@echo "make bench-peers  ours beside other sandboxes, in turns; installs them in PEERS=folder, writes benchmarks/RESULTS.md"
	@echo "make live    a session with a real cloud provider, with your account: PROVIDER=e2b, daytona, modal, prime or kubernetes"
	@echo "make sbom    bills of materials (CycloneDX), of the core and of each extra, into build/sbom"
	@echo "make clean   remove .venv and caches"

$(READY): pyproject.toml .ci/setup
	@PYTHON="$(PYTHON)" .ci/setup $(VENV)

demo: $(READY)
	@$(BIN)/rlm-secure demo

quick: $(READY)
	@$(BIN)/python -m tests --quick

test: $(READY)
	@$(MAKE) --no-print-directory -j2 parts lint

parts: $(READY)
	@$(BIN)/python -m tests --jobs $(JOBS) $(TESTS)

coverage: $(READY)
	@$(BIN)/python -m tests --jobs $(JOBS) --coverage only $(TESTS)

fuzz: $(READY)
	@$(BIN)/python -m tests.fuzz $(FUZZ) --seconds $(SECONDS_EACH) $(if $(SEED),--seed $(SEED))

evidence: $(READY)
	@$(BIN)/python -m tests.evidence $(if $(OUT),--output "$(OUT)") $(if $(SEED),--seed $(SEED)) $(EVIDENCE)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/typos
	$(if $(filter mypy,$(TYPES)),$(BIN)/mypy)
	$(if $(filter pyright,$(TYPES)),$(BIN)/pyright --level error --pythonpath $(BIN)/python)
	$(BIN)/zizmor --quiet --offline .

# Material for MkDocs announces its successor whenever it runs.
docs docs-serve: export NO_MKDOCS_2_WARNING = 1
docs: $(READY)
	@$(BIN)/mkdocs build --quiet --config-file docs/mkdocs.yml
	@echo "build/site/index.html"

docs-serve: $(READY)
	@$(BIN)/mkdocs serve --config-file docs/mkdocs.yml

bench: $(READY)
	$(BIN)/python -m benchmarks

goals: $(READY)
	$(BIN)/python -m benchmarks.goals --write $(if $(CI),--ci "$(CI)")

# The probes run in an arena, the rest as the caller. PEERS is ~/.cache/rlm-secure-peers by default; OPTIONS are those of
# `.venv/bin/python -m benchmarks.peers --help`.
bench-peers: $(READY)
	$(if $(PEERS),PEERS="$(abspath $(PEERS))") $(BIN)/python -m benchmarks.peers $(OPTIONS)

# Starts sandboxes that cost money. No test runs it; sandboxes/CLOUDS.md says what it looks at.
live: $(READY)
	@test -n "$(PROVIDER)" || { echo "make live PROVIDER=e2b (or daytona, modal, prime, kubernetes)" >&2; exit 2; }
	@$(BIN)/python -m benchmarks.live $(PROVIDER) $(if $(OPTIONS),--options '$(OPTIONS)')

# CycloneDX JSON of the package with its core dependencies and with each extra, in build/sbom.
sbom: $(READY)
	@.ci/sbom build/sbom

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
