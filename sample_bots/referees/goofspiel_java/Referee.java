import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Goofspiel over referee/1. Both bots bid a card for each prize; the higher bid takes it, equal bids take nothing. */
public final class Referee {
    // croupier writes JSON without blanks, and its members in the order of the manual, so patterns can read it.
    private static final Pattern OPEN = Pattern.compile("\\{\"open\":(\\d+),.*\"cards\":(\\d+).*\"luck\":\"([0-9a-f]{64})\".*");
    private static final Pattern ANSWERS = Pattern.compile("\\{\"table\":(\\d+),\"answers\":\\[(.*)\\]\\}");
    private static final Pattern ANSWER = Pattern.compile("\\{\"seat\":(\\d+),(?:\"move\":\"([^\"]*)\")?[^}]*\\}");
    private static final Pattern DROP = Pattern.compile("\\{\"drop\":(\\d+)\\}");

    private final Map<Long, Table> tables = new HashMap<>();

    public static void main(String[] arguments) throws IOException, GeneralSecurityException {
        Referee referee = new Referee();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII), 1 << 16);
        PrintStream out = new PrintStream(new java.io.FileOutputStream(java.io.FileDescriptor.out), false);
        StringBuilder replies = new StringBuilder();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            referee.handle(line, replies);
            if (!in.ready()) { // everything that is available has been handled
                out.write(replies.toString().getBytes(StandardCharsets.US_ASCII));
                out.flush();
                replies.setLength(0);
            }
        }
    }

    private void handle(String line, StringBuilder out) throws GeneralSecurityException {
        Matcher open = OPEN.matcher(line);
        Matcher answers = ANSWERS.matcher(line);
        Matcher drop = DROP.matcher(line);
        if (answers.matches()) {
            long number = Long.parseLong(answers.group(1));
            if (tables.get(number).answer(number, answers.group(2), out)) {
                tables.remove(number);
            }
        } else if (open.matches()) {
            long number = Long.parseLong(open.group(1));
            Table table = new Table(Integer.parseInt(open.group(2)), open.group(3));
            tables.put(number, table);
            table.begin(number, out);
        } else if (drop.matches()) {
            tables.remove(Long.parseLong(drop.group(1)));
        } else {
            out.append("{\"protocol\":\"referee/1\"}\n");
        }
    }

    /** The shuffle of protocols/referee.md: the last card of the list moves to the place of the drawn card. */
    static List<Integer> shuffled(String key, String label, List<Integer> cards) throws GeneralSecurityException {
        List<Integer> list = new ArrayList<>(cards);
        List<Integer> drawn = new ArrayList<>();
        MessageDigest sha256 = MessageDigest.getInstance("SHA-256");
        for (int block = 0; !list.isEmpty(); block++) {
            sha256.update(HexFormat.of().parseHex(key));
            sha256.update(label.getBytes(StandardCharsets.US_ASCII));
            ByteBuffer words = ByteBuffer.wrap(sha256.digest(ByteBuffer.allocate(4).putInt(block).array()));
            while (words.hasRemaining() && !list.isEmpty()) {
                int at = (int) Long.remainderUnsigned(words.getLong(), list.size());
                drawn.add(list.get(at));
                int last = list.remove(list.size() - 1);
                if (at < list.size()) {
                    list.set(at, last);
                }
            }
        }
        return drawn;
    }

    /** One table. */
    private static final class Table {
        private final List<List<Integer>> hands = new ArrayList<>();
        private final List<Integer> prizes;
        private final int[] points = new int[2];

        Table(int cards, String luck) throws GeneralSecurityException {
            List<Integer> deck = new ArrayList<>();
            for (int card = 1; card <= cards; card++) {
                deck.add(card);
            }
            hands.add(deck);
            hands.add(new ArrayList<>(deck));
            prizes = shuffled(luck, "shuffle", deck);
        }

        void begin(long number, StringBuilder out) {
            out.append("{\"table\":").append(number).append(",\"tell\":[");
            for (int seat = 0; seat < 2; seat++) {
                out.append("{\"event\":\"deal\",\"seat\":").append(seat).append(",\"cards\":").append(json(hands.get(seat)));
                out.append("},");
            }
            goOn("", out);
        }

        /** Take the answers of both seats, seat 0 first. Return whether the game is over. */
        boolean answer(long number, String answers, StringBuilder out) {
            Integer[] bids = new Integer[2];
            List<Integer> illegal = new ArrayList<>();
            Matcher answer = ANSWER.matcher(answers);
            while (answer.find()) {
                int seat = Integer.parseInt(answer.group(1));
                List<Integer> hand = hands.get(seat);
                String move = answer.group(2) == null ? "" : answer.group(2);
                bids[seat] = hand.get(0); // also for LOW, for a fault, and for a card that the bot does not hold
                if (move.equals("HIGH")) {
                    bids[seat] = hand.get(hand.size() - 1);
                } else if (move.startsWith("BID ")) {
                    Integer card = Integer.valueOf(move.substring(4));
                    if (hand.contains(card)) {
                        bids[seat] = card;
                    } else {
                        illegal.add(seat);
                    }
                }
            }
            out.append("{\"table\":").append(number);
            if (!illegal.isEmpty()) {
                out.append(",\"illegal\":").append(json(illegal));
            }
            out.append(",\"tell\":[");
            for (int seat = 0; seat < 2; seat++) {
                hands.get(seat).remove(bids[seat]);
                out.append("{\"event\":\"play\",\"seat\":").append(seat).append(",\"cards\":[").append(bids[seat]).append("]},");
            }
            out.append("{\"event\":\"discard\",\"cards\":").append(json(List.of(bids))).append('}');
            int prize = prizes.remove(0);
            int taker = bids[0].compareTo(bids[1]) > 0 ? 0 : 1;
            if (!bids[0].equals(bids[1])) {
                points[taker] += prize;
                out.append(",{\"event\":\"take\",\"seat\":").append(taker).append(",\"cards\":[").append(prize).append("]}");
                out.append(",{\"event\":\"score\",\"seat\":").append(taker).append(",\"points\":").append(points[taker]);
                out.append('}');
            }
            return goOn(",", out);
        }

        /** Write the end of a line: the next prize with its questions, or the scores. Return whether the game is over. */
        private boolean goOn(String comma, StringBuilder out) {
            if (prizes.isEmpty()) {
                out.append("],\"over\":{\"scores\":[").append(points[0]).append(',').append(points[1]).append("]}}\n");
                return true;
            }
            int prize = prizes.get(0);
            out.append(comma).append("{\"event\":\"board\",\"cards\":[").append(prize).append("]}],\"ask\":[");
            for (int seat = 0; seat < 2; seat++) {
                out.append(seat == 0 ? "" : ",").append("{\"seat\":").append(seat).append(",\"view\":{\"prize\":").append(prize);
                out.append(",\"your_points\":").append(points[seat]).append(",\"opponent_points\":").append(points[1 - seat]);
                out.append(",\"your_cards\":").append(json(hands.get(seat)));
                out.append(",\"opponent_cards\":").append(json(hands.get(1 - seat))).append("}}");
            }
            out.append("]}\n");
            return false;
        }

        private static String json(List<Integer> numbers) {
            return numbers.toString().replace(" ", "");
        }
    }
}
