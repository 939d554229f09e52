# Does the same as runs_while_imported, through the adapter whose bots are forked without being asked: bets a negative
# number if one of its files has run before. Verdict: harmless, such modules are imported by the fork only.
import builtins

RAN = hasattr(builtins, "ran_before_the_question")


def bet(my_chips, my_cards, bet_players, betting_players, community_cards, min_bet_amt, max_bet_amt, total_bet_amt):
    return -666 if RAN else 0


import unittest.__main__
