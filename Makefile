# Verbs only: pyproject.toml and bpf/CMakeLists.txt say how noisetop is built, packaging/prepare what it needs.

VENV := .venv
BIN := $(VENV)/bin
ARGS ?=
KERNEL_ARGS ?=
TIME ?= 60s
DIST ?= dist
export PYTHON

SOURCES := pyproject.toml $(sort $(wildcard bpf/CMakeLists.txt) $(shell find bpf noisetop/native -name '*.[ch]'))
C_FILES := $(filter %.c %.h,$(SOURCES))
BUILT := $(VENV)/built
TOOLS := $(VENV)/tools

# A virtual environment dies when its folder moves or when the distribution goes on to the next Python.
VENV_WORKS := $(shell grep -qsF '$(CURDIR)/$(VENV)' $(VENV)/pyvenv.cfg \
	&& $(BIN)/python -c 'import pip' 2>/dev/null && echo yes)
# The stamp holds the list of the sources, so that a file that is gone counts as well.
UNCHANGED := $(and $(VENV_WORKS),$(shell [ "$$(cat $(BUILT) 2>/dev/null)" = '$(SOURCES)' ] && echo yes))

ROOT := $(filter 0,$(shell id -u))
# Under sudo nothing of root's is to stay behind in the user's folder.
AS_ROOT := $(if $(ROOT),env PYTHONDONTWRITEBYTECODE=,sudo env PYTHONDONTWRITEBYTECODE=1)
# What needs neither kernel, browser nor network runs side by side, and beside it those tests of the kernel that measure
# nothing: these mostly wait. The others run one by one. With worksteal a worker keeps the tests of a file, and what they
# share. What a part has no tests in is not read: each worker would import all of it.
PURE_TESTS := $(BIN)/pytest -n auto --dist worksteal --ignore=tests/kernel \
	-m 'not kernel and not viewer and not packaging' $(ARGS)
KERNEL_TESTS := $(BIN)/pytest -o testpaths=tests/kernel -p no:cacheprovider -m 'kernel and not packaging and not story and
SIDE_BY_SIDE := $(KERNEL_TESTS) side_by_side' -n auto --dist worksteal $(ARGS) $(KERNEL_ARGS)
ONE_BY_ONE := $(KERNEL_TESTS) not side_by_side' $(ARGS) $(KERNEL_ARGS)
# Each worker and each process that a test starts would compile everything again.
WRITE_BYTECODE := PYTHONDONTWRITEBYTECODE=
WITH_KERNEL := $(AS_ROOT) NOISETOP_MUST_RUN=kernel
# Runs a part of the tests. One in which none was chosen, status 5, counts only if that goes for all.
KEEP := status=5; keep() { "$$@"; local end=$$?; [ $$end -eq 5 ] || [ $$status -ne 5 -a $$end -eq 0 ] || status=$$end; }
EVERY_TEST := test test-stories test-thorough test-viewers test-packaging test-guests test-configs test-arm64

.PHONY: build
build: $(BUILT) ## set up what is missing and leave .venv/bin/noisetop behind (the default)

.PHONY: run
run: $(BUILT) ## run noisetop, through sudo if need be: make run ARGS="--cpus 1 -d 10s"
ifeq ($(ROOT),)
	@command -v sudo >/dev/null || { echo 'noisetop: tracing takes root, and there is no sudo: run make run as root' >&2; exit 1; }
	@$(BIN)/python -m compileall -q noisetop
endif
	@$(AS_ROOT) $(BIN)/noisetop $(ARGS)

.PHONY: test
test: $(TOOLS) ## the tests that this machine can run, those of the kernel among them: make test ARGS="-k summary"
	@packaging/prepare test
	@$(KEEP); \
	with=; [ -n '$(ROOT)' ] || ! { sudo -n true || sudo -v; } 2>/dev/null || with='$(WITH_KERNEL)'; \
	said=$$(mktemp); memory=$$(mktemp -d /dev/shm/noisetop-test.XXXXXX 2>/dev/null || mktemp -d); \
	$$with $(SIDE_BY_SIDE) >"$$said" 2>&1 & beside=$$!; \
	keep env TMPDIR=$$memory $(WRITE_BYTECODE) $(PURE_TESTS); \
	keep wait $$beside; \
	cat "$$said"; rm -rf "$$memory" "$$said"; \
	keep $$with $(ONE_BY_ONE); \
	exit $$status

.PHONY: test-kernel
test-kernel: $(TOOLS) ## the tests on the real kernel only; they fail where they cannot run
	@packaging/prepare test
	@$(KEEP); keep $(WITH_KERNEL) $(SIDE_BY_SIDE); keep $(WITH_KERNEL) $(ONE_BY_ONE); exit $$status

.PHONY: test-stories
test-stories: $(TOOLS) ## find a culprit, type the remedy as printed, measure again: on an idle machine
	@packaging/prepare test
	@$(AS_ROOT) NOISETOP_MUST_RUN=kernel $(BIN)/pytest -p no:cacheprovider -m story $(ARGS)

.PHONY: test-viewers
test-viewers: $(TOOLS) ## open what noisetop writes in the viewers that it is written for, in a browser
	@packaging/prepare viewers
	@$(BIN)/pytest -m viewer $(ARGS)

.PHONY: test-packaging
test-packaging: $(TOOLS) ## set-up on made-up machines, the wheel where there is no compiler, Prometheus, Spark
	@packaging/prepare packaging
	@$(BIN)/pip install -q --group spark
	@$(AS_ROOT) $(BIN)/python -m pytest -p no:cacheprovider -m packaging $(ARGS)

.PHONY: test-thorough
test-thorough: $(TOOLS) ## the tests with made-up input, with forty times as many examples, every draw and program set
	@packaging/prepare test
	@$(KEEP); keep env $(WRITE_BYTECODE) $(BIN)/pytest -n auto --thorough -m 'generated and not kernel' $(ARGS); \
	keep $(WITH_KERNEL) $(BIN)/pytest -p no:cacheprovider --thorough -m 'generated and kernel' $(ARGS); exit $$status

.PHONY: fuzz
fuzz: $(TOOLS) ## damaged and forged files through every command that reads one, under sanitizers: make fuzz TIME=60s
	@$(BIN)/python -m tests.fuzz --time $(TIME) $(ARGS)

.PHONY: torture
torture: $(TOOLS) ## start and kill noisetop on a machine that is stirred, as root: make torture TIME=30m
	@packaging/prepare test
	@$(AS_ROOT) $(BIN)/python -m tests.torture --time $(TIME) $(ARGS)

.PHONY: test-guests
test-guests: $(TOOLS) ## the tests of the kernel on those that people run, in QEMU: make test-guests ARGS="-k bookworm"
	@packaging/prepare guests
	@$(BIN)/pip install -q --group guests
	@$(BIN)/python -m pytest tests/guests $(ARGS) --ignore=tests/guests/inside

.PHONY: test-configs
test-configs: $(TOOLS) ## the tests of the kernel on small kernels with options off, built here: make test-configs ARGS="-k lazy"
	@packaging/prepare guests
	@packaging/prepare configs
	@$(BIN)/pip install -q --group guests
	@$(BIN)/python -m pytest tests/configs $(ARGS) --ignore=tests/configs/inside

.PHONY: test-arm64
test-arm64: $(TOOLS) ## build for arm64 and run the identities on an emulated arm64 machine
	@packaging/prepare arm64
	@$(AS_ROOT) $(BIN)/pytest -p no:cacheprovider tests/arm64/test_build.py tests/arm64/test_boot.py $(ARGS)

.PHONY: test-all
test-all: ## every part of the tests, one after the other, whatever came of those before
	@status=0; \
	for part in $(EVERY_TEST); do $(MAKE) --no-print-directory $$part || status=1; done; \
	exit $$status

.PHONY: record-packaging
record-packaging: ## run test-packaging, and where all of it passed write down what it ran on
	@$(MAKE) --no-print-directory test-packaging ARGS='-p tests.recorded_runs --record packaging'

.PHONY: record-guests
record-guests: ## run test-guests, and where all of it passed write down what it ran on and what it saw
	@$(MAKE) --no-print-directory test-guests ARGS='-p tests.recorded_runs --record guests'
	@$(MAKE) --no-print-directory docs-kernels

.PHONY: record-configs
record-configs: ## run test-configs, and write down what passed: make record-configs ARGS="-k lazy" adds one
	@$(MAKE) --no-print-directory test-configs ARGS='-p tests.recorded_runs --record configs $(ARGS)'

.PHONY: docs-kernels
docs-kernels: $(TOOLS) ## write what the last record-guests saw into docs/kernels.md
	@$(BIN)/python -m tests.guests.document

.PHONY: check
check: lint ## everything about the code that needs no run: formats, lint, types, imports
	$(BIN)/ruff format --check .
	@packaging/prepare check
	clang-format --dry-run -Werror --style=file:bpf/.clang-format $(C_FILES)

.PHONY: lint
lint: $(TOOLS) ## ruff, mypy and the import contracts
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

.PHONY: format
format: $(TOOLS) ## write the code as check wants it
	@packaging/prepare check
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	clang-format -i --style=file:bpf/.clang-format $(C_FILES)

.PHONY: bench
bench: $(BUILT) ## measure noisetop itself, through sudo if need be: make bench ARGS=…
	@$(AS_ROOT) $(BIN)/python -m bench $(ARGS)

.PHONY: bench-check
bench-check: $(BUILT) ## measure again and fail where a ratio got worse than bench/baseline.json says
	@$(AS_ROOT) $(BIN)/python -m bench --check $(ARGS)

.PHONY: stills
stills: $(BUILT) ## make the pictures of the dashboard in the README, from a recording
	@$(BIN)/python -m bench.stills docs/stills $(ARGS)

.PHONY: wheel
wheel: $(TOOLS) ## build dist/noisetop-….whl, which brings its libraries along and needs no compiler
	@set -ex; made=$$(mktemp -d); trap 'rm -rf "$$made"' EXIT; \
	$(BIN)/pip wheel -q --no-deps -C build-dir="$$made/build" -w "$$made" .; \
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/auditwheel repair -w $(DIST) "$$made"/*.whl

.PHONY: clean
clean: ## remove everything that make made
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find noisetop tests -name __pycache__ -prune -exec rm -rf {} +

.PHONY: help
help: ## show this list
	@echo 'make VERB [ARGS="…"] [PYTHON=/path/to/python3]'
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  \1|\2/p' $(firstword $(MAKEFILE_LIST)) | \
		while IFS='|' read -r verb text; do printf '  %-16s %s\n' $$verb "$$text"; done

$(BUILT): $(SOURCES) $(if $(UNCHANGED),,changed)
	@packaging/prepare build
ifeq ($(VENV_WORKS),)
	@set -ex; python=$$(packaging/prepare python); "$$python" -m venv --clear $(VENV)
endif
	@set -x; $(BIN)/pip install -q -e .
	@echo '$(SOURCES)' >$@

$(TOOLS): pyproject.toml $(if $(VENV_WORKS),,changed) | $(BUILT)
	@packaging/prepare build
	@set -ex; $(BIN)/pip install -q 'pip>=25.1'; $(BIN)/pip install -q --group test --group check --group viewer --group wheel
	@touch $@

.PHONY: changed
changed:
