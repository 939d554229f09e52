// Replaces skeleton/runner.h of a bot for MIT Pokerbots: it reads its standard input in the place of a socket. All other files
// of the bot stay as they are, its main.cpp too. What the bot prints goes to its standard error.

#pragma once

#include <algorithm>
#include <array>
#include <cstdio>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include "actions.h"
#include "constants.h"
#include "game.h"
#include "states.h"

namespace pokerbots::skeleton {

template <typename BotType> class Runner {
    BotType bot;
    GameInfoPtr game = std::make_shared<GameInfo>(0, 0.0, 1);
    StatePtr round;
    int active = 0;
    bool isOver = true;

    static std::vector<std::string> split(const std::string &text)
    {
        std::vector<std::string> parts;
        std::stringstream stream(text);
        for (std::string part; std::getline(stream, part, ',');)
            parts.push_back(part);
        return parts;
    }

    // Some years' skeletons have the board in a vector, others in an array of five cards.
    using Deck = decltype(RoundState::deck);

    static void fill(std::vector<std::string> &deck, const std::vector<std::string> &cards) { deck = cards; }

    template <std::size_t N>
    static void fill(std::array<std::string, N> &deck, const std::vector<std::string> &cards)
    {
        std::copy_n(cards.begin(), std::min(cards.size(), N), deck.begin());
    }

    static Deck deckOf(const std::vector<std::string> &cards)
    {
        Deck deck{};
        fill(deck, cards);
        return deck;
    }

    RoundStatePtr now() const { return std::static_pointer_cast<const RoundState>(round); }

    StatePtr before() const { return std::static_pointer_cast<const TerminalState>(round)->previousState; }

    static std::string text(const Action &action)
    {
        switch (action.actionType) {
        case Action::Type::FOLD:
            return "F";
        case Action::Type::CALL:
            return "C";
        case Action::Type::RAISE:
            return "R" + std::to_string(action.amount);
        default:
            return "K";
        }
    }

    void begin(const std::vector<std::string> &cards)
    {
        std::array<std::array<std::string, 2>, 2> hands;
        hands[active] = {cards.at(0), cards.at(1)};
        std::array<int, 2> pips = {SMALL_BLIND, BIG_BLIND};
        std::array<int, 2> stacks = {STARTING_STACK - SMALL_BLIND, STARTING_STACK - BIG_BLIND};
        round = std::make_shared<RoundState>(0, 0, pips, stacks, hands, deckOf({}), nullptr);
        isOver = false;
        bot.handleNewRound(game, now(), active);
    }

    void show(const std::vector<std::string> &cards)
    {
        auto old = std::static_pointer_cast<const RoundState>(before());
        auto hands = old->hands;
        hands[1 - active] = {cards.at(0), cards.at(1)};
        auto shown = std::make_shared<RoundState>(old->button, old->street, old->pips, old->stacks, hands, old->deck,
                                                  old->previousState);
        round = std::make_shared<TerminalState>(std::array<int, 2>{0, 0}, shown);
    }

    void end(int delta)
    {
        std::array<int, 2> deltas = {-delta, -delta};
        deltas[active] = delta;
        auto over = std::make_shared<TerminalState>(deltas, before());
        round = over;
        game = std::make_shared<GameInfo>(game->bankroll + delta, game->gameClock, game->roundNum);
        bot.handleRoundOver(game, over, active);
        game = std::make_shared<GameInfo>(game->bankroll, game->gameClock, game->roundNum + 1);
        isOver = true;
    }

    void hear(char letter, const std::string &rest)
    {
        if (!round && letter != 'T' && letter != 'P' && letter != 'H')
            return; // a new process in the middle of a round: it answers K until the next one
        switch (letter) {
        case 'T':
            game = std::make_shared<GameInfo>(game->bankroll, std::stod(rest), game->roundNum);
            break;
        case 'P':
            active = std::stoi(rest);
            break;
        case 'H':
            begin(split(rest));
            break;
        case 'F':
            round = now()->proceed({Action::Type::FOLD});
            break;
        case 'C':
            round = now()->proceed({Action::Type::CALL});
            break;
        case 'K':
            round = now()->proceed({Action::Type::CHECK});
            break;
        case 'R':
            round = now()->proceed({Action::Type::RAISE, std::stoi(rest)});
            break;
        case 'B':
            round = std::make_shared<RoundState>(now()->button, now()->street, now()->pips, now()->stacks, now()->hands,
                                                 deckOf(split(rest)), now()->previousState);
            break;
        case 'O':
            show(split(rest));
            break;
        case 'A':
        case 'D':
            end(std::stoi(rest));
            break;
        default:
            break;
        }
    }

public:
    template <typename... Args> explicit Runner(Args... args) : bot(std::forward<Args>(args)...) {}

    void run()
    {
        std::FILE *answers = fdopen(dup(STDOUT_FILENO), "w");
        dup2(STDERR_FILENO, STDOUT_FILENO);
        for (std::string line; std::getline(std::cin, line);) {
            std::stringstream clauses(line);
            for (std::string clause; clauses >> clause;)
                hear(clause[0], clause.substr(1));
            std::string said = isOver ? "K" : text(bot.getAction(game, now(), active));
            std::fprintf(answers, "%s\n", said.c_str());
            std::fflush(answers);
        }
    }
};

template <typename BotType, typename... Args> void runBot(std::string &, std::string &, Args... args)
{
    Runner<BotType>(std::forward<Args>(args)...).run();
}

inline std::array<std::string, 2> parseArgs(int, char **) { return {}; }

} // namespace pokerbots::skeleton
