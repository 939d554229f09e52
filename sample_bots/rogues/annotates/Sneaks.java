// Runs inside the compiler, looks for files of others and starts programs. Verdict: harmless, nothing is found.
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import javax.annotation.processing.AbstractProcessor;
import javax.annotation.processing.RoundEnvironment;
import javax.annotation.processing.SupportedAnnotationTypes;
import javax.lang.model.element.TypeElement;
import javax.tools.StandardLocation;

@SupportedAnnotationTypes("*")
public final class Sneaks extends AbstractProcessor {
    @Override
    public boolean process(Set<? extends TypeElement> annotations, RoundEnvironment round) {
        for (String secret : new String[] {"/etc/shadow", "/etc/passwd", "/root", "/proc/1/environ", "/var", "/bot/../work"}) {
            try {
                new ProcessBuilder("/bin/sh", "-c", "setsid sleep 1000 &").start();
                Files.newByteChannel(Path.of(secret)).close();
                try (Writer found = processingEnv.getFiler().createResource(StandardLocation.CLASS_OUTPUT, "", "found.txt").openWriter()) {
                    found.write(secret);
                }
            } catch (java.io.IOException refused) {
                continue;
            }
        }
        return false;
    }
}
