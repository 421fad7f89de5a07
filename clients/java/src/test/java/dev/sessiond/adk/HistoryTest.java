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
import java.util.stream.Collectors;
import java.util.stream.IntStream;
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

  /** A session of six events, of which the fifth sums up the first three, and 100 more. */
  @BeforeEach
  void compact() {
    effective.createSession(app, "ada", Map.of(), "s").blockingGet();
    String event =
        "{\"id\":\"e%1$d\",\"author\":\"user\",\"timestamp\":%2$d,\"actions\":{\"stateDelta\":{\"n\":%1$d}}}";
    for (int n = 0; n < 4; n++) {
      append(event.formatted(n, 1000 + n));
    }
    append(summary("c", 1000, 1002));
    String more =
        IntStream.range(5, 106)
            .mapToObj(n -> event.formatted(n, 1000 + n))
            .collect(Collectors.joining(",", "[", "]"));
    append(more);
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
    assertEquals(List.of("e3", "c", "e5"), ids(load(effective, null)).subList(0, 3));
    assertEquals(103, load(effective, null).events().size());
    assertEquals(105, load(effective, null).state().get("n"));
    var recent = GetSessionConfig.builder().numRecentEvents(102).build();
    assertEquals(List.of("c", "e5"), ids(load(effective, recent)).subList(0, 2));
    assertEquals(106, load(server.client().build(), null).events().size());
    // The last ones are there, also if they are covered.
    append(summary("all", 1000, 1200));
    assertEquals(100, load(effective, null).events().size());
    assertEquals("e7", ids(load(effective, null)).get(0));
    assertEquals(List.of("all"), ids(load(effective, recent)));
  }

  @Test
  void aStaleSessionObjectIsRefused() {
    var strict = service(Concurrency.SESSION);
    Session session = load(strict, null);
    strict.appendEvent(session, event("mine", 106)).blockingGet();
    append(summary("all", 1000, 1200));
    assertThrows(
        StaleSessionException.class,
        () -> strict.appendEvent(session, event("late", 107)).blockingGet());
    Session again = load(strict, null);
    assertEquals(List.of("mine", "all"), ids(again).subList(98, 100));
    strict.appendEvent(again, event("late", 107)).blockingGet();
  }

  @Test
  void whatIsCoveredIsNotAppliedAgain() {
    effective.appendEvent(load(effective, null), event("mine", 106)).blockingGet();
    effective.appendEvent(load(effective, null), event("next", 107)).blockingGet();
    append(summary("all", 1000, 2001));
    Session session = load(effective, GetSessionConfig.builder().numRecentEvents(9).build());
    effective.appendEvent(session, event("mine", 106)).blockingGet();
    assertEquals(107, session.state().get("n"));
    assertEquals(List.of("all"), ids(session));
  }

  @Test
  void aTurnSeesWhatWasCompactedMeanwhile() {
    var turns = service(Concurrency.LEASE);
    Session session = load(turns, null);
    append(summary("all", 1000, 1200));
    turns.appendEvent(session, event("mine", 106)).blockingGet();
    assertEquals(List.of("all", "mine"), ids(session).subList(99, 101));
    assertEquals("e7", ids(session).get(0));
    turns.close();
  }
}
