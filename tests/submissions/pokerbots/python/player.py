from skeleton.actions import CallAction, CheckAction, FoldAction, RaiseAction
from skeleton.bot import Bot
from skeleton.runner import parse_args, run_bot
from skeleton.states import BIG_BLIND, NUM_ROUNDS, SMALL_BLIND, STARTING_STACK


class Player(Bot):
    def __init__(self):
        self.bank = self.rounds = 0

    def handle_new_round(self, game_state, round_state, active):
        self.rounds += 1
        assert game_state.bankroll == self.bank and game_state.round_num == self.rounds <= NUM_ROUNDS
        assert round_state.stacks == [STARTING_STACK - SMALL_BLIND, STARTING_STACK - BIG_BLIND]
        assert len(round_state.hands[active]) == 2 and not round_state.hands[1 - active]

    def handle_round_over(self, game_state, terminal_state, active):
        assert sum(terminal_state.deltas) == 0
        self.bank += terminal_state.deltas[active]
        assert game_state.bankroll == self.bank
        print("over", self.bank, terminal_state.previous_state.hands)

    def get_action(self, game_state, round_state, active):
        assert round_state.button % 2 == active and game_state.game_clock > 0
        assert len(round_state.deck) == round_state.street
        legal, ranks = round_state.legal_actions(), sorted(card[0] for card in round_state.hands[active])
        if RaiseAction in legal and ranks[0] == ranks[1]:
            return RaiseAction(round_state.raise_bounds()[0])
        if CheckAction in legal:
            return CheckAction()
        return CallAction() if "A" in ranks or ranks[0] == ranks[1] else FoldAction()


if __name__ == "__main__":
    run_bot(Player(), parse_args())
