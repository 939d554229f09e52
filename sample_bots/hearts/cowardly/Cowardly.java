import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Scanner;

/** cowardly: stays below the trick if it can, and gets rid of spades above the jack and of its highest cards. */
public class Cowardly {
    private static final String RANKS = "23456789TJQKA";
    private static final Comparator<String> BY_RANK = Comparator.comparingInt(Cowardly::rank);

    private static int rank(String card) {
        return RANKS.indexOf(card.charAt(0));
    }

    /** The spades that take the queen, and the queen herself, come last. */
    private static int burden(String card) {
        return rank(card) + (card.charAt(1) == 's' && rank(card) >= RANKS.indexOf('Q') ? 20 : 0);
    }

    private static String play(List<String> legal, List<String> trick) {
        if (trick.isEmpty())
            return legal.stream().min(BY_RANK).get();
        char led = trick.get(0).charAt(1);
        if (legal.get(0).charAt(1) != led)
            return legal.stream().max(Comparator.comparingInt(Cowardly::burden)).get();
        int best = trick.stream().filter(card -> card.charAt(1) == led).mapToInt(Cowardly::rank).max().getAsInt();
        return legal.stream().filter(card -> rank(card) < best).max(BY_RANK).orElse(legal.get(0));
    }

    public static void main(String[] args) {
        Scanner in = new Scanner(System.in);
        while (in.hasNextLine()) {
            String[] words = in.nextLine().split(" ");
            if (words[0].equals("PASS")) {
                List<String> hand = new ArrayList<>(Arrays.asList(words[3].split(",")));
                hand.sort(Comparator.comparingInt(Cowardly::burden));
                System.out.println("PASS " + String.join(" ", hand.subList(hand.size() - 3, hand.size())));
            } else {
                List<String> trick = words[5].equals("-") ? List.of() : Arrays.asList(words[5].split(","));
                System.out.println("PLAY " + play(Arrays.asList(words[4].split(",")), trick));
            }
            System.out.flush();
        }
    }
}
