"""Replaces skeleton/runner.py of a bot for MIT Pokerbots: it reads its standard input in the place of a socket.

All other files of the bot stay as they are, player.py too. The lines are those of MIT's engine.
"""

import os
import sys

from .actions import CallAction, CheckAction, FoldAction, RaiseAction
from .states import BIG_BLIND, SMALL_BLIND, STARTING_STACK, GameState, RoundState, TerminalState

LETTERS = {FoldAction: "F", CallAction: "C", CheckAction: "K", RaiseAction: "R"}
ACTIONS = {"F": FoldAction, "C": CallAction, "K": CheckAction}
BOARD = RoundState._fields[5]  # "deck" or "board", depending on the year


class Runner:
    """Follows the rounds of a match, and asks the bot."""

    def __init__(self, pokerbot, answers):
        self.bot, self.answers = pokerbot, answers
        self.game, self.round, self.active = GameState(0, 0.0, 1), None, 0
        self.is_over = True  # whether the last round is over, or none has begun

    def run(self, lines):
        """Answer each line until the input ends."""
        for line in lines:
            for clause in line.split():
                self.hear(clause[0], clause[1:])
            action = CheckAction() if self.is_over else self.bot.get_action(self.game, self.round, self.active)
            amount = str(action.amount) if isinstance(action, RaiseAction) else ""
            print(LETTERS[type(action)] + amount, file=self.answers, flush=True)

    def hear(self, letter, rest):
        """Take one clause of a line."""
        if letter == "T":
            self.game = self.game._replace(game_clock=float(rest))
        elif letter == "P":
            self.active = int(rest)
        elif letter == "H":
            self.begin(rest.split(","))
        elif self.round is None:
            return  # a new process in the middle of a round: it answers K until the next one
        elif letter in ACTIONS:
            self.round = self.round.proceed(ACTIONS[letter]())
        elif letter == "R":
            self.round = self.round.proceed(RaiseAction(int(rest)))
        elif letter == "B":
            self.round = self.round._replace(**{BOARD: rest.split(",")})
        elif letter == "O":
            before = self.round.previous_state
            hands = list(before.hands)
            hands[1 - self.active] = rest.split(",")
            self.round = TerminalState([0, 0], before._replace(hands=hands))
        elif letter in "DA":
            self.end(int(rest))

    def begin(self, cards):
        """Begin a round."""
        hands = [[], []]
        hands[self.active] = cards
        pips = [SMALL_BLIND, BIG_BLIND]
        self.round = RoundState(0, 0, pips, [STARTING_STACK - pip for pip in pips], hands, [], None)
        self.is_over = False
        self.bot.handle_new_round(self.game, self.round, self.active)

    def end(self, delta):
        """End a round."""
        deltas = [-delta, -delta]
        deltas[self.active] = delta
        self.game = self.game._replace(bankroll=self.game.bankroll + delta)
        self.bot.handle_round_over(self.game, TerminalState(deltas, self.round.previous_state), self.active)
        self.game = self.game._replace(round_num=self.game.round_num + 1)
        self.is_over = True


def parse_args():
    """Return the streams for the lines and the answers. What the bot prints goes to its standard error."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return sys.stdin, answers


def run_bot(pokerbot, args):
    """Play until the input ends."""
    lines, answers = args
    Runner(pokerbot, answers).run(lines)
