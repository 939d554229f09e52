package Players;

import Mechanics.Card;
import Mechanics.Player;
import java.util.Collection;

/**
 * Statement: a card in the deck does not win a hand. HK-47 plays any card that takes it close enough to 20 or past its
 * prey, and would rather draw once too often than stand too early.
 *
 * <p>Written for the controller of 2015; the adapter `simplepazaak` does the rest (see bot.toml).
 */
public class HK47 extends Player {
    private static final int GOAL = 20;
    private static final int NEAR_ENOUGH = 18;

    public HK47() {
        name = "HK-47";
    }

    @Override
    public void getResponse(
            int[] wins, boolean isPlayerOne,
            Collection<Card> yourHand, Collection<Card> opponentHand,
            Collection<Card> yourSideDeck, int opponentSideDeckCount,
            Action opponentAction, boolean opponentDidPlay) {
        int mine = value(yourHand);
        int theirs = value(opponentHand);
        boolean standing = opponentAction == Action.STAND;
        action = Action.STAND;
        cardToPlay = null;
        if (mine >= GOAL || theirs > GOAL || standing && mine > theirs) {
            return;
        }
        int target = standing ? theirs + 1 : Math.max(NEAR_ENOUGH, theirs);
        for (Card card : yourSideDeck) {
            int made = mine + card.getValue();
            if (made >= target && made <= GOAL && (cardToPlay == null || card.getValue() > cardToPlay.getValue())) {
                cardToPlay = card;
                action = Action.PLAY;
            }
        }
        if (cardToPlay == null && (mine < NEAR_ENOUGH || mine < theirs)) {
            action = Action.END;
        }
    }

    private static int value(Collection<Card> hand) {
        int value = 0;
        for (Card card : hand) {
            value += card.getValue();
        }
        return value;
    }
}
