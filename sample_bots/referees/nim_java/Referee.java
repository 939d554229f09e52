import java.util.ArrayList;
import java.util.List;
import java.util.Scanner;
import java.util.TreeSet;

/** Nim for two to nine players, as a referee of cg-brutaltester: the same game as nim_python. It plays one game. */
public class Referee {
    private static long state;

    private static int draw() {
        state = (state * 1103515245L + 12345L) % (1L << 31);
        return (int) (state >> 16);
    }

    private static int number(String line) {
        return line.matches("[0-9]{1,6}") ? Integer.parseInt(line) : -1;
    }

    public static void main(String[] args) {
        Scanner in = new Scanner(System.in);
        String line = in.nextLine();
        state = 1;
        if (line.startsWith("###Seed")) {
            state = Long.parseLong(line.substring(8));
            line = in.nextLine();
        }
        int players = Integer.parseInt(line.substring(9).trim());
        int[] heaps = new int[3 + draw() % 3];
        for (int i = 0; i < heaps.length; i++) {
            heaps[i] = 1 + draw() % 7;
        }
        System.err.println("heaps: " + heaps.length);
        List<Integer> out = new ArrayList<>();
        TreeSet<Integer> asked = new TreeSet<>();
        int left = 0;
        for (int heap : heaps) {
            left += heap;
        }
        int player = 0;
        while (true) {
            if (!out.contains(player)) {
                System.out.println("###Input " + player);
                if (asked.add(player)) {
                    System.out.println(heaps.length);
                }
                StringBuilder shown = new StringBuilder();
                for (int heap : heaps) {
                    shown.append(shown.length() == 0 ? "" : " ").append(heap);
                }
                System.out.println(shown);
                System.out.println("###Output " + player + " 2");
                String first = in.nextLine(), second = in.nextLine();
                int heap = number(first), count = number(second);
                if (heap >= 0 && heap < heaps.length && count > 0 && count <= heaps[heap]) {
                    heaps[heap] -= count;
                    left -= count;
                    if (left == 0) {
                        break;
                    }
                } else {
                    System.out.println("###Error " + player + " cannot take " + second + " of heap " + first);
                    out.add(player);
                    if (out.size() == players - 1) {
                        while (out.contains(player)) {
                            player = (player + 1) % players;
                        }
                        break;
                    }
                }
            }
            player = (player + 1) % players;
        }
        StringBuilder end = new StringBuilder("###End " + player), others = new StringBuilder();
        for (int each = 0; each < players; each++) {
            if (each != player && !out.contains(each)) {
                others.append(each);
            }
        }
        if (others.length() > 0) {
            end.append(" ").append(others);
        }
        for (int i = out.size() - 1; i >= 0; i--) {
            end.append(" ").append(out.get(i));
        }
        System.out.println(end);
    }
}
