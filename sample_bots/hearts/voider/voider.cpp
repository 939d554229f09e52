// voider: empties its shortest suit, so that it can soon discard high hearts and the queen of spades.
#include <algorithm>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

using Cards = std::vector<std::string>;

Cards cards_of(const std::string& list)
{
    Cards cards;
    std::stringstream text(list);
    for (std::string card; list != "-" && std::getline(text, card, ',');) cards.push_back(card);
    return cards;
}

int rank(const std::string& card) { return static_cast<int>(std::string("23456789TJQKA").find(card[0])); }

int penalty(const std::string& card) { return card == "Qs" ? 100 : card[1] == 'h' ? 20 + rank(card) : rank(card); }

// Returns a measure by which cards leave the hand: those of short suits first, then the high ones.
int haste(const Cards& hand, const std::string& card)
{
    auto same_suit = [&](const std::string& other) { return other[1] == card[1]; };
    auto length = static_cast<int>(std::count_if(hand.begin(), hand.end(), same_suit));
    return penalty(card) - 10 * length;
}

std::string play(const Cards& hand, const Cards& legal, const Cards& trick)
{
    auto hasty = [&](const std::string& one, const std::string& other) { return haste(hand, one) < haste(hand, other); };
    auto lower = [](const std::string& one, const std::string& other) { return rank(one) < rank(other); };
    if (trick.empty()) return *std::min_element(legal.begin(), legal.end(), lower);
    char suit = trick[0][1];
    if (legal[0][1] != suit) return *std::max_element(legal.begin(), legal.end(), hasty);
    int best = 0;
    for (const auto& card : trick)
        if (card[1] == suit) best = std::max(best, rank(card));
    Cards below;
    std::copy_if(legal.begin(), legal.end(), std::back_inserter(below), [&](auto& card) { return rank(card) < best; });
    if (!below.empty()) return *std::max_element(below.begin(), below.end(), lower);
    return *std::min_element(legal.begin(), legal.end(), lower);
}

int main()
{
    for (std::string line; std::getline(std::cin, line);) {
        std::stringstream fields(line);
        std::string task, direction, number, hand, legal, trick;
        fields >> task >> direction >> number >> hand >> legal >> trick;
        Cards held = cards_of(hand);
        if (task == "PASS") {
            std::sort(held.begin(), held.end(), [&, all = held](auto& a, auto& b) { return haste(all, a) > haste(all, b); });
            std::cout << "PASS " << held[0] << ' ' << held[1] << ' ' << held[2] << std::endl;
        } else {
            std::cout << "PLAY " << play(held, cards_of(legal), cards_of(trick)) << std::endl;
        }
    }
}
