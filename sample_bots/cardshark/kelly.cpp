// kelly: computes its chance to beat the dealer, and stakes a share of its chips that grows with that chance.
//
// Two facts make it strong. A bot may bet after it has received all its cards, so a hand costs only the buy-in until it
// is worth more: kelly hits as long as that raises its expected winnings *with the bet that it will then make*. And a
// player who wins with probability p should stake the share 2p - 1 of its chips: a larger share leads to ruin, a smaller
// one grows slowly (J. L. Kelly, 1956). kelly stakes three quarters of that share, to depend less on luck.
//
// It never doubles: a hit followed by a bet has the same effect, and the card is known before the bet.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string_view>

constexpr int GOAL = 21, DEALER_STANDS = 17, BUY_IN = 10, SUITS = 4;
constexpr double SHARE_OF_KELLY = 0.75;

int points(char card) {  // an ace counts 1
    if (card == 'A') return 1;
    return card >= '2' && card <= '9' ? card - '0' : 10;
}

struct Hand {
    int lowest = 0;  // with every ace counted as 1
    bool ace = false;

    Hand with(int card) const { return {lowest + card, ace || card == 1}; }
    int score() const { return ace && lowest + 10 <= GOAL ? lowest + 10 : lowest; }
};

struct Shoe {  // the unseen cards, including the dealer's hidden one
    std::array<int, 11> count{};  // by points
    int cards = 0;

    void fill() {
        for (char rank : std::string_view("A23456789TJQK")) count[points(rank)] += SUITS;
        cards = 13 * SUITS;
    }
    void take(int card) { --count[card], --cards; }
    void put_back(int card) { ++count[card], ++cards; }
};

// Call `visit(card, chance)` for every card that may come next, with that card removed from the shoe.
template <typename Visit>
void each_draw(Shoe& shoe, Visit visit) {
    for (int card = 1; card <= 10; ++card) {
        if (shoe.count[card] == 0) continue;
        const double chance = double(shoe.count[card]) / shoe.cards;
        shoe.take(card);
        visit(card, chance);
        shoe.put_back(card);
    }
}

using Chances = std::array<double, GOAL + 1>;  // by score; a bust counts 0

// Add the probabilities of the dealer's final scores to `ends`, over all orders of the unseen cards.
void play_dealer(Hand dealer, Shoe& shoe, double chance, Chances& ends) {
    const int score = dealer.score();
    if (score >= DEALER_STANDS || shoe.cards == 0) {
        ends[score <= GOAL ? score : 0] += chance;
        return;
    }
    each_draw(shoe, [&](int card, double drawn) { play_dealer(dealer.with(card), shoe, chance * drawn, ends); });
}

class Player {
public:
    Player(const Chances& wins, int stake, int chips) : wins_(wins), stake_(stake), all_(stake + chips) {}

    // The desired stake when it stands. It bets only once: a stake above the buy-in means that it has bet.
    double wanted_stake(int score) const {
        if (stake_ > BUY_IN) return stake_;
        return std::max<double>(stake_, SHARE_OF_KELLY * (2 * wins_[score] - 1) * all_);
    }

    // The mean winnings of standing after the bet.
    double standing(int score) const { return (2 * wins_[score] - 1) * wanted_stake(score); }

    // The mean winnings of one card and the best moves after it. Ignores that these cards are missing for the dealer.
    double hitting(Hand hand, Shoe& shoe) {
        double mean = 0;
        each_draw(shoe, [&](int card, double chance) { mean += chance * best(hand.with(card), shoe); });
        return mean;
    }

private:
    double best(Hand hand, Shoe& shoe) {
        if (hand.score() > GOAL) return -stake_;
        const auto known = known_.find(shoe.count);  // the cards drawn, in any order
        if (known != known_.end()) return known->second;
        return known_[shoe.count] = std::max(standing(hand.score()), hitting(hand, shoe));
    }

    Chances wins_;
    int stake_, all_;
    std::map<std::array<int, 11>, double> known_;
};

int main(int argc, char* argv[]) {
    if (argc != 6) {
        std::cerr << "usage: kelly score hand visible stake chips\n";
        return 2;
    }
    const int score = std::atoi(argv[1]), stake = std::atoi(argv[4]), chips = std::atoi(argv[5]);
    const std::string_view hand = argv[2], visible = argv[3];

    Shoe shoe;
    shoe.fill();
    for (char card : visible) {  // for example, a fifth king comes from a new deck opened during the hand
        if (card != '#' && shoe.count[points(card)] > 0) shoe.take(points(card));
    }
    Hand mine;
    for (char card : hand) mine = mine.with(points(card));

    Chances ends{}, wins{};
    play_dealer(Hand{}.with(points(visible.front())), shoe, 1, ends);
    double below = 0;
    for (int mark = 0; mark <= GOAL; ++mark) {  // a tie loses
        wins[mark] = below;
        below += ends[mark];
    }

    Player player(wins, stake, chips);
    const int bet = int(player.wanted_stake(score)) - stake;
    if (player.hitting(mine, shoe) > player.standing(score))
        std::cout << "H\n";
    else if (bet > 0)
        std::cout << "B " << bet << '\n';
    else
        std::cout << "S\n";
}
