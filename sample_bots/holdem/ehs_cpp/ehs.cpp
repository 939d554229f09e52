// ehs_cpp: effective hand strength, computed exactly.
//
// The Python bot ehs takes random samples. C++ is fast enough to enumerate every hand of an opponent and, on flop and turn,
// every next card: 50 000 hands per question. It is bolder than ehs: it bets on every street and raises again. Before the
// flop it simulates deals; its random numbers depend only on the question.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

constexpr int DEALS = 2000;                      // before the flop
constexpr double SHARE[] = {0.2, 0.5, 0.6, 0.7};  // share of the Kelly bet, by street
constexpr double MARGIN = 1.1;                   // the expected gain of a call, divided by its cost, must be at least this

// A card adds one to its suit (four bits each) and to its rank (three bits each; the lowest rank is the ace as a one).
constexpr int PER_RANK = 3, LOW_ACE = 16, ACE = 14;
constexpr std::uint64_t FOOT = std::uint64_t(1) << LOW_ACE;
constexpr std::uint64_t ONES = ((std::uint64_t(1) << PER_RANK * ACE) - 1) / 7 << LOW_ACE;

struct Cards {
    std::uint64_t counts = 0, suited = 0;  // suited: sixteen bits per suit, the ranks that it has

    Cards operator+(const Cards& more) const { return {counts + more.counts, suited | more.suited}; }
};

Cards card(int rank, int suit) {
    return {FOOT << PER_RANK * (rank - 1) | std::uint64_t(1) << 4 * suit, std::uint64_t(1) << (16 * suit + rank)};
}

int rank_of(std::uint64_t mask) { return (std::bit_width(mask) - 1 - LOW_ACE) / PER_RANK + 1; }

// Where the highest five neighbours begin. A pair inside them breaks the run, as in 2018.
std::uint64_t run_of(std::uint64_t counts) {
    const std::uint64_t twice = counts >> 1 | counts >> 2, single = counts & ~twice & ONES;
    std::uint64_t some = (counts | twice) & ONES;
    some |= some >> PER_RANK * (ACE - 1) & FOOT;
    return std::bit_floor(some & single >> 3 & single >> 6 & single >> 9 & some >> 12);
}

// Whether a run is of one suit. Of equal ranks it uses the last one at the low end and the first one at the high end.
bool of_one_suit(const Cards& cards, int foot, int suit) {
    const int top = foot + 4, lowest = foot == 1 ? ACE : foot;
    const auto has = [&](int of, int rank) { return cards.suited >> (16 * of + rank) & 1; };
    for (int rank = foot + 1; rank <= top; ++rank)
        if (!has(suit, rank)) return false;
    for (int other = 0; other < 4; ++other)
        if ((other > suit && has(other, lowest)) || (other < suit && has(other, top))) return false;
    return has(suit, lowest);
}

// Category and rank as one number: no kickers, and all other peculiarities of the engine of 2018 (README.md).
int worth(const Cards& cards) {
    const std::uint64_t ranks = cards.counts & -FOOT, run = run_of(ranks);
    const std::uint64_t flush = (cards.counts + 0x3333) & 0x8888;
    const int suit = flush ? std::countr_zero(flush) / 4 : 0;
    if (flush && run && of_one_suit(cards, rank_of(run), suit)) {
        const int top = rank_of(run) + 4;
        return (top == ACE ? 10 : 9) << 4 | top;
    }
    if (const auto fours = ranks >> 2 & ONES) return 8 << 4 | rank_of(fours);
    const std::uint64_t threes = ranks & ranks >> 1 & ONES, pairs = ranks >> 1 & ~ranks & ONES;
    if (threes && pairs) return 7 << 4 | rank_of(threes);
    if (flush) {
        unsigned suited = cards.suited >> 16 * suit & 0xFFFF;
        for (int lower = 0; lower < 4; ++lower) suited &= suited - 1;  // the five lowest cards count
        return 6 << 4 | std::countr_zero(suited);
    }
    if (run) return 5 << 4 | (rank_of(run) + 4);
    if (threes) return 4 << 4 | rank_of(threes);
    if (pairs) return (pairs & (pairs - 1) ? 3 : 2) << 4 | rank_of(pairs);
    return 1 << 4 | rank_of(ranks);
}

struct Question {
    int chips, low, high, total, level = 0, opponents = 0, before = 0;
    Cards mine, board;
    int shared = 0;
    std::vector<Cards> unseen;

    explicit Question(const std::string& line) {
        std::istringstream words(line);
        std::string hand, acted, to_come, community;
        words >> chips >> hand >> acted >> to_come >> community >> low >> high >> total;
        std::uint64_t seen = 0;
        mine = read(hand, seen);
        if (community != "-") board = read(community, seen), shared = int(community.size() / 2);
        for (const std::string& field : {acted, to_come}) count(field);
        before = std::max(level, 1) - low;
        for (int suit = 0; suit < 4; ++suit)
            for (int rank = 2; rank <= ACE; ++rank)
                if (!(seen >> (16 * suit + rank) & 1)) unseen.push_back(card(rank, suit));
    }

    int street() const { return shared ? shared - 2 : 0; }

private:
    static Cards read(std::string_view names, std::uint64_t& seen) {
        Cards cards;
        for (std::size_t at = 0; at + 1 < names.size(); at += 2) {
            const auto rank = std::string_view("23456789TJQKA").find(names[at]);
            const auto suit = std::string_view("chds").find(names[at + 1]);
            cards = cards + card(int(rank) + 2, int(suit));
        }
        seen |= cards.suited;
        return cards;
    }

    void count(const std::string& field) {
        if (field == "-") return;
        std::istringstream players(field);
        for (int stack, bet, died; players >> stack;) {
            players.ignore() >> bet;
            players.ignore() >> died;
            players.ignore();
            opponents += !died;
            level = std::max(level, bet);
        }
    }
};

// Before the flop: how often two cards win against a number of opponents; a draw counts as a share.
double dealt_to_an_end(const Question& q, std::minstd_rand& chance) {
    double won = 0;
    std::vector<Cards> deck = q.unseen;
    const int wanted = 5 + 2 * q.opponents;
    for (int deal = 0; deal < DEALS; ++deal) {
        for (int at = 0; at < wanted; ++at) std::swap(deck[at], deck[at + chance() % (deck.size() - at)]);
        Cards board;
        for (int at = 0; at < 5; ++at) board = board + deck[at];
        const int ours = worth(board + q.mine);
        int sharing = 1;
        for (int at = 5; at < wanted && sharing; at += 2) {
            const int theirs = worth(board + deck[at] + deck[at + 1]);
            sharing = theirs > ours ? 0 : sharing + (theirs == ours);
        }
        if (sharing) won += 1.0 / sharing;
    }
    return won / DEALS;
}

// After the flop: the strength against one opponent, including the effect of the next card.
double effective_strength(const Question& q) {
    const std::size_t cards = q.unseen.size();
    const int ours = worth(q.board + q.mine);
    std::vector<int> ours_next;
    for (const Cards& next : q.unseen) ours_next.push_back(worth(q.board + q.mine + next));
    double hands = 0, strength = 0, was_ahead = 1e-4, lost = 1e-4, was_behind = 1e-4, gained = 1e-4;
    for (std::size_t a = 0; a < cards; ++a)
        for (std::size_t b = a + 1; b < cards; ++b) {
            const Cards theirs = q.board + q.unseen[a] + q.unseen[b];
            const int value = worth(theirs);
            ++hands, strength += value < ours ? 1 : value == ours ? 0.5 : 0;
            if (q.shared == 5) continue;
            for (std::size_t next = 0; next < cards; ++next) {
                if (next == a || next == b) continue;
                const int after = worth(theirs + q.unseen[next]);
                if (value < ours) ++was_ahead, lost += ours_next[next] < after;
                else ++was_behind, gained += ours_next[next] > after;
            }
        }
    strength /= hands;
    if (q.shared == 5) return strength;
    return strength * (1 - lost / was_ahead) + (1 - strength) * gained / was_behind;
}

int answer(const std::string& line) {
    const Question q(line);
    if (!q.opponents) return q.low;
    std::uint32_t seed = 2166136261u;
    for (unsigned char letter : line) seed = (seed ^ letter) * 16777619u;
    std::minstd_rand chance(seed);
    const int n = q.opponents;
    double win = q.shared ? std::pow(effective_strength(q), n) : dealt_to_an_end(q, chance);
    win = std::pow(win, 1 + q.level / (q.level + 60.0));  // a player who bets a lot probably has a good hand
    const double edge = (win * (n + 1) - 1) / n;          // the Kelly share if all others call
    const int bet = int(SHARE[q.street()] * edge * (q.chips + q.before)) - q.before;
    if (bet > q.low) return std::min(bet, q.high);
    const bool worth_it = win * (q.total + q.low) >= MARGIN * q.low || (q.low == 1 && edge > 0);
    return worth_it ? q.low : 0;
}

// Answers all available questions at once.
int main() {
    std::string held, said;
    std::array<char, 1 << 16> room;
    for (ssize_t got; (got = read(0, room.data(), room.size())) > 0;) {
        held.append(room.data(), got);
        std::size_t from = 0;
        for (std::size_t end; (end = held.find('\n', from)) != held.npos; from = end + 1)
            said += std::to_string(answer(held.substr(from, end - from))) + '\n';
        held.erase(0, from);
        for (std::size_t sent = 0; sent < said.size();) {
            const ssize_t put = write(1, said.data() + sent, said.size() - sent);
            if (put <= 0) return 0;
            sent += put;
        }
        said.clear();
    }
}
