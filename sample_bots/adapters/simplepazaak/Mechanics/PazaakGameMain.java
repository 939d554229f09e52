package Mechanics;

import java.util.Collection;

/**
 * What bots looked up in the controller.
 *
 * <p>There the goal could be overwritten, for both players, and one bot won by doing so. Here it is final: a class that
 * assigns to it does not compile. It would change nothing outside its own process anyway; the game is played elsewhere.
 */
public final class PazaakGameMain {
    public static final int HAND_GOAL = 20;

    private PazaakGameMain() {}

    public static int handValue(Collection<Card> hand) {
        int value = 0;
        for (Card card : hand) {
            value += card.getValue();
        }
        return value;
    }
}
