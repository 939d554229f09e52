#pragma once
#include "actions.h"
#include "constants.h"
#include <memory>
#include <vector>

namespace pokerbots::skeleton {
struct State : public std::enable_shared_from_this<State> {
    virtual ~State() = default;
};
using StatePtr = std::shared_ptr<const State>;

struct TerminalState : public State {
    std::array<int, 2> deltas;
    StatePtr previousState;
    TerminalState(std::array<int, 2> deltas, StatePtr previous) : deltas(deltas), previousState(previous) {}
};
using TerminalStatePtr = std::shared_ptr<const TerminalState>;

struct RoundState : public State {
    int button, street;
    std::array<int, 2> pips, stacks;
    std::array<std::array<std::string, 2>, 2> hands;
    std::vector<std::string> deck;
    StatePtr previousState;
    RoundState(int button, int street, std::array<int, 2> pips, std::array<int, 2> stacks,
               std::array<std::array<std::string, 2>, 2> hands, std::vector<std::string> deck, StatePtr previous)
        : button(button), street(street), pips(pips), stacks(stacks), hands(hands), deck(deck), previousState(previous)
    {
    }

    StatePtr proceed(Action action) const
    {
        int active = button % 2;
        if (action.actionType == Action::FOLD)
            return std::make_shared<TerminalState>(std::array<int, 2>{0, 0}, shared_from_this());
        auto newPips = pips, newStacks = stacks;
        if (action.actionType != Action::CHECK) {
            newPips[active] = action.actionType == Action::CALL ? pips[1 - active] : action.amount;
            newStacks[active] -= newPips[active] - pips[active];
        }
        auto after = std::make_shared<RoundState>(button + 1, street, newPips, newStacks, hands, deck, shared_from_this());
        bool ends = (action.actionType == Action::CALL && button > 0) ||
                    (action.actionType == Action::CHECK && (street == 0 || button > 1));
        if (ends && street == 5)
            return std::make_shared<TerminalState>(std::array<int, 2>{0, 0}, after);
        if (ends)
            return std::make_shared<RoundState>(1, street == 0 ? 3 : street + 1, std::array<int, 2>{0, 0}, newStacks, hands,
                                                deck, after);
        return after;
    }
};
using RoundStatePtr = std::shared_ptr<const RoundState>;
}
