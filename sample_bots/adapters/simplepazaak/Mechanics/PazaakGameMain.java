package Mechanics;

import java.util.Collection;

/**
 * The constants that bots read from the controller.
 *
 * <p>In 2015 the goal could be overwritten for both players, and one bot won by doing so. Here it is final: a class that
 * assigns to it does not compile. A change would have no effect anyway, because the game is played in another process.
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
