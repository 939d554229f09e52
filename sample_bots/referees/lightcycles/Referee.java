import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Light cycles over referee/1, for two to four seats that move at the same time. The rules are in game.toml. */
public final class Referee {
    // croupier writes JSON without blanks, and its members in the order of the manual, so patterns can read it.
    private static final Pattern OPEN = Pattern.compile(
            "\\{\"open\":(\\d+),\"seats\":(\\d+),\"rules\":\\{\"width\":(\\d+),\"height\":(\\d+)\\},\"luck\":\"([0-9a-f]{64})\".*");
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
            Table table = new Table(Integer.parseInt(open.group(2)), Integer.parseInt(open.group(3)),
                    Integer.parseInt(open.group(4)), open.group(5));
            tables.put(number, table);
            out.append("{\"table\":").append(number);
            table.goOn("", out);
        } else if (drop.matches()) {
            tables.remove(Long.parseLong(drop.group(1)));
        } else {
            out.append("{\"protocol\":\"referee/1\"}\n");
        }
    }

    /** The shuffle of protocols/referee.md: the last card of the list moves to the place of the drawn card. */
    static <T> List<T> shuffled(String key, String label, List<T> cards) throws GeneralSecurityException {
        List<T> list = new ArrayList<>(cards);
        List<T> drawn = new ArrayList<>();
        MessageDigest sha256 = MessageDigest.getInstance("SHA-256");
        for (int block = 0; !list.isEmpty(); block++) {
            sha256.update(HexFormat.of().parseHex(key));
            sha256.update(label.getBytes(StandardCharsets.US_ASCII));
            ByteBuffer words = ByteBuffer.wrap(sha256.digest(ByteBuffer.allocate(4).putInt(block).array()));
            while (words.hasRemaining() && !list.isEmpty()) {
                int at = (int) Long.remainderUnsigned(words.getLong(), list.size());
                drawn.add(list.get(at));
                T last = list.remove(list.size() - 1);
                if (at < list.size()) {
                    list.set(at, last);
                }
            }
        }
        return drawn;
    }

    private enum Direction {
        UP(0, -1), DOWN(0, 1), LEFT(-1, 0), RIGHT(1, 0);

        final int x;
        final int y;

        Direction(int x, int y) {
            this.x = x;
            this.y = y;
        }

        boolean isOpposite(Direction other) {
            return other != null && x == -other.x && y == -other.y;
        }
    }

    private record Place(int x, int y) {
        Place next(Direction direction) {
            return new Place(x + direction.x, y + direction.y);
        }
    }

    /** One table. */
    private static final class Table {
        private static final Place CRASHED = new Place(-1, -1);
        private final char[][] grid;
        private final Place[] heads;
        private final Direction[] directions;
        private final int[] scores;
        private int turn = 0;

        Table(int seats, int width, int height, String luck) throws GeneralSecurityException {
            grid = new char[height][width];
            for (char[] row : grid) {
                Arrays.fill(row, '.');
            }
            List<Place> corners = List.of(new Place(1, 1), new Place(width - 2, height - 2), new Place(width - 2, 1),
                    new Place(1, height - 2));
            heads = shuffled(luck, "shuffle", corners).subList(0, seats).toArray(new Place[0]);
            directions = new Direction[seats];
            scores = new int[seats];
            for (int seat = 0; seat < seats; seat++) {
                grid[heads[seat].y][heads[seat].x] = (char) ('0' + seat);
            }
        }

        private boolean isFree(Place place) {
            return place.y >= 0 && place.y < grid.length && place.x >= 0 && place.x < grid[0].length
                    && grid[place.y][place.x] == '.';
        }

        private boolean rides(int seat) {
            return heads[seat] != CRASHED;
        }

        private int riding() {
            int count = 0;
            for (int seat = 0; seat < heads.length; seat++) {
                count += rides(seat) ? 1 : 0;
            }
            return count;
        }

        /** Take the answers of all seats that ride. Return whether the game is over. */
        boolean answer(long number, String answers, StringBuilder out) {
            List<Integer> illegal = new ArrayList<>();
            Matcher answer = ANSWER.matcher(answers);
            while (answer.find()) {
                int seat = Integer.parseInt(answer.group(1));
                Direction before = directions[seat];
                if (answer.group(2) != null) {
                    Direction chosen = direction(answer.group(2));
                    if (chosen == null || chosen.isOpposite(before)) {
                        if (!free(seat).isEmpty()) {
                            illegal.add(seat);
                        }
                    } else {
                        directions[seat] = chosen;
                    }
                }
                if (directions[seat] == null) { // the first answer was a fault
                    directions[seat] = Direction.UP;
                }
            }
            drive();
            out.append("{\"table\":").append(number);
            if (!illegal.isEmpty()) {
                out.append(",\"illegal\":").append(illegal.toString().replace(" ", ""));
            }
            return goOn("", out);
        }

        private static Direction direction(String word) {
            for (Direction each : Direction.values()) {
                if (each.name().equalsIgnoreCase(word)) {
                    return each;
                }
            }
            return null;
        }

        /** Move all seats at the same time. Who is out does not score for those that crash in the same turn. */
        private void drive() {
            Place[] next = new Place[heads.length];
            for (int seat = 0; seat < heads.length; seat++) {
                next[seat] = rides(seat) ? heads[seat].next(directions[seat]) : null;
            }
            boolean[] crashes = new boolean[heads.length];
            for (int seat = 0; seat < heads.length; seat++) {
                crashes[seat] = next[seat] != null && !isFree(next[seat]);
                for (int other = 0; other < heads.length; other++) {
                    crashes[seat] |= other != seat && next[seat] != null && next[seat].equals(next[other]);
                }
            }
            int out = 0;
            for (int seat = 0; seat < heads.length; seat++) {
                if (crashes[seat]) {
                    heads[seat] = CRASHED;
                    out++;
                } else if (rides(seat)) {
                    heads[seat] = next[seat];
                    grid[next[seat].y][next[seat].x] = (char) ('0' + seat);
                }
            }
            for (int seat = 0; seat < heads.length; seat++) {
                scores[seat] += rides(seat) ? out : 0;
            }
        }

        /** Write the end of a line: the picture, and the questions of the next turn or the scores. Return whether it is over. */
        boolean goOn(String comma, StringBuilder out) {
            turn++;
            out.append(comma).append(",\"tell\":[{\"event\":\"state\",\"text\":\"").append(rows("\\n")).append("\"}");
            for (int seat = 0; seat < heads.length; seat++) {
                out.append(",{\"event\":\"score\",\"seat\":").append(seat).append(",\"points\":").append(scores[seat]).append('}');
            }
            out.append(']');
            if (riding() < 2) {
                out.append(",\"over\":{\"scores\":").append(Arrays.toString(scores).replace(" ", "")).append("}}\n");
                return true;
            }
            out.append(",\"ask\":[");
            String separator = "";
            for (int seat = 0; seat < heads.length; seat++) {
                if (rides(seat)) {
                    out.append(separator);
                    ask(seat, out);
                    separator = ",";
                }
            }
            out.append("]}\n");
            return false;
        }

        private void ask(int seat, StringBuilder out) {
            out.append("{\"seat\":").append(seat).append(",\"view\":{\"you\":").append(seat).append(",\"turn\":").append(turn);
            out.append(",\"width\":").append(grid[0].length).append(",\"height\":").append(grid.length).append(",\"heads\":[");
            String separator = "";
            for (Place head : heads) {
                out.append(separator).append('[').append(head.x).append(',').append(head.y).append(']');
                separator = ",";
            }
            out.append("],\"grid\":\"").append(rows("/")).append("\",\"free\":[");
            separator = "";
            for (Direction each : free(seat)) {
                out.append(separator).append('"').append(each.name()).append('"');
                separator = ",";
            }
            out.append("]}}");
        }

        private List<Direction> free(int seat) {
            List<Direction> found = new ArrayList<>();
            for (Direction each : Direction.values()) {
                if (!each.isOpposite(directions[seat]) && isFree(heads[seat].next(each))) {
                    found.add(each);
                }
            }
            return found;
        }

        private String rows(String between) {
            StringBuilder all = new StringBuilder();
            for (char[] row : grid) {
                all.append(all.length() == 0 ? "" : between).append(row);
            }
            return all.toString();
        }
    }
}
