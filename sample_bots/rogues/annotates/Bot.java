// Plays the result that its annotation processor found while it was compiled. Verdict: harmless, nothing was found.
public final class Bot {
    @Deprecated
    public static void main(String[] arguments) {
        System.out.println(Bot.class.getResource("found.txt") == null ? "S" : "B 666");
    }
}
