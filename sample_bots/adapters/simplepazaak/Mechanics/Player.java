package Mechanics;

import java.util.Collection;

/** The base class of bots. Its getResponse leaves the move in `action`, and the card of a PLAY in `cardToPlay`. */
public abstract class Player extends Seated {
    public enum Action {
        END, STAND, PLAY
    }

    public abstract void getResponse(
            int[] wins, boolean isPlayerOne,
            Collection<Card> yourHand, Collection<Card> opponentHand,
            Collection<Card> yourSideDeck, int opponentSideDeckCount,
            Action opponentAction, boolean opponentDidPlay);
}
