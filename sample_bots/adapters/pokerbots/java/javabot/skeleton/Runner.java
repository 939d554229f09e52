package javabot.skeleton;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/**
 * Replaces skeleton/Runner.java of a bot for MIT Pokerbots: it reads its standard input in the place of a socket. All other
 * files of the bot stay as they are, Player.java too. What the bot prints goes to its standard error.
 */
public class Runner {
    private static final int BOARD_CARDS = 5;
    private final PrintStream answers = System.out;
    private Bot bot;
    private GameState game = new GameState(0, 0, 1);
    private State round;
    private int active;
    private boolean isOver = true;

    /** Ignores the arguments: there is no host and no port. */
    public void parseArgs(String[] arguments) {
        System.setOut(System.err);
    }

    /** Plays until the input ends. */
    public void runBot(Bot bot) {
        this.bot = bot;
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        try {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                for (String clause : line.trim().split(" +")) {
                    hear(clause.charAt(0), clause.substring(1));
                }
                answers.println(isOver ? "K" : text(bot.getAction(game, (RoundState) round, active)));
                answers.flush();
            }
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }

    private static String text(Action action) {
        switch (action.actionType) {
            case FOLD_ACTION_TYPE:
                return "F";
            case CALL_ACTION_TYPE:
                return "C";
            case RAISE_ACTION_TYPE:
                return "R" + action.amount;
            default:
                return "K";
        }
    }

    private void hear(char letter, String rest) {
        if (round == null && "TPH".indexOf(letter) < 0) {
            return; // a new process in the middle of a round: it answers K until the next one
        }
        switch (letter) {
            case 'T':
                game = new GameState(game.bankroll, Float.parseFloat(rest), game.roundNum);
                break;
            case 'P':
                active = Integer.parseInt(rest);
                break;
            case 'H':
                begin(Arrays.asList(rest.split(",")));
                break;
            case 'F':
                round = ((RoundState) round).proceed(new Action(ActionType.FOLD_ACTION_TYPE));
                break;
            case 'C':
                round = ((RoundState) round).proceed(new Action(ActionType.CALL_ACTION_TYPE));
                break;
            case 'K':
                round = ((RoundState) round).proceed(new Action(ActionType.CHECK_ACTION_TYPE));
                break;
            case 'R':
                round = ((RoundState) round).proceed(new Action(ActionType.RAISE_ACTION_TYPE, Integer.parseInt(rest)));
                break;
            case 'B':
                round = with((RoundState) round, ((RoundState) round).hands, board(rest.split(",")));
                break;
            case 'O':
                RoundState before = (RoundState) ((TerminalState) round).previousState;
                List<List<String>> hands = new ArrayList<>(before.hands);
                hands.set(1 - active, Arrays.asList(rest.split(",")));
                round = new TerminalState(Arrays.asList(0, 0), with(before, hands, before.deck));
                break;
            case 'A':
            case 'D':
                end(Integer.parseInt(rest));
                break;
            default:
                break;
        }
    }

    private static RoundState with(RoundState old, List<List<String>> hands, List<String> deck) {
        return new RoundState(old.button, old.street, old.pips, old.stacks, hands, deck, old.previousState);
    }

    private static List<String> board(String... cards) {
        List<String> board = new ArrayList<>(Collections.nCopies(BOARD_CARDS, ""));
        for (int i = 0; i < cards.length; i++) {
            board.set(i, cards[i]);
        }
        return board;
    }

    private void begin(List<String> cards) {
        List<List<String>> hands = new ArrayList<>(Arrays.asList(new ArrayList<String>(), new ArrayList<String>()));
        hands.set(active, cards);
        List<Integer> pips = Arrays.asList(State.SMALL_BLIND, State.BIG_BLIND);
        List<Integer> stacks = Arrays.asList(State.STARTING_STACK - State.SMALL_BLIND, State.STARTING_STACK - State.BIG_BLIND);
        round = new RoundState(0, 0, pips, stacks, hands, board(), null);
        isOver = false;
        bot.handleNewRound(game, (RoundState) round, active);
    }

    private void end(int delta) {
        List<Integer> deltas = Arrays.asList(-delta, -delta);
        deltas.set(active, delta);
        game = new GameState(game.bankroll + delta, game.gameClock, game.roundNum);
        bot.handleRoundOver(game, new TerminalState(deltas, ((TerminalState) round).previousState), active);
        game = new GameState(game.bankroll, game.gameClock, game.roundNum + 1);
        isOver = true;
    }
}
