# Two commands do everything on a fresh Debian or Ubuntu machine; each first installs what is missing.

.PHONY: demo test test-long setup

demo: ## a Blackjack KotH tournament of the sample bots, to its standings (the same command goes on after ^C)
	@tools/setup.sh .
	@test -d demo || .venv/bin/croupier new demo --game cardshark --with-samples
	@.venv/bin/croupier -C demo run

test: ## the tests, in under ten minutes on two cores
	@tools/setup.sh '.[test]'
	@.venv/bin/python -m pytest

test-long: ## the long runs: the whole attack catalogue, full seasons
	@tools/setup.sh '.[test]'
	@.venv/bin/python -m pytest -m long

setup:
	@tools/setup.sh .
