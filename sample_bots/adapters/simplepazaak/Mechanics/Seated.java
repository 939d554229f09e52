package Mechanics;

/** What a player has, however its getResponse is declared: a name, and the move it has decided on. */
abstract class Seated {
    protected String name = "Unnamed";
    protected Player.Action action;
    protected Card cardToPlay;

    public Player.Action getAction() {
        return action;
    }

    /** Called with null at the start of every hand, as the controller did. */
    public void setAction(Player.Action action) {
        this.action = action;
    }

    public Card getCardToPlay() {
        return cardToPlay;
    }
}
