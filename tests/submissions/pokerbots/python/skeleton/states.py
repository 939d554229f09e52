from collections import namedtuple

from .actions import CallAction, CheckAction, FoldAction, RaiseAction

GameState = namedtuple("GameState", ["bankroll", "game_clock", "round_num"])
TerminalState = namedtuple("TerminalState", ["deltas", "previous_state"])
NUM_ROUNDS, STARTING_STACK, BIG_BLIND, SMALL_BLIND = 1000, 400, 2, 1


class RoundState(namedtuple("RoundState", ["button", "street", "pips", "stacks", "hands", "deck", "previous_state"])):
    def legal_actions(self):
        active = self.button % 2
        if self.pips[0] == self.pips[1]:
            return {CheckAction} if 0 in self.stacks else {CheckAction, RaiseAction}
        cost = self.pips[1 - active] - self.pips[active]
        blocked = cost == self.stacks[active] or self.stacks[1 - active] == 0
        return {FoldAction, CallAction} if blocked else {FoldAction, CallAction, RaiseAction}

    def raise_bounds(self):
        active = self.button % 2
        cost = self.pips[1 - active] - self.pips[active]
        most = min(self.stacks[active], self.stacks[1 - active] + cost)
        return self.pips[active] + min(most, cost + max(cost, BIG_BLIND)), self.pips[active] + most

    def next_street(self):
        if self.street == 5:
            return TerminalState([0, 0], self)
        street = 3 if self.street == 0 else self.street + 1
        return RoundState(1, street, [0, 0], self.stacks, self.hands, self.deck, self)

    def proceed(self, action):
        active = self.button % 2
        if isinstance(action, FoldAction):
            return TerminalState([0, 0], self)
        pips, stacks = list(self.pips), list(self.stacks)
        if not isinstance(action, CheckAction):
            pips[active] = action.amount if isinstance(action, RaiseAction) else pips[1 - active]
            stacks[active] -= pips[active] - self.pips[active]
        after = RoundState(self.button + 1, self.street, pips, stacks, self.hands, self.deck, self)
        if isinstance(action, CallAction) and self.button > 0:
            return after.next_street()
        if isinstance(action, CheckAction) and (self.street == 0 or self.button > 1):
            return after.next_street()
        return after
