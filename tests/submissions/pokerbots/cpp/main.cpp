#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <skeleton/actions.h>
#include <skeleton/constants.h>
#include <skeleton/runner.h>
#include <skeleton/states.h>

using namespace pokerbots::skeleton;

struct Bot {
    int bank = 0, rounds = 0;

    static void check(bool fact)
    {
        if (!fact)
            abort();
    }

    static int shown(const RoundState &state)
    {
        const auto &deck = state.deck; // a vector of the board, or an array with empty places
        return (int)std::count_if(deck.begin(), deck.end(), [](const std::string &card) { return !card.empty(); });
    }

    void handleNewRound(GameInfoPtr gameState, RoundStatePtr roundState, int active)
    {
        check(gameState->bankroll == bank && gameState->roundNum == ++rounds && rounds <= NUM_ROUNDS);
        check(!roundState->hands[active][1].empty() && roundState->hands[1 - active][0].empty());
    }

    void handleRoundOver(GameInfoPtr gameState, TerminalStatePtr terminalState, int active)
    {
        bank += terminalState->deltas[active];
        check(gameState->bankroll == bank);
        std::cout << "over " << bank << std::endl;
    }

    Action getAction(GameInfoPtr, RoundStatePtr roundState, int active)
    {
        check(roundState->button % 2 == active && shown(*roundState) == roundState->street);
        int cost = roundState->pips[1 - active] - roundState->pips[active];
        if (roundState->street == 3 && cost == 0 && roundState->stacks[0] && roundState->stacks[1])
            return {Action::Type::RAISE, std::min(6, std::min(roundState->stacks[0], roundState->stacks[1]))};
        return cost ? Action{Action::Type::CALL} : Action{Action::Type::CHECK};
    }
};

int main(int argc, char *argv[])
{
    auto [host, port] = parseArgs(argc, argv);
    runBot<Bot>(host, port);
    return 0;
}
