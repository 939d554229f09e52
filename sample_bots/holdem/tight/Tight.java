import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.Arrays;

/**
 * Plays few hands, but bets a lot on them. It plays every hand to its end 500 times and folds if it does not win clearly.
 *
 * <p>Its random numbers depend on CROUPIER_SEED and the question. So it plays differently in every fixture, but always gives
 * the same answer to the same question, whatever it was asked before.
 */
public final class Tight {
    private static final int DEALS = 500, DECK = 52, ACE = 14;
    private static final double CLEARLY = 1.35; // times an equal share
    private static final double SHARE = 0.6; // share of the Kelly bet
    private static final String RANKS = "23456789TJQKA", SUITS = "chds";
    private static final long SEED = seed(System.getenv().getOrDefault("CROUPIER_SEED", "0"));

    private long state; // of the random numbers

    private Tight(String question) {
        state = SEED;
        for (int at = 0; at < question.length(); at++) {
            state = (state ^ question.charAt(at)) * 0x100000001B3L;
        }
    }

    private static long seed(String text) {
        long seed = 0xCBF29CE484222325L;
        for (int at = 0; at < text.length(); at++) {
            seed = (seed ^ text.charAt(at)) * 0x100000001B3L;
        }
        return seed;
    }

    public static void main(String[] args) throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        PrintStream out = new PrintStream(new java.io.FileOutputStream(java.io.FileDescriptor.out), false);
        StringBuilder answers = new StringBuilder();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            answers.append(new Tight(line).answer(line)).append('\n');
            if (!in.ready()) { // answer all available questions, then write once
                out.print(answers);
                out.flush();
                answers.setLength(0);
            }
        }
    }

    private int answer(String line) {
        String[] field = line.split(" ");
        int chips = Integer.parseInt(field[0]), low = Integer.parseInt(field[5]), high = Integer.parseInt(field[6]);
        int total = Integer.parseInt(field[7]), opponents = 0, level = 0;
        for (String players : new String[] {field[2], field[3]}) {
            for (String player : players.equals("-") ? new String[0] : players.split(",")) {
                String[] other = player.split(":");
                opponents += other[2].equals("0") ? 1 : 0;
                level = Math.max(level, Integer.parseInt(other[1]));
            }
        }
        if (opponents == 0) {
            return low;
        }
        int[] hand = cards(field[1]), board = field[4].equals("-") ? new int[0] : cards(field[4]);
        double win = winning(hand, board, opponents);
        if (win < CLEARLY / (opponents + 1)) {
            return low == 1 && board.length > 0 && board.length < 5 ? low : 0; // the next card is cheap
        }
        double edge = (win * (opponents + 1) - 1) / opponents;
        int bet = (int) (SHARE * edge * chips);
        if (bet > low && level < 2 + bet / 2) {
            return Math.min(bet, high);
        }
        double doubt = level > 10 ? 1.3 : 1; // a player who bets a lot probably has a good hand
        return win * (total + low) > doubt * low ? low : 0;
    }

    /** The indices of cards in the deck, sorted by rank and then suit. */
    private static int[] cards(String names) {
        int[] cards = new int[names.length() / 2];
        for (int n = 0; n < cards.length; n++) {
            cards[n] = 4 * RANKS.indexOf(names.charAt(2 * n)) + SUITS.indexOf(names.charAt(2 * n + 1));
        }
        return cards;
    }

    /** How often a hand wins after all cards are dealt; a draw counts as a share. */
    private double winning(int[] hand, int[] board, int opponents) {
        int[] deck = new int[DECK];
        int size = 0;
        for (int card = 0; card < DECK; card++) {
            if (!contains(hand, card) && !contains(board, card)) {
                deck[size++] = card;
            }
        }
        int[] seven = new int[7];
        double won = 0;
        for (int deal = 0; deal < DEALS; deal++) {
            int drawn = 0, missing = 5 - board.length;
            for (int wanted = missing + 2 * opponents; drawn < wanted; drawn++) {
                int other = drawn + (int) (random() * (size - drawn));
                int card = deck[other];
                deck[other] = deck[drawn];
                deck[drawn] = card;
            }
            int ours = worth(seven, board, deck, missing, hand[0], hand[1]), sharing = 1;
            for (int at = missing; at < drawn && sharing > 0; at += 2) {
                int theirs = worth(seven, board, deck, missing, deck[at], deck[at + 1]);
                sharing = theirs > ours ? 0 : theirs == ours ? sharing + 1 : sharing;
            }
            won += sharing > 0 ? 1.0 / sharing : 0;
        }
        return won / DEALS;
    }

    private static boolean contains(int[] cards, int card) {
        for (int one : cards) {
            if (one == card) {
                return true;
            }
        }
        return false;
    }

    private double random() {
        state += 0x9E3779B97F4A7C15L;
        long mixed = (state ^ state >>> 30) * 0xBF58476D1CE4E5B9L;
        mixed = (mixed ^ mixed >>> 27) * 0x94D049BB133111EBL;
        return ((mixed ^ mixed >>> 31) >>> 11) * 0x1.0p-53;
    }

    /** The value of two cards and the whole board: sixteen times the category of 2018, plus the rank of one card. */
    private static int worth(int[] seven, int[] board, int[] deck, int missing, int one, int other) {
        System.arraycopy(board, 0, seven, 0, board.length);
        System.arraycopy(deck, 0, seven, board.length, missing);
        seven[5] = one;
        seven[6] = other;
        Arrays.sort(seven);
        int run = run(seven);
        if (run > 20) {
            return run;
        }
        int ranks = 0, pairs = 0, threes = 0, fours = 0; // bit masks of ranks
        for (int at = 0; at < 7; ) {
            int rank = seven[at] / 4, end = at + 1;
            while (end < 7 && seven[end] / 4 == rank) {
                end++;
            }
            int bit = 1 << rank + 2;
            ranks |= bit;
            switch (end - at) {
                case 2 -> pairs |= bit;
                case 3 -> threes |= bit;
                case 4 -> fours |= bit;
                default -> { }
            }
            at = end;
        }
        if (fours != 0) {
            return 8 << 4 | top(fours);
        }
        if (threes != 0 && pairs != 0) {
            return 7 << 4 | top(threes);
        }
        for (int suit = 0; suit < 4; suit++) {
            int suited = 0;
            for (int card : seven) {
                suited += card % 4 == suit ? 1 : 0;
                if (suited == 5 && card % 4 == suit) {
                    return 6 << 4 | card / 4 + 2; // the five lowest cards count
                }
            }
        }
        if (run > 0) {
            return 5 << 4 | run;
        }
        if (threes != 0) {
            return 4 << 4 | top(threes);
        }
        if (pairs != 0) {
            return (Integer.bitCount(pairs) > 1 ? 3 : 2) << 4 | top(pairs);
        }
        return 1 << 4 | top(ranks);
    }

    private static int top(int ranks) {
        return 31 - Integer.numberOfLeadingZeros(ranks);
    }

    /**
     * The top of the highest five neighbours, or 0 if there are none; the value of the hand if they are of one suit.
     * Neighbours are adjacent in the sorted cards, so a pair inside them breaks the run. The last ace also counts below the two.
     */
    private static int run(int[] sorted) {
        boolean ace = sorted[6] / 4 + 2 == ACE;
        for (int top = 6; top >= (ace ? 3 : 4); top--) {
            boolean rising = true, suited = true;
            for (int at = top; at > top - 4; at--) {
                int card = sorted[at], lower = at > 0 ? sorted[at - 1] : sorted[6] - 52;
                rising &= Math.floorDiv(card, 4) - Math.floorDiv(lower, 4) == 1;
                suited &= Math.floorMod(card, 4) == Math.floorMod(lower, 4);
            }
            if (rising) {
                int rank = sorted[top] / 4 + 2;
                return !suited ? rank : rank == ACE ? 10 << 4 | rank : 9 << 4 | rank;
            }
        }
        return 0;
    }
}
