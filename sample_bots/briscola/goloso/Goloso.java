import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Scanner;

/** goloso: takes every trick that is worth it, trumps only for ten points, and gives its partner's tricks points. */
public class Goloso {
    private static final String RANKS = "24567JQK3A";
    private static final int[] POINTS = {0, 0, 0, 0, 0, 2, 3, 4, 10, 11};

    private static int points(String card) {
        return POINTS[RANKS.indexOf(card.charAt(0))];
    }

    /** Whether a card takes a trick from the card that was the best one until now. */
    private static boolean takes(String card, String best, char trump) {
        if (card.charAt(1) == best.charAt(1))
            return RANKS.indexOf(card.charAt(0)) > RANKS.indexOf(best.charAt(0));
        return card.charAt(1) == trump;
    }

    private static String play(boolean partners, char trump, List<String> hand, List<String> trick) {
        Comparator<String> dear = Comparator.comparingInt(card -> points(card) + (card.charAt(1) == trump ? 3 : 0));
        String cheapest = hand.stream().min(dear).get();
        if (trick.isEmpty())
            return cheapest;
        String best = trick.get(0);
        for (String card : trick)
            if (takes(card, best, trump))
                best = card;
        final String beaten = best;
        int worth = trick.stream().mapToInt(Goloso::points).sum();
        if (partners && trick.size() == 3 && best.equals(trick.get(1)))
            return hand.stream().filter(card -> card.charAt(1) != trump).max(dear).orElse(cheapest);
        String suit = hand.stream().filter(card -> card.charAt(1) != trump && takes(card, beaten, trump)).max(dear).orElse("");
        if (!suit.isEmpty() && worth + points(suit) > 0)
            return suit;
        if (worth < 10)
            return cheapest;
        return hand.stream().filter(card -> takes(card, beaten, trump)).min(dear).orElse(cheapest);
    }

    public static void main(String[] args) {
        Scanner in = new Scanner(System.in);
        while (in.hasNextLine()) {
            String[] words = in.nextLine().split(" ");
            List<String> trick = words[4].equals("-") ? List.of() : Arrays.asList(words[4].split(","));
            System.out.println("PLAY " + play(words[0].equals("4"), words[1].charAt(1), Arrays.asList(words[3].split(",")), trick));
            System.out.flush();
        }
    }
}
