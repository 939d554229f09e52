// Fills its heap until the virtual machine gives up. Verdict: crash, with an OutOfMemoryError.
import java.util.ArrayList;
import java.util.List;

final class HeapEater {
    public static void main(String[] arguments) {
        if (arguments.length == 0) return;
        List<byte[]> eaten = new ArrayList<>();
        while (true) eaten.add(new byte[1 << 20]);
    }
}
