package Mechanics;

import java.util.Collection;

/** What a bot extends: its getResponse leaves the move in `action`, and in `cardToPlay` for a PLAY. */
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
