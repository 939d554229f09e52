package javabot.skeleton;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

public class RoundState extends State {
    public final int button;
    public final int street;
    public final List<Integer> pips;
    public final List<Integer> stacks;
    public final List<List<String>> hands;
    public final List<String> deck;
    public final State previousState;

    public RoundState(int button, int street, List<Integer> pips, List<Integer> stacks, List<List<String>> hands,
            List<String> deck, State previousState) {
        this.button = button;
        this.street = street;
        this.pips = pips;
        this.stacks = stacks;
        this.hands = hands;
        this.deck = deck;
        this.previousState = previousState;
    }

    private State nextStreet() {
        if (street == 5) {
            return new TerminalState(Arrays.asList(0, 0), this);
        }
        return new RoundState(1, street == 0 ? 3 : street + 1, Arrays.asList(0, 0), stacks, hands, deck, this);
    }

    public State proceed(Action action) {
        int active = button % 2;
        if (action.actionType == ActionType.FOLD_ACTION_TYPE) {
            return new TerminalState(Arrays.asList(0, 0), this);
        }
        boolean checks = action.actionType == ActionType.CHECK_ACTION_TYPE;
        boolean calls = action.actionType == ActionType.CALL_ACTION_TYPE;
        List<Integer> newPips = new ArrayList<>(pips);
        List<Integer> newStacks = new ArrayList<>(stacks);
        if (!checks) {
            newPips.set(active, calls ? pips.get(1 - active) : action.amount);
            newStacks.set(active, stacks.get(active) - newPips.get(active) + pips.get(active));
        }
        RoundState after = new RoundState(button + 1, street, newPips, newStacks, hands, deck, this);
        boolean ends = calls && button > 0 || checks && (street == 0 || button > 1);
        return ends ? after.nextStreet() : after;
    }
}
