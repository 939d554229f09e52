# `make demo` and `make test` work on a fresh Debian or Ubuntu machine: each first installs whatever is missing.

.PHONY: demo test test-long setup

demo: ## play a Blackjack tournament of the sample bots (after ^C, the same command continues)
	@tools/setup.sh .
	@test -d demo || .venv/bin/croupier new demo --game cardshark --with-samples
	@.venv/bin/croupier -C demo run

test: ## run the tests (less than ten minutes on two cores)
	@tools/setup.sh '.[test]'
	@.venv/bin/python -m pytest

test-long: ## run the long tests: all attacks, complete seasons
	@tools/setup.sh '.[test]'
	@.venv/bin/python -m pytest -m long

setup:
	@tools/setup.sh .
