import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Scanner;

/** Hares for two to eight players, as a referee for CodinGame's engine: the same game as hares_python. */
public class Referee {
    private static final Scanner in = new Scanner(System.in);
    private static int[] positions;
    private static int frame, count;
    private static String summary;

    private static void say(String name, List<String> lines) {
        System.out.println("[[" + name + "] " + lines.size() + "]");
        lines.forEach(System.out::println);
    }

    private static List<String> hear(List<String> names) {
        String[] header = in.nextLine().replaceAll("[\\[\\]]", "").split(" ");
        List<String> lines = new ArrayList<>();
        for (int i = 0; i < Integer.parseInt(header[1]); i++) {
            lines.add(in.nextLine());
        }
        names.add(header[0]);
        return lines;
    }

    private static String execute(int player, int lines, List<String> text) {
        hear(new ArrayList<>());
        System.err.println("debug ".repeat(200));
        StringBuilder view = new StringBuilder();
        for (int position : positions) {
            view.append(view.length() == 0 ? "" : ", ").append(position);
        }
        say("VIEW", List.of("KEY_FRAME " + frame, "{\"positions\":[" + view + "]}"));
        if (frame == 0) {
            say("MONITORING", List.of());
        }
        say("INFOS", List.of());
        say("SUMMARY", summary == null ? List.of() : List.of(summary));
        summary = null;
        say("NEXT_PLAYER_INPUT", text);
        say("NEXT_PLAYER_INFO", List.of("" + player, "" + lines, frame <= count ? "1000" : "50"));
        frame++;
        List<String> names = new ArrayList<>();
        List<String> answer = hear(names);
        return names.get(0).equals("SET_PLAYER_OUTPUT") && answer.size() == 2 ? answer.get(1) : "";
    }

    public static void main(String[] args) {
        List<String> init = hear(new ArrayList<>());
        count = Integer.parseInt(init.get(0));
        Map<String, String> given = new HashMap<>();
        for (String line : init.subList(1, init.size())) {
            given.put(line.split("=", 2)[0], line.split("=", 2)[1]);
        }
        long seed = Long.parseLong(given.getOrDefault("seed", "1"));
        int turns = Integer.parseInt(given.getOrDefault("turns", "" + (5 + seed % 3)));
        positions = new int[count];
        for (int player = 0; player < count; player++) {
            positions[player] = (int) ((seed >> 3 * player) % 4);
        }
        execute(0, 0, List.of());
        for (int turn = 0; turn < turns; turn++) {
            List<Integer> jumps = new ArrayList<>(Collections.nCopies(count, 0));
            for (int player = 0; player < count; player++) {
                if (positions[player] >= 0) {
                    List<String> text = new ArrayList<>();
                    if (turn == 0) {
                        text.add(count + " " + player + " " + turns);
                    }
                    for (int position : positions) {
                        text.add("" + position);
                    }
                    String answer = execute(player, 1, text);
                    if (answer.matches("[1-5]")) {
                        jumps.set(player, Integer.parseInt(answer));
                    } else {
                        positions[player] = -1;
                    }
                }
            }
            StringBuilder said = new StringBuilder("turn " + turn + ":");
            for (int player = 0; player < count; player++) {
                if (jumps.get(player) > 0 && Collections.frequency(jumps, jumps.get(player)) == 1) {
                    positions[player] += jumps.get(player);
                }
                said.append(" ").append(positions[player]);
            }
            summary = said.toString();
        }
        say("VIEW", List.of("KEY_FRAME " + frame, "{}"));
        say("INFOS", List.of());
        say("METADATA", List.of("{}"));
        List<String> scores = new ArrayList<>();
        for (int player = 0; player < count; player++) {
            scores.add(player + " " + positions[player]);
        }
        say("SCORES", scores);
    }
}
