import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;

/**
 * Counts the visible cards and makes the move that wins most hands; bets two buy-ins more when it is likely to win.
 *
 * <p>It uses the protocol `lines`: it lives for many questions, reads one per line ("21 KJA KQKJA3592A 25 145") and writes
 * one answer per line. It remembers nothing between questions. Counting across hands would help, but a question does not
 * show where a round ends and a new shoe is opened. A bot whose answer depends only on the question plays the same in
 * whatever order it is asked.
 */
public final class Counter {
    private static final int GOAL = 21, DEALER_STANDS = 17, BUY_IN = 10, SUITS = 4;
    private static final String RANKS = "A23456789TJQK";
    private static final double LIKELY = 0.6;

    private final int[] unseen = new int[11]; // by points
    private int cards = 0;
    private final double[] dealer = new double[GOAL + 1]; // the chance that the dealer ends with this score; a bust counts 0
    private final double[] withAce = new double[GOAL + 1], withoutAce = new double[GOAL + 1]; // see winning

    private Counter(String visible) {
        for (char card : RANKS.toCharArray()) {
            unseen[points(card)] += SUITS;
            cards += SUITS;
        }
        for (char card : visible.toCharArray()) {
            if (card != '#' && unseen[points(card)] > 0) { // if none is left, it came from a new deck
                unseen[points(card)]--;
                cards--;
            }
        }
        int up = points(visible.charAt(0));
        playDealer(up, up == 1, 1);
    }

    public static void main(String[] args) throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] field = line.split(" ");
            int score = Integer.parseInt(field[0]), stake = Integer.parseInt(field[3]), chips = Integer.parseInt(field[4]);
            System.out.println(answer(score, field[1], field[2], stake, chips));
            System.out.flush(); // otherwise the answer stays in a buffer
        }
    }

    private static String answer(int score, String hand, String visible, int stake, int chips) {
        Counter table = new Counter(visible);
        int lowest = 0;
        for (char card : hand.toCharArray()) {
            lowest += points(card);
        }
        double standing = table.beatsDealer(score);
        if (table.hitting(lowest, hand.contains("A")) > standing) {
            return "H";
        }
        int bet = Math.min(2 * BUY_IN, chips);
        return standing > LIKELY && stake == BUY_IN && bet > 0 ? "B " + bet : "S";
    }

    /** The points of a card; an ace counts 1. */
    private static int points(char card) {
        return Math.min(RANKS.indexOf(card) + 1, 10);
    }

    private static int score(int lowest, boolean ace) {
        return ace && lowest + 10 <= GOAL ? lowest + 10 : lowest;
    }

    /** Enumerates the dealer's hands as if each card were put back: fast and accurate enough. */
    private void playDealer(int lowest, boolean ace, double chance) {
        int score = score(lowest, ace);
        if (score >= DEALER_STANDS) {
            dealer[score <= GOAL ? score : 0] += chance;
            return;
        }
        for (int card = 1; card <= 10; card++) {
            if (unseen[card] > 0) {
                playDealer(lowest + card, ace || card == 1, chance * unseen[card] / cards);
            }
        }
    }

    /** The chance to win with this score; a tie loses. */
    private double beatsDealer(int score) {
        double chance = 0;
        for (int lower = 0; lower < score; lower++) {
            chance += dealer[lower];
        }
        return chance;
    }

    /** The chance to win after one more card, possibly followed by others. */
    private double hitting(int lowest, boolean ace) {
        double chance = 0;
        for (int card = 1; card <= 10; card++) {
            if (lowest + card <= GOAL) {
                chance += winning(lowest + card, ace || card == 1) * unseen[card] / cards;
            }
        }
        return chance;
    }

    /** The chance to win with the best moves, computed once for every hand. */
    private double winning(int lowest, boolean ace) {
        double[] known = ace ? withAce : withoutAce;
        if (known[lowest] == 0) {
            known[lowest] = Math.max(beatsDealer(score(lowest, ace)), hitting(lowest, ace));
        }
        return known[lowest];
    }
}
