package dev.sessiond.adk;

import static dev.sessiond.adk.ScriptedModel.call;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.adk.agents.LlmAgent;
import com.google.adk.events.Event;
import com.google.adk.runner.Runner;
import com.google.adk.sessions.SessionNotFoundException;
import com.google.adk.tools.Annotations.Schema;
import com.google.adk.tools.FunctionTool;
import com.google.adk.tools.ToolContext;
import com.google.genai.types.Blob;
import com.google.genai.types.FileData;
import com.google.genai.types.Part;
import io.reactivex.rxjava3.core.Single;
import io.reactivex.rxjava3.schedulers.Schedulers;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Files: the cases that ADK has for its own artifact services, and what this one adds. */
class ArtifactsTest extends SessionTest {
  private final SessiondArtifactService files = service.artifacts();

  private static Part bytes(String text, String type) {
    return Part.fromBytes(text.getBytes(StandardCharsets.UTF_8), type);
  }

  private static Part named(String displayName) {
    Blob.Builder blob = Blob.builder().data(new byte[] {1}).mimeType("a/b");
    return Part.builder().inlineData(blob.displayName(displayName).build()).build();
  }

  /** Parts compare their bytes by identity. */
  private static void assertSame(Part expected, Part actual) {
    assertEquals(expected.toJson(), actual.toJson());
  }

  private void session(String id) {
    service.createSession(app, "ada", Map.of(), id).blockingGet();
  }

  private int save(SessiondArtifactService files, String name, Part part) {
    return files.saveArtifact(app, "ada", "s", name, part).blockingGet();
  }

  private int save(String name, Part part) {
    return save(files, name, part);
  }

  private Part load(String name) {
    return files.loadArtifact(app, "ada", "s", name).blockingGet();
  }

  private Part load(String name, int version) {
    return files.loadArtifact(app, "ada", "s", name, version).blockingGet();
  }

  private List<Integer> versions(String name) {
    return files.listVersions(app, "ada", "s", name).blockingGet();
  }

  private List<String> list(String session) {
    return files.listArtifactKeys(app, "ada", session).blockingGet().filenames();
  }

  private void delete(String name) {
    files.deleteArtifact(app, "ada", "s", name).blockingAwait();
  }

  @ParameterizedTest
  @ValueSource(strings = {"file.txt", "user:file.txt"})
  void versionsCountFromZero(String name) {
    create();
    assertNull(load(name));
    assertEquals(List.of(), versions(name));
    for (int version : List.of(0, 1, 2)) {
      assertEquals(version, save(name, bytes("v" + version, "text/plain")));
    }
    assertEquals(List.of(0, 1, 2), versions(name));
    assertSame(bytes("v2", "text/plain"), load(name));
    for (int version : List.of(0, 1, 2)) {
      assertSame(bytes("v" + version, "text/plain"), load(name, version));
    }
    assertNull(load(name, 3));
    assertNull(load(name, -1));
    Part reloaded = bytes("v3", "text/plain");
    assertSame(
        reloaded, files.saveAndReloadArtifact(app, "ada", "s", name, reloaded).blockingGet());
    delete(name);
    delete(name);
    assertNull(load(name));
    assertNull(load(name, 0));
    assertEquals(List.of(), versions(name));
    assertEquals(List.of(), list("s"));
    // No later version has the number of one that was deleted.
    assertEquals(4, save(name, bytes("v4", "text/plain")));
  }

  @Test
  void filesOfAUserAreVisibleAcrossSessionsAndOthersAreNot() {
    create();
    session("other");
    for (String name : List.of("b", "user:c", "a")) {
      save(name, bytes("x", "text/plain"));
    }
    files.saveArtifact(app, "ada", "other", "d", bytes("x", "text/plain")).blockingGet();
    assertEquals(List.of("a", "b", "user:c"), list("s"));
    assertEquals(List.of("d", "user:c"), list("other"));
    assertEquals(List.of("user:c"), list("none"));
    assertSame(
        bytes("x", "text/plain"), files.loadArtifact(app, "ada", "other", "user:c").blockingGet());
    assertNull(files.loadArtifact(app, "ada", "other", "a").blockingGet());
    assertEquals(List.of(0), files.listVersions(app, "ada", "other", "user:c").blockingGet());
    files.deleteArtifact(app, "ada", "other", "user:c").blockingAwait();
    assertNull(load("user:c"));
    // Without the id of a session, all files are the user's.
    assertEquals(1, files.saveArtifact(app, "ada", "", "c", Part.fromText("y")).blockingGet());
    assertSame(Part.fromText("y"), load("user:c"));
    assertEquals(List.of("user:c"), list(" "));
  }

  @Test
  void aSessionThatIsNotThereHasNoFiles() {
    for (Part part : List.of(Part.fromText("x"), bytes("x", "a/b"))) {
      var error = assertThrows(SessionNotFoundException.class, () -> save("f", part));
      assertEquals(Optional.of("not_applied"), ((SessiondException) error.getCause()).outcome());
    }
    assertNull(load("f"));
    assertEquals(List.of(), versions("f"));
    assertEquals(List.of(), list("s"));
    delete("f");
    assertEquals(0, save("user:f", Part.fromText("x")));
  }

  @Test
  void aPartComesBackAsItWasSaved() {
    create();
    var parts =
        List.of(
            Part.fromText(""),
            Part.fromText("a “text”\0\r\n"),
            Part.fromText("{\"like\": \"JSON\"}"),
            bytes("bytes that look like a text", "text/plain"),
            bytes("", "application/x-nothing"),
            bytes("{\"a\": 1}", "application/json"),
            bytes("<script>", "text/html; charset=\"utf-8\""),
            named("My \"Bericht\" (ü) 100% + 1.png"),
            Part.fromUri("gs://bucket/a file", "image/png"),
            Part.builder()
                .fileData(FileData.builder().fileUri("gs://bucket/a").displayName("ü").build())
                .build());
    for (Part part : parts) {
      int version = save("f", part);
      assertSame(part, load("f"));
      assertSame(part, load("f", version));
    }
    byte[] data = {0, (byte) 255};
    save("f", Part.builder().inlineData(Blob.builder().data(data).build()).build());
    assertSame(Part.fromBytes(data, "application/octet-stream"), load("f"));
  }

  @Test
  void whatHasNothingToSaveIsRefused() {
    create();
    Part empty = Part.builder().build();
    Part noBytes = Part.builder().inlineData(Blob.builder().mimeType("a/b").build()).build();
    for (Part part : List.of(empty, noBytes, bytes("x", "a\nb"))) {
      assertThrows(IllegalArgumentException.class, () -> save("f", part));
    }
    assertEquals(List.of(), list("s"));
  }

  @Test
  void aFileMayHaveAnyName() {
    create();
    List<String> names =
        Stream.of(
                "a/b",
                "a/b/",
                "a",
                "a b",
                " ",
                "%",
                "%2F",
                "100%",
                "ä/ö 😀",
                "a?b#c",
                "..a",
                "a\\b",
                "versions",
                "user:x/ü %",
                "e\u0301",
                "é")
            .sorted(
                (one, other) ->
                    Arrays.compareUnsigned(
                        one.getBytes(StandardCharsets.UTF_8),
                        other.getBytes(StandardCharsets.UTF_8)))
            .toList();
    for (String name : names) {
      assertEquals(0, save(name, bytes(name, "a/b")), name);
    }
    for (String name : names) {
      assertSame(bytes(name, "a/b"), load(name));
      assertEquals(List.of(0), versions(name), name);
    }
    assertEquals(names, list("s"));
    names.forEach(this::delete);
    assertEquals(List.of(), list("s"));
    for (String name : List.of(".", "..", "a\nb", "x".repeat(257))) {
      var error = refused(() -> save(name, bytes("x", "a/b")));
      assertEquals(Optional.of("invalid_argument"), error.code(), name);
    }
  }

  @Test
  void aFileMayBeLarge() {
    create();
    byte[] data = new byte[5 << 20];
    new Random().nextBytes(data);
    save("large", Part.fromBytes(data, "a/b"));
    assertArrayEquals(data, load("large").inlineData().orElseThrow().data().orElseThrow());
  }

  @Test
  void saversAtTheSameTimeGetVersionsWithoutAGap() {
    create();
    List<Map.Entry<Integer, String>> saved =
        io.reactivex.rxjava3.core.Flowable.just("a", "b")
            .flatMap(
                who ->
                    io.reactivex.rxjava3.core.Flowable.fromCallable(
                            () -> {
                              var own = server.client().build().artifacts();
                              List<Map.Entry<Integer, String>> mine = new ArrayList<>();
                              for (int n = 0; n < 10; n++) {
                                int version = save(own, "f", Part.fromText(who + n));
                                mine.add(Map.entry(version, who + n));
                              }
                              return mine;
                            })
                        .subscribeOn(Schedulers.newThread()))
            .flatMapIterable(mine -> mine)
            .toList()
            .timeout(60, TimeUnit.SECONDS)
            .blockingGet();
    assertEquals(
        IntStream.range(0, 20).boxed().toList(),
        saved.stream().map(Map.Entry::getKey).sorted().toList());
    for (var one : saved) {
      assertSame(Part.fromText(one.getValue()), load("f", one.getKey()));
    }
  }

  @Test
  void aLostAnswerAndASecondSubscriptionSaveOnce() throws IOException {
    create();
    try (Proxy proxy = new Proxy(server.port())) {
      var behind = client(proxy.url()).build().artifacts();
      var parts = List.of(Part.fromText("x"), bytes("x", "a/b"), Part.fromText("x"));
      for (int version = 0; version < parts.size(); version++) {
        Part part = parts.get(version);
        proxy.loseAnswers.set(1);
        Single<Integer> save = behind.saveArtifact(app, "ada", "s", "f", part);
        assertEquals(version, save.blockingGet());
        assertEquals(version, save.blockingGet());
        assertEquals(0, proxy.loseAnswers.get());
        proxy.loseAnswers.set(1);
        assertSame(part, behind.loadArtifact(app, "ada", "s", "f").blockingGet());
      }
    }
    assertEquals(List.of(0, 1, 2), versions("f"));
  }

  @Test
  void bytesMayTakeLongButNotBeSilent() throws IOException {
    Duration limit = Duration.ofMillis(500);
    try (var listener = new ServerSocket(0, 10, InetAddress.getLoopbackAddress())) {
      var thread =
          new Thread(
              () -> {
                try {
                  Socket client = listener.accept();
                  InputStream in = client.getInputStream();
                  in.read(new byte[4096]);
                  OutputStream out = client.getOutputStream();
                  String head =
                      "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nSessiond-Artifact-Kind: bytes\r\n"
                          + "Content-Length: 20\r\n\r\n";
                  out.write(head.getBytes(StandardCharsets.UTF_8));
                  // Longer than the limit, and never silent for as long as that.
                  for (int n = 0; n < 20; n++) {
                    Thread.sleep(limit.toMillis() / 10);
                    out.write('x');
                    out.flush();
                  }
                } catch (IOException | InterruptedException closed) {
                  // The test is over.
                }
              });
      thread.setDaemon(true);
      thread.start();
      // The next connections are made, and nobody reads.
      var service =
          client("http://127.0.0.1:" + listener.getLocalPort())
              .callTimeout(limit)
              .retryFor(Duration.ZERO)
              .build()
              .artifacts();
      var load = service.loadArtifact("a", "u", "s", "f");
      assertSame(bytes("x".repeat(20), "a/b"), load.blockingGet());
      var late = refused(load::blockingGet);
      assertTrue(late.getMessage().contains("no byte for 0.5 s"), late.getMessage());
      var large = Part.fromBytes(new byte[64 << 20], "a/b");
      late = refused(service.saveArtifact("a", "u", "s", "f", large)::blockingGet);
      assertTrue(late.getMessage().contains("no byte for 0.5 s"), late.getMessage());
      assertEquals(Optional.of("unknown"), late.outcome());
    }
  }

  @Test
  void bytesAreSentAsTheyAreAndTheAnswersOfOthersAreRefused() throws IOException {
    try (Script script =
        new Script(
            Script.json(201, "{\"version\": 7}"),
            Script.json(200, "<html>"),
            Script.json(200, "{\"artifacts\":[{\"name\":\"a\"}],\"nextPageToken\":\"t\"}"),
            Script.json(200, "{\"artifacts\":[{\"name\":\"b\"}]}"))) {
      var scripted = client(script.url()).build().artifacts();
      Single<Integer> save = scripted.saveArtifact("a", "u", "s", "f", bytes("+/x", "a/b"));
      assertEquals(7, save.blockingGet());
      var load = scripted.loadArtifact("a", "u", "s", "f");
      refused(load::blockingGet);
      var names = scripted.listArtifactKeys("a", "u", "s").blockingGet().filenames();
      assertEquals(List.of("a", "b"), names);
      String put = script.requests.get(0);
      String line = "PUT /v1/apps/a/users/u/sessions/s/artifacts/f?event=none HTTP/1.1\r\n";
      assertTrue(put.startsWith(line) && put.endsWith("\r\n\r\n+/x"), put);
      assertTrue(put.contains("\r\nContent-Type: a/b\r\n"), put);
      assertTrue(script.requests.get(3).contains("pageToken=t"), script.requests.get(3));
    }
  }

  /** Tools of the tests. */
  public static final class Tools {
    private Tools() {}

    public static Single<Map<String, Object>> save(
        @Schema(name = "toolContext") ToolContext toolContext) {
      return toolContext
          .saveArtifact("report/1", bytes("of 5", "a/b"))
          .andThen(toolContext.listArtifacts())
          .map(names -> Map.of("files", names));
    }
  }

  @Test
  void anAgentSavesAndReadsFiles() {
    create();
    save("note", Part.fromText("a note"));
    var model = new ScriptedModel(call("save", Map.of()), Part.fromText("done"));
    var agent =
        LlmAgent.builder()
            .name("a")
            .model(model)
            .instruction("Note: {artifact.note}")
            .tools(FunctionTool.create(Tools.class, "save"))
            .build();
    var runner =
        Runner.builder()
            .agent(agent)
            .appName(app)
            .sessionService(service)
            .artifactService(files)
            .build();
    List<Event> events = run(runner.runAsync("ada", "s", HELLO));
    assertEquals(
        List.of(Map.of("files", List.of("note", "report/1"))),
        events.stream()
            .flatMap(event -> event.functionResponses().stream())
            .map(response -> response.response().orElseThrow())
            .toList());
    assertSame(bytes("of 5", "a/b"), load("report/1", 0));
    var deltas =
        Json.list(server.get(path).get("events")).stream()
            .map(event -> Json.object(Json.object(event).get("actions")).get("artifactDelta"))
            .filter(delta -> !Json.object(delta).isEmpty())
            .toList();
    assertEquals(List.of(Map.of("report/1", 0)), deltas);
  }
}
