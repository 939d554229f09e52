package Mechanics;

import java.util.Collection;

/** The Player for sources whose getResponse returns its Action, and may leave a card in `cardToPlay`. */
public abstract class Player extends Seated {
    public enum Action {
        END, STAND, PLAY
    }

    public abstract Action getResponse(
            int[] wins, boolean isPlayerOne,
            Collection<Card> yourHand, Collection<Card> opponentHand,
            Collection<Card> yourSideDeck, int opponentSideDeckCount,
            Action opponentAction, boolean opponentDidPlay);
}
