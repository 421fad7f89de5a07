package dev.sessiond.adk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.adk.events.Event;
import com.google.adk.events.EventActions;
import com.google.adk.sessions.GetSessionConfig;
import com.google.adk.sessions.Session;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Sessions without what compactions cover. */
class HistoryTest {
  private final Server server = Server.shared();
  private final String app = Server.app();
  private final SessiondSessionService effective = service(Concurrency.NONE);

  private SessiondSessionService service(Concurrency concurrency) {
    return server.client().history(History.EFFECTIVE).concurrency(concurrency).build();
  }

  /** A session of six events, of which the fifth sums up the first three. */
  @BeforeEach
  void compact() {
    effective.createSession(app, "ada", Map.of(), "s").blockingGet();
    String event =
        "{\"id\":\"e%1$d\",\"author\":\"user\",\"timestamp\":%2$d,\"actions\":{\"stateDelta\":{\"n\":%1$d}}}";
    for (int n = 0; n < 4; n++) {
      append(event.formatted(n, 1000 + n));
    }
    append(summary("c", 1000, 1002));
    append(event.formatted(5, 1005));
  }

  private static String summary(String id, int start, int end) {
    return """
        {"id": "%s", "author": "user", "timestamp": %d, "actions": {"compaction": {"startTimestamp": %d,
        "endTimestamp": %d, "compactedContent": {"role": "model", "parts": [{"text": "in short"}]}}}}
        """
        .formatted(id, end + 2, start, end);
  }

  private void append(String body) {
    var answer = server.ask("POST", Server.session(app, "ada", "s") + "/events", body);
    assertEquals(201, answer.statusCode(), answer.body());
  }

  private Session load(SessiondSessionService service, GetSessionConfig config) {
    return service.getSession(app, "ada", "s", Optional.ofNullable(config)).blockingGet();
  }

  private static List<String> ids(Session session) {
    return session.events().stream().map(Event::id).toList();
  }

  private static Event event(String id, int n) {
    return Event.builder()
        .id(id)
        .author("user")
        .invocationId(id)
        .timestamp(2_000_000L + n)
        .actions(EventActions.builder().stateDelta(new ConcurrentHashMap<>(Map.of("n", n))).build())
        .build();
  }

  @Test
  void whatIsCoveredIsNotLoaded() {
    assertEquals(List.of("e3", "c", "e5"), ids(load(effective, null)));
    assertEquals(5, load(effective, null).state().get("n"));
    var one = GetSessionConfig.builder().numRecentEvents(1).build();
    assertEquals(List.of("e5"), ids(load(effective, one)));
    assertEquals(6, load(server.client().build(), null).events().size());
  }

  @Test
  void aStaleSessionObjectIsRefused() {
    var strict = service(Concurrency.SESSION);
    Session session = load(strict, null);
    strict.appendEvent(session, event("mine", 6)).blockingGet();
    append(summary("all", 1000, 1006));
    assertThrows(
        StaleSessionException.class,
        () -> strict.appendEvent(session, event("late", 7)).blockingGet());
    Session again = load(strict, null);
    assertEquals(List.of("mine", "all"), ids(again));
    strict.appendEvent(again, event("late", 7)).blockingGet();
  }

  @Test
  void whatIsCoveredIsNotAppliedAgain() {
    effective.appendEvent(load(effective, null), event("mine", 6)).blockingGet();
    effective.appendEvent(load(effective, null), event("next", 7)).blockingGet();
    append(summary("all", 1000, 2001));
    Session session = load(effective, null);
    effective.appendEvent(session, event("mine", 6)).blockingGet();
    assertEquals(7, session.state().get("n"));
    assertEquals(List.of("all"), ids(session));
  }

  @Test
  void aTurnSeesWhatWasCompactedMeanwhile() {
    var turns = service(Concurrency.LEASE);
    Session session = load(turns, null);
    append(summary("all", 1000, 1006));
    turns.appendEvent(session, event("mine", 6)).blockingGet();
    assertEquals(List.of("all", "mine"), ids(session));
    turns.close();
  }
}
