package dev.sessiond.adk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The example prints what its README shows. */
class ExampleTest {
  private static final Path EXAMPLE = Path.of("../../examples/adk-java");
  private static final Pattern RUN =
      Pattern.compile(
          "^\\$ mvn -q compile exec:java (?:-Dexec.mainClass=(\\S+) )?-Dexec.args='?(\\w+)(?:"
              + " \"(.*)\"')?\n((?:[^`\n].*\n)+)",
          Pattern.MULTILINE);

  @Test
  void theExamplePrintsItsTranscript(@TempDir Path classes) throws Exception {
    String path =
        Path.of("target/classes").toAbsolutePath()
            + File.pathSeparator
            + Files.readString(Path.of("target/test.classpath")).strip();
    List<String> compiler = new ArrayList<>(List.of(program("javac"), "-encoding", "UTF-8"));
    compiler.addAll(List.of("-d", classes.toString(), "-cp", path));
    compiler.addAll(List.of("-proc:none", "--release", "17", "-Werror"));
    try (var sources = Files.walk(EXAMPLE.resolve("src/main/java"))) {
      sources.filter(Files::isRegularFile).map(Path::toString).forEach(compiler::add);
    }
    Process compilation = plain(compiler).redirectErrorStream(true).start();
    String said = new String(compilation.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(0, compilation.waitFor(), said);

    String readme = Files.readString(EXAMPLE.resolve("README.md"));
    int runs = 0;
    try (Server own = new Server()) {
      for (Matcher run = RUN.matcher(readme); run.find(); runs++) {
        List<String> command = new ArrayList<>();
        command.add(program("java"));
        command.addAll(
            List.of(
                "-Dfile.encoding=UTF-8",
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-cp",
                classes + File.pathSeparator + path));
        command.add(Objects.requireNonNullElse(run.group(1), "cafe.Main"));
        command.add(run.group(2));
        if (run.group(3) != null) {
          command.add(run.group(3));
        }
        assertEquals(run.group(4), output(command, own.url(), run.group(4).lines().count()));
      }
    }
    assertEquals(4, runs);
  }

  private static String program(String name) {
    return Path.of(System.getProperty("java.home"), "bin", name).toString();
  }

  /** Returns a program that knows no locale, as in a container that sets none. */
  private static ProcessBuilder plain(List<String> command) {
    ProcessBuilder builder = new ProcessBuilder(command);
    List.of("LANG", "LC_ALL", "LC_CTYPE").forEach(builder.environment()::remove);
    return builder;
  }

  /** Returns so many lines that a program prints; ends it if it does not. */
  private static String output(List<String> command, String url, long lines) throws IOException {
    ProcessBuilder builder = plain(command);
    builder.environment().put("SESSIOND_URL", url);
    builder.redirectError(ProcessBuilder.Redirect.DISCARD);
    Process process = builder.start();
    StringBuilder printed = new StringBuilder();
    try (BufferedReader reader = process.inputReader(StandardCharsets.UTF_8)) {
      for (long i = 0; i < lines; i++) {
        String line = reader.readLine();
        assertTrue(line != null, () -> "It ended after: " + printed);
        printed.append(line).append('\n');
      }
    } finally {
      process.destroy();
    }
    return printed.toString();
  }
}
