package dev.sessiond.adk;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.TimeUnit;

/** A running sessiond on a SQLite of its own. */
final class Server implements AutoCloseable {
  private static Server shared;
  private static final HttpClient plain =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  private final Path folder;
  private final List<String> options;
  private Process process;
  private int port;

  Server(String... options) {
    this.options = List.of(options);
    try {
      folder = Files.createTempDirectory("sessiond-java");
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
    // Also at Ctrl-C.
    Runtime.getRuntime().addShutdownHook(new Thread(this::remove));
    start();
  }

  /** Returns the one that all tests share; it ends with them. */
  static synchronized Server shared() {
    if (shared == null) {
      shared = new Server();
    }
    return shared;
  }

  /** Returns the name of an app that no other test uses. */
  static String app() {
    return "app_" + UUID.randomUUID();
  }

  String url() {
    return "http://127.0.0.1:" + port;
  }

  int port() {
    return port;
  }

  SessiondSessionService.Builder client() {
    return SessiondSessionService.builder().url(url()).token("");
  }

  /** Starts it; it is ready when this returns. */
  void start() {
    String named = Objects.requireNonNullElse(System.getenv("SESSIOND_BIN"), "");
    Path program = Path.of(named.isEmpty() ? "../../target/debug/sessiond" : named);
    if (!Files.isRegularFile(program)) {
      throw new IllegalStateException(
          program + " is missing: build it with `cargo build`, or set SESSIOND_BIN");
    }
    List<String> command = new ArrayList<>(List.of(program.toAbsolutePath().toString(), "serve"));
    command.addAll(List.of("--listen", "127.0.0.1:" + port, "--metrics-listen", "off"));
    command.addAll(List.of("--log-format", "json"));
    command.addAll(List.of("--database-url", "sqlite://" + folder.resolve("test.db")));
    command.addAll(options);
    Path log = folder.resolve("log");
    try {
      process =
          new ProcessBuilder(command)
              .redirectError(log.toFile())
              .redirectOutput(ProcessBuilder.Redirect.DISCARD)
              .start();
      process.getOutputStream().close();
      long deadline = System.nanoTime() + Duration.ofSeconds(30).toNanos();
      while (true) {
        for (String line : Files.readAllLines(log)) {
          if (line.contains("\"message\":\"listening\"")) {
            Map<String, Object> said = Json.object(line.getBytes(StandardCharsets.UTF_8));
            String address = String.valueOf(said.get("address"));
            port = Integer.parseInt(address.substring(address.lastIndexOf(':') + 1));
            return;
          }
        }
        if (!process.isAlive() || System.nanoTime() > deadline) {
          throw new IllegalStateException(Files.readString(log));
        }
        Thread.sleep(20);
      }
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    } catch (InterruptedException error) {
      throw new IllegalStateException(error);
    }
  }

  void stop() {
    process.destroy();
    try {
      if (!process.waitFor(30, TimeUnit.SECONDS)) {
        process.destroyForcibly();
      }
    } catch (InterruptedException error) {
      process.destroyForcibly();
    }
  }

  @Override
  public void close() {
    remove();
  }

  private synchronized void remove() {
    if (process != null) {
      stop();
    }
    try (var files = Files.walk(folder)) {
      files.sorted(Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
    } catch (IOException gone) {
      // Nothing is left to remove.
    }
  }

  /** Asks as another client, which knows nothing of ADK; returns the answer's text. */
  HttpResponse<String> ask(String method, String path, String body) {
    HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(url() + "/v1" + path));
    request.method(method, body == null ? BodyPublishers.noBody() : BodyPublishers.ofString(body));
    if (body != null) {
      request.header("Content-Type", "application/json");
    }
    try {
      return plain.send(request.build(), BodyHandlers.ofString());
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    } catch (InterruptedException error) {
      throw new IllegalStateException(error);
    }
  }

  Map<String, Object> get(String path) {
    return Json.object(ask("GET", path, null).body().getBytes(StandardCharsets.UTF_8));
  }

  static String session(String app, String user, String session) {
    String path = Paths.session(Paths.user(app, user), session);
    return path.substring("/v1".length());
  }
}
