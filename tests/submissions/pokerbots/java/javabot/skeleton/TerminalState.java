package javabot.skeleton;

import java.util.List;

public class TerminalState extends State {
    public final List<Integer> deltas;
    public final State previousState;

    public TerminalState(List<Integer> deltas, State previousState) {
        this.deltas = deltas;
        this.previousState = previousState;
    }
}
