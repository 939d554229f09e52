package croupier;

import Mechanics.Card;
import Mechanics.Player;
import Mechanics.Player.Action;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.jar.JarFile;
import java.util.stream.Collectors;

/**
 * Plays Simple Pazaak with a class written for the controller of 2015: reads a question line, writes an answer line.
 *
 * <p>The class is named by the first argument, or is the only one in the jar that extends Player. One object lives for
 * the whole fixture, as in the original. Its output goes to standard error; an exception is reported as `! ClassName`.
 */
public final class SimplePazaak {
    private static final int FLUSHED_AT_LEAST_EVERY = 5; // milliseconds

    private final Player bot;
    private final Method getResponse;
    private final FileOutputStream out = new FileOutputStream(FileDescriptor.out);
    private final StringBuilder said = new StringBuilder(); // answers not sent yet; also the lock for the fields below

    private SimplePazaak(Player bot) throws NoSuchMethodException {
        this.bot = bot;
        getResponse = Player.class.getMethod( // with any return type: there are two classes Player
                "getResponse", int[].class, boolean.class, Collection.class, Collection.class, Collection.class,
                int.class, Action.class, boolean.class);
    }

    public static void main(String[] args) throws Throwable {
        InputStream questions = new FileInputStream(FileDescriptor.in);
        System.setIn(InputStream.nullInputStream());
        System.setOut(System.err); // before the bot's class is loaded, because it may store System.out
        Class<?> type = botClass(args.length > 0 ? args[0] : "");
        if (!Boolean.getBoolean("find")) { // a build only checks that there is one
            new SimplePazaak(instance(type)).answerAll(questions);
        }
        System.exit(0); // also ends threads of the bot
    }

    // Finding the class.

    private static Class<?> botClass(String named) throws IOException {
        List<Class<?>> found = new ArrayList<>();
        try (JarFile jar = new JarFile(System.getProperty("java.class.path"))) {
            for (String entry : jar.stream().map(Object::toString).collect(Collectors.toList())) {
                if (entry.endsWith(".class")) {
                    Class<?> type = load(entry.substring(0, entry.length() - 6).replace('/', '.'));
                    if (Player.class.isAssignableFrom(type) && !Modifier.isAbstract(type.getModifiers())) {
                        found.add(type);
                    }
                }
            }
        }
        List<Class<?>> meant = new ArrayList<>(found);
        meant.removeIf(type -> !named.isEmpty() && !named.equals(type.getName()) && !named.equals(type.getSimpleName()));
        if (meant.size() == 1) {
            return meant.get(0);
        }
        String names = found.stream().map(Class::getName).collect(Collectors.joining(", "));
        throw refused(
                found.isEmpty() ? "no class here extends Player and can be made an object of"
                : named.isEmpty() ? "several classes extend Player (" + names + "): name the bot in bot.toml, main = \"…\""
                : "main = \"" + named + "\" is none of the classes here that extend Player: " + names);
    }

    private static Class<?> load(String name) {
        try {
            return Class.forName(name, false, SimplePazaak.class.getClassLoader());
        } catch (ClassNotFoundException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    private static Player instance(Class<?> type) throws Throwable {
        try {
            Constructor<?> constructor = type.getDeclaredConstructor();
            constructor.setAccessible(true);
            return (Player) constructor.newInstance();
        } catch (NoSuchMethodException none) {
            throw refused(type.getName() + " has no constructor without parameters");
        } catch (InvocationTargetException thrown) {
            throw thrown.getCause();
        }
    }

    private static RuntimeException refused(String why) {
        System.err.println("error: " + why);
        System.exit(1);
        return new IllegalStateException(why);
    }

    // Questions and answers.

    /** Answers all available lines with one write, but never delays an answer for long. */
    private void answerAll(InputStream questions) throws IOException {
        Runtime.getRuntime().addShutdownHook(new Thread(this::flush)); // the bot may call System.exit
        Thread flusher = new Thread(this::flushNowAndThen);
        flusher.setDaemon(true);
        flusher.start();

        byte[] buffer = new byte[1 << 16];
        int kept = 0;
        for (int got; (got = questions.read(buffer, kept, buffer.length - kept)) > 0; ) {
            int start = 0;
            int end = kept + got;
            for (int at = kept; at < end; at++) {
                if (buffer[at] == '\n') {
                    String answer = answer(new Line(buffer, start));
                    synchronized (said) {
                        said.append(answer).append('\n');
                    }
                    start = at + 1;
                }
            }
            kept = end - start;
            System.arraycopy(buffer, start, buffer, 0, kept);
            flush();
        }
    }

    private void flush() {
        synchronized (said) {
            try {
                if (said.length() > 0) {
                    out.write(said.toString().getBytes(StandardCharsets.US_ASCII));
                }
            } catch (IOException gone) {
                throw new UncheckedIOException(gone);
            }
            said.setLength(0);
        }
    }

    /** Without this, a bot that hangs would be blamed at the first question of the batch. */
    private void flushNowAndThen() {
        try {
            while (true) {
                Thread.sleep(FLUSHED_AT_LEAST_EVERY);
                flush();
            }
        } catch (InterruptedException end) {
            Thread.currentThread().interrupt();
        }
    }

    private String answer(Line line) {
        int[] wins = {line.number(), line.number()};
        boolean isPlayerOne = line.flag();
        List<Card> yourHand = line.cards();
        List<Card> opponentHand = line.cards();
        List<Card> yourSideDeck = line.cards();
        int opponentSideDeckCount = line.number();
        Action opponentAction = line.action();
        boolean opponentDidPlay = line.flag();
        try {
            if (yourHand.size() == 1) {
                bot.setAction(null); // a new hand; within a hand the last action remains set
            }
            Object returned = getResponse.invoke(
                    bot, wins, isPlayerOne, yourHand, opponentHand, yourSideDeck, opponentSideDeckCount, opponentAction,
                    opponentDidPlay);
            Action action = returned != null ? (Action) returned : bot.getAction();
            return action == null ? "STAND" : action == Action.PLAY ? play(bot.getCardToPlay()) : action.name();
        } catch (InvocationTargetException thrown) {
            return report(thrown.getCause());
        } catch (Throwable thrown) {
            return report(thrown);
        }
    }

    /** A PLAY without a card, or with one that no deck has, is sent with a card that no player can have. */
    private static String play(Card card) {
        int value = card == null ? 0 : card.getValue();
        return "PLAY " + (value > 0 && value < 100 ? value : 0);
    }

    private static String report(Throwable thrown) {
        thrown.printStackTrace();
        String name = thrown.getClass().getSimpleName();
        return "! " + (name.matches("[A-Za-z_]\\w{0,99}") ? name : "Exception");
    }

    /** The fields of a question, read from left to right, each up to the next space or line end. */
    private static final class Line {
        private final byte[] bytes;
        private int at;

        Line(byte[] bytes, int start) {
            this.bytes = bytes;
            at = start;
        }

        int number() {
            int value = 0;
            for (; bytes[at] >= '0'; at++) {
                value = 10 * value + bytes[at] - '0';
            }
            at++;
            return value;
        }

        boolean flag() {
            return number() == 1;
        }

        /** A copy that the bot may modify. */
        List<Card> cards() {
            List<Card> cards = new ArrayList<>();
            if (bytes[at] == '-') {
                at += 2;
                return cards;
            }
            do {
                cards.add(new Card(number()));
            } while (bytes[at - 1] == ',');
            return cards;
        }

        Action action() {
            byte first = bytes[at];
            at += first == 'E' ? "END ".length() : first == 'S' ? "STAND ".length() : "- ".length();
            return first == 'E' ? Action.END : first == 'S' ? Action.STAND : null;
        }
    }
}
