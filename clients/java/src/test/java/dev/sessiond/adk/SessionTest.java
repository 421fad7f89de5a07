package dev.sessiond.adk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.adk.events.Event;
import com.google.adk.sessions.GetSessionConfig;
import com.google.adk.sessions.Session;
import com.google.genai.types.Content;
import com.google.genai.types.Part;
import io.reactivex.rxjava3.core.Flowable;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.function.Executable;

/** What the tests of sessions share: a server, an app of their own, and its session {@code s}. */
abstract class SessionTest {
  static final Content HELLO = Content.fromParts(Part.fromText("hello"));

  final Server server = Server.shared();
  final SessiondSessionService service = server.client().build();
  final String app = Server.app();
  final String path = Server.session(app, "ada", "s");

  static SessiondSessionService.Builder client(String url) {
    return SessiondSessionService.builder().url(url).token("");
  }

  Session create(SessiondSessionService service, Map<String, Object> state) {
    return service.createSession(app, "ada", state, "s").blockingGet();
  }

  Session create(Map<String, Object> state) {
    return create(service, state);
  }

  Session create() {
    return create(Map.of());
  }

  Session load(SessiondSessionService service, GetSessionConfig config) {
    return service.getSession(app, "ada", "s", Optional.ofNullable(config)).blockingGet();
  }

  Session load(GetSessionConfig config) {
    return load(service, config);
  }

  Session load(SessiondSessionService service) {
    return load(service, null);
  }

  Session load() {
    return load(service);
  }

  static void append(SessiondSessionService service, Session session, Event event) {
    service.appendEvent(session, event).blockingGet();
  }

  void append(Session session, Event event) {
    append(service, session, event);
  }

  /** Appends events as another client, as JSON. */
  void post(String events) {
    var answer = server.ask("POST", path + "/events", events);
    assertEquals(201, answer.statusCode(), answer.body());
  }

  static GetSessionConfig recent(int events) {
    return GetSessionConfig.builder().numRecentEvents(events).build();
  }

  static List<String> ids(List<Event> events) {
    return events.stream().map(Event::id).toList();
  }

  static List<String> ids(Session session) {
    return ids(session.events());
  }

  static List<Event> run(Flowable<Event> events) {
    return events.timeout(60, TimeUnit.SECONDS).toList().blockingGet();
  }

  /** Asks for the error of the server, or of the way to it. */
  static SessiondException refused(Executable call) {
    return assertThrows(SessiondException.class, call);
  }

  static StaleSessionException stale(Executable call) {
    return assertThrows(StaleSessionException.class, call);
  }
}
