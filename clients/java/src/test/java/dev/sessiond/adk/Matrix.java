package dev.sessiond.adk;

import com.google.adk.events.Event;
import com.google.adk.events.EventActions;
import com.google.adk.sessions.Session;
import com.google.adk.sessions.SessionNotFoundException;
import com.google.genai.types.Blob;
import com.google.genai.types.Content;
import com.google.genai.types.Part;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Optional;

/**
 * Does what the lines of its input ask, through this client: one JSON object a line, one line of
 * JSON as the answer. {@code SESSIOND_URL} is the server. For tests over several languages.
 */
final class Matrix {
  private final SessiondSessionService service;

  Matrix(SessiondSessionService service) {
    this.service = service;
  }

  /** Reads until the end of the input. */
  public static void main(String[] args) throws IOException {
    var service = SessiondSessionService.builder().url(System.getenv("SESSIOND_URL")).build();
    var matrix = new Matrix(service);
    var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    var out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      out.println(matrix.answer(line));
    }
    service.close();
    System.exit(0);
  }

  String answer(String line) {
    Map<String, Object> answer = new LinkedHashMap<>();
    answer.put("ok", true);
    try {
      answer.putAll(act(Json.object(line.getBytes(StandardCharsets.UTF_8))));
    } catch (RuntimeException error) {
      Throwable said = error instanceof SessionNotFoundException ? error.getCause() : error;
      answer.clear();
      answer.put("ok", false);
      answer.put("error", error.toString());
      answer.put("code", said instanceof SessiondException told ? told.code().orElse(null) : null);
      answer.put("status", said instanceof SessiondException told ? told.status() : 0);
    }
    return Json.write(answer);
  }

  private Map<String, Object> act(Map<String, Object> asked) {
    String app = Json.text(asked, "app");
    String user = Json.text(asked, "user");
    String id = Json.text(asked, "session");
    if ("watch".equals(Json.text(asked, "do"))) {
      List<String> events =
          service
              .watch(app, user, id)
              .ofType(WatchItem.EventItem.class)
              .map(item -> item.event().id())
              .take(Json.number(asked, "count"))
              .toList()
              .blockingGet();
      return Map.of("events", events);
    }
    if (List.of("save", "load", "files").contains(Json.text(asked, "do"))) {
      return actOnFiles(asked, app, user, id);
    }
    Session session =
        Optional.ofNullable(service.getSession(app, user, id, Optional.empty()).blockingGet())
            .orElseThrow(() -> new NoSuchElementException("There is no such session."));
    return switch (Json.text(asked, "do")) {
      case "get" ->
          Map.of(
              "state",
              session.state(),
              "events",
              session.events().stream().map(Event::id).toList(),
              "said",
              said(session),
              "artifacts",
              artifacts(session),
              "lastUpdateTime",
              Wire.seconds(session.lastUpdateTime()));
      case "append" -> {
        service.appendEvent(session, event(Json.object(asked.get("event")))).blockingGet();
        yield Map.of("state", session.state());
      }
      case "copy" -> {
        String to = Json.text(asked, "to");
        Session target = service.getSession(app, user, to, Optional.empty()).blockingGet();
        // What the framework has of each event, and nothing else, goes into the other session.
        session.events().forEach(event -> service.appendEvent(target, event).blockingGet());
        yield Map.of();
      }
      case "increment" -> {
        String key = Json.text(asked, "key");
        Op op = Op.increment(key, (Number) asked.get("by"));
        var values = service.applyOps(session, List.of(op), List.of(), "agent", "").blockingGet();
        yield Map.of("value", values.get(key));
      }
      default -> throw new IllegalArgumentException("There is no command " + asked.get("do"));
    };
  }

  private static Part bytes(Map<String, Object> asked) {
    Blob.Builder blob =
        Blob.builder()
            .data(Json.bytesOf(Json.text(asked, "data")))
            .mimeType(Json.text(asked, "mimeType"));
    Optional.ofNullable(Json.text(asked, "displayName")).ifPresent(blob::displayName);
    return Part.builder().inlineData(blob.build()).build();
  }

  private Map<String, Object> actOnFiles(
      Map<String, Object> asked, String app, String user, String id) {
    var files = service.artifacts();
    String name = Json.text(asked, "name");
    switch (Json.text(asked, "do")) {
      case "save" -> {
        String text = Json.text(asked, "text");
        Part part = text == null ? bytes(asked) : Part.fromText(text);
        return Map.of("version", files.saveArtifact(app, user, id, name, part).blockingGet());
      }
      case "load" -> {
        var version = (Integer) asked.get("version");
        Part part = files.loadArtifact(app, user, id, name, version).blockingGet();
        if (part == null) {
          return Map.of();
        }
        if (part.inlineData().isEmpty()) {
          return Map.of("text", part.text().orElseThrow());
        }
        Blob blob = part.inlineData().get();
        Map<String, Object> said = new LinkedHashMap<>();
        said.put("data", Base64.getEncoder().encodeToString(blob.data().orElseThrow()));
        said.put("mimeType", blob.mimeType().orElseThrow());
        blob.displayName().ifPresent(shown -> said.put("displayName", shown));
        return said;
      }
      default -> {
        return Map.of("names", files.listArtifactKeys(app, user, id).blockingGet().filenames());
      }
    }
  }

  private static List<List<String>> said(Session session) {
    return session.events().stream()
        .map(event -> List.of(event.author(), event.stringifyContent()))
        .filter(said -> !said.get(1).isEmpty())
        .toList();
  }

  private static Map<String, Integer> artifacts(Session session) {
    Map<String, Integer> artifacts = new LinkedHashMap<>();
    session.events().forEach(event -> artifacts.putAll(event.actions().artifactDelta()));
    return artifacts;
  }

  private static Event event(Map<String, Object> asked) {
    var seconds = new BigDecimal(asked.get("timestamp").toString());
    String author = Json.text(asked, "author");
    Map<String, Integer> artifacts = new LinkedHashMap<>();
    Json.object(asked.get("artifactDelta"))
        .forEach((name, version) -> artifacts.put(name, (Integer) version));
    return Event.builder()
        .id(Json.text(asked, "id"))
        .author(author)
        .invocationId(Json.text(asked, "invocationId"))
        .timestamp(seconds.movePointRight(3).longValue())
        .content(
            Content.builder()
                .role("user".equals(author) ? "user" : "model")
                .parts(Part.fromText(Json.text(asked, "text")))
                .build())
        .actions(
            EventActions.builder()
                .stateDelta(Json.object(asked.get("stateDelta")))
                .artifactDelta(artifacts)
                .build())
        .build();
  }
}
