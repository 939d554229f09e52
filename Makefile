# `make demo` and `make test` work on a fresh Debian or Ubuntu machine: each first installs whatever is missing.

# Tests start hundreds of Python processes: each would compile everything again if bytecode could not be stored.
unexport PYTHONDONTWRITEBYTECODE
PYTEST = .venv/bin/python -m pytest
# Three test processes at a time: many tests wait. Tests of a file share what one has played, so a process has neighbours, and
# takes the second half of what another still has when it has nothing left. Long tests share more: each process has whole files.
TOGETHER = $(PYTEST) -n 3 --dist worksteal
TOGETHER_LONG = $(PYTEST) -n 3 --dist loadfile --no-loadscope-reorder

.PHONY: demo test check lint test-as-user test-long test-proofs test-toolchains docs dist setup

demo: ## play a Blackjack tournament of the sample bots (after ^C, the same command continues)
	@echo "demo: about half a minute of play; the first time also a few minutes of installing"
	@tools/setup.sh .
	@test -d demo || .venv/bin/croupier new demo --game cardshark --with-samples
	@.venv/bin/croupier -C demo run
	@echo "demo: to use the command croupier in this terminal:  . .venv/bin/activate"

test: ## run the tests (about five minutes on two cores)
	@echo "test: about five minutes on two cores; the first time also a few minutes of installing"
	@tools/setup.sh '.[test]'
	@failed=0; \
	$(TOGETHER) -m 'not long and not proof and not toolchains and not timing' || failed=1; \
	echo "test: now the tests that depend on the machine's speed, one at a time"; \
	$(PYTEST) -m 'timing and not long and not proof and not toolchains' || failed=1; \
	exit $$failed

CHANGED = $(filter-out check,$(MAKECMDGOALS))
ifeq (check,$(firstword $(MAKECMDGOALS)))
.PHONY: $(CHANGED)
$(CHANGED): check
	@:
endif

check: ## run the tests that a change touches, for 15 seconds: make check FILE…, or make check for what git does not have yet
	@.venv/bin/python tools/check.py $(CHANGED)

lint: ## run the linters, the formatter and the type checker
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/python -m mypy

test-as-user: ## run as an ordinary user, from root, the tests in which that matters (about a minute)
	@tools/setup.sh '.[test]'
	@tests/as-user.sh

# Pytest ends with 5 if a shard has no test of a kind.
test-long: ## run the long tests: all attacks, complete seasons (make test-long SHARD=1/4 runs a quarter, as CI does)
	@tools/setup.sh '.[test]'
	@failed=0; \
	$(TOGETHER_LONG) -m 'long and not proof and not timing' $(SHARD:%=--shard %) || failed=1; \
	$(PYTEST) -m 'long and timing and not proof' $(SHARD:%=--shard %) || [ $$? = 5 ] || failed=1; \
	exit $$failed

test-proofs: ## run what is too long for CI: random kills, every attack in every game, a season of forty rounds
	@tools/setup.sh '.[test]'
	@failed=0; \
	$(TOGETHER_LONG) -m 'proof and not timing' || failed=1; \
	$(PYTEST) -m 'proof and timing' || failed=1; \
	exit $$failed

test-toolchains: ## play bots in the languages whose toolchains are large (installs about 600 MB of packages)
	@tools/setup.sh '.[test,toolchains]'
	@$(TOGETHER) -m 'toolchains and not proof'

docs: ## build the site of the documentation into build/site
	@tools/setup.sh '.[docs]'
	@NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build

dist: ## build the sdist and the wheels of a release into dist/
	@tools/setup.sh '.[test]'
	@PYTHON=.venv/bin/python tools/release.sh

setup:
	@tools/setup.sh .
	@echo "setup: to use the command croupier in this terminal:  . .venv/bin/activate"
