package javabot.skeleton;

public class Action {
    public ActionType actionType;
    public int amount;

    public Action(ActionType actionType) {
        this.actionType = actionType;
    }

    public Action(ActionType actionType, int amount) {
        this.actionType = actionType;
        this.amount = amount;
    }
}
