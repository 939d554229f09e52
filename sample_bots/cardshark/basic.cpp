// basic: looks up the best move for every hand against every visible card of the dealer in a table.
//
// The table differs from those in casino books, because here a tie loses, and an ace and a king have no bonus. It was
// computed for an endless deck, where the mean winnings of a move follow from those of the hands it leads to. Since ties
// lose, 17 is a poor hand (hit it against an ace), 15 against a ten is so poor either way that standing is better, and
// a double must be worth more.
#include <cstdlib>
#include <iostream>
#include <string_view>

constexpr int BUY_IN = 10;

// H hit, S stand, D and d double. If doubling is not allowed, D hits and d stands.
constexpr std::string_view UP_CARDS = "23456789TA";  // J, Q and K are looked up as T
constexpr std::string_view HARD[] = {
    "HHHDDHHHHH",  //  9
    "DDDDDDDHHH",  // 10
    "DDDDDDDDHH",  // 11
    "SSSSSHHHHH",  // 12
    "SSSSSHHHHH",  // 13
    "SSSSSHHHHH",  // 14
    "SSSSSHHHSH",  // 15
    "SSSSSHSSSH",  // 16
    "SSSSSSSSSH",  // 17
};
constexpr std::string_view SOFT[] = {  // one ace counts 11
    "HHHHDHHHHH",  // 15
    "HHHDDHHHHH",  // 16
    "HHHDDHHHHH",  // 17
    "SddddSHHHH",  // 18
};

int points(char card) {  // an ace as 1
    if (card == 'A') return 1;
    return card >= '2' && card <= '9' ? card - '0' : 10;
}

char look_up(int score, bool soft, std::size_t column) {
    if (soft) return score < 15 ? 'H' : score > 18 ? 'S' : SOFT[score - 15][column];
    return score < 9 ? 'H' : score > 17 ? 'S' : HARD[score - 9][column];
}

int main(int argc, char* argv[]) {
    if (argc != 6) {
        std::cerr << "usage: basic score hand visible stake chips\n";
        return 2;
    }
    const int score = std::atoi(argv[1]), stake = std::atoi(argv[4]), chips = std::atoi(argv[5]);
    const std::string_view hand = argv[2], visible = argv[3];

    int lowest = 0;
    for (char card : hand) lowest += points(card);
    const bool soft = lowest != score;
    const auto column = UP_CARDS.find(visible.front());  // the list starts with the dealer's up card

    char move = look_up(score, soft, column != UP_CARDS.npos ? column : UP_CARDS.find('T'));
    const bool may_double = hand.size() == 2 && stake == BUY_IN && chips >= stake;
    if (move == 'D' && !may_double) move = 'H';
    if (move == 'd') move = may_double ? 'D' : 'S';
    std::cout << move << '\n';
}
