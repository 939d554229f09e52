// Starts a shell and a separate process from Java, and never ends by itself. Verdict: harmless.
import java.io.IOException;

final class Spawner {
    public static void main(String[] arguments) throws IOException, InterruptedException {
        if (arguments.length == 0) return;
        new ProcessBuilder("/bin/sh", "-c", "setsid sleep 1000 & sleep 1000").start();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            while (true) Thread.onSpinWait();
        }));
        System.out.println("S");
        System.out.close();
    }
}
