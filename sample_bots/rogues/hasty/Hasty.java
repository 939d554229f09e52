// Answers, and then goes on answering what nobody has asked. Verdict: early.
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;

final class Hasty {
    public static void main(String[] arguments) throws IOException, InterruptedException {
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in));
        while (questions.readLine() != null) {
            System.out.println("H");
            Thread.sleep(10);
            System.out.println("H");
        }
    }
}
