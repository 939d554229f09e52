package javabot.skeleton;

public interface Bot {
    void handleNewRound(GameState gameState, RoundState roundState, int active);

    void handleRoundOver(GameState gameState, TerminalState terminalState, int active);

    Action getAction(GameState gameState, RoundState roundState, int active);
}
