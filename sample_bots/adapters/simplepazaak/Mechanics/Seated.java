package Mechanics;

/** A player's name and its latest move, common to both declarations of getResponse. */
abstract class Seated {
    protected String name = "Unnamed";
    protected Player.Action action;
    protected Card cardToPlay;

    public Player.Action getAction() {
        return action;
    }

    /** Called with null at the start of every hand, as by the controller. */
    public void setAction(Player.Action action) {
        this.action = action;
    }

    public Card getCardToPlay() {
        return cardToPlay;
    }
}
