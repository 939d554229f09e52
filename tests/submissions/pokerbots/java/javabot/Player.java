package javabot;

import javabot.skeleton.Action;
import javabot.skeleton.ActionType;
import javabot.skeleton.Bot;
import javabot.skeleton.GameState;
import javabot.skeleton.RoundState;
import javabot.skeleton.Runner;
import javabot.skeleton.State;
import javabot.skeleton.TerminalState;

public class Player implements Bot {
    private int bank, rounds;

    private static void check(boolean fact) {
        if (!fact) {
            throw new IllegalStateException();
        }
    }

    public void handleNewRound(GameState gameState, RoundState roundState, int active) {
        check(gameState.bankroll == bank && gameState.roundNum == ++rounds && rounds <= State.NUM_ROUNDS);
        check(roundState.hands.get(active).size() == 2 && roundState.hands.get(1 - active).isEmpty());
    }

    public void handleRoundOver(GameState gameState, TerminalState terminalState, int active) {
        bank += terminalState.deltas.get(active);
        check(gameState.bankroll == bank);
        System.out.println("over " + bank + " " + ((RoundState) terminalState.previousState).hands);
    }

    public Action getAction(GameState gameState, RoundState roundState, int active) {
        check(roundState.button % 2 == active);
        check(roundState.deck.stream().filter(card -> !card.isEmpty()).count() == roundState.street);
        boolean free = roundState.pips.get(0).equals(roundState.pips.get(1));
        return new Action(free ? ActionType.CHECK_ACTION_TYPE : ActionType.CALL_ACTION_TYPE);
    }

    public static void main(String[] args) {
        Player player = new Player();
        Runner runner = new Runner();
        runner.parseArgs(args);
        runner.runBot(player);
    }
}
