package dev.sessiond.adk;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The program that tests over several languages drive. */
class MatrixTest extends SessionTest {

  private Map<String, Object> ask(String asked) {
    String where = "\"app\": \"%s\", \"user\": \"ada\", \"session\": \"s\", ".formatted(app);
    String answer = new Matrix(service).answer("{" + where + asked + "}");
    return Json.object(answer.getBytes(StandardCharsets.UTF_8));
  }

  @Test
  void itDoesWhatTheLinesAsk() {
    create(Map.of("user:x", 1));
    String event =
        """
        "event": {"id": "e", "author": "a", "invocationId": "i", "timestamp": 1700000000.25,
                  "text": "hi", "stateDelta": {"k": 1}, "artifactDelta": {"f": 0}}
        """;
    Map<String, Object> state = Map.of("user:x", 1, "k", 1);
    assertEquals(Map.of("ok", true, "state", state), ask("\"do\": \"append\", " + event));
    assertEquals(
        Map.of(
            "ok",
            true,
            "state",
            state,
            "events",
            List.of("e"),
            "said",
            List.of(List.of("a", "hi")),
            "artifacts",
            Map.of("f", 0),
            "lastUpdateTime",
            1700000000.25),
        ask("\"do\": \"get\""));
    assertEquals(
        Map.of("ok", true, "value", 2),
        ask("\"do\": \"increment\", \"key\": \"app:n\", \"by\": 2"));
    ask("\"do\": \"append\", " + event);
    Map<String, Object> watched = ask("\"do\": \"watch\", \"count\": 2");
    assertEquals("e", ((List<?>) watched.get("events")).get(0));
    assertEquals(2, ((List<?>) watched.get("events")).size());
    Map<String, Object> conflict =
        ask("\"do\": \"append\", " + event.replace("hi", "something else"));
    assertEquals(false, conflict.get("ok"));
    assertEquals("event_id_conflict", conflict.get("code"));
    assertEquals(409, conflict.get("status"));
  }

  @Test
  void itSavesAndLoadsFiles() {
    create();
    String name = "\"name\": \"f\"";
    assertEquals(
        Map.of("ok", true, "version", 0), ask("\"do\": \"save\", \"text\": \"é\", " + name));
    String bytes = "\"data\": \"AP8=\", \"mimeType\": \"a/b\", ";
    assertEquals(Map.of("ok", true, "version", 1), ask("\"do\": \"save\", " + bytes + name));
    assertEquals(Map.of("ok", true, "text", "é"), ask("\"do\": \"load\", \"version\": 0, " + name));
    assertEquals(
        Map.of("ok", true, "data", "AP8=", "mimeType", "a/b"), ask("\"do\": \"load\", " + name));
    assertEquals(Map.of("ok", true), ask("\"do\": \"load\", \"name\": \"g\""));
    assertEquals(Map.of("ok", true, "names", List.of("f")), ask("\"do\": \"files\""));
  }
}
