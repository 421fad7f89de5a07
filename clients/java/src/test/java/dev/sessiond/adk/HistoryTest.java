package dev.sessiond.adk;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.adk.events.Event;
import com.google.adk.events.EventActions;
import com.google.adk.sessions.Session;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Sessions without what compactions cover. */
class HistoryTest extends SessionTest {
  private final SessiondSessionService effective = service(Concurrency.NONE);

  private SessiondSessionService service(Concurrency concurrency) {
    return server.client().history(History.EFFECTIVE).concurrency(concurrency).build();
  }

  /** A session of six events, of which the fifth sums up the first three, and 100 more. */
  @BeforeEach
  void compact() {
    create();
    String event =
        "{\"id\":\"e%1$d\",\"author\":\"user\",\"timestamp\":%2$d,\"actions\":{\"stateDelta\":{\"n\":%1$d}}}";
    for (int n = 0; n < 4; n++) {
      post(event.formatted(n, 1000 + n));
    }
    post(summary("c", 1000, 1002));
    String more =
        IntStream.range(5, 106)
            .mapToObj(n -> event.formatted(n, 1000 + n))
            .collect(Collectors.joining(",", "[", "]"));
    post(more);
  }

  private static String summary(String id, int start, int end) {
    return """
        {"id": "%s", "author": "user", "timestamp": %d, "actions": {"compaction": {"startTimestamp": %d,
        "endTimestamp": %d, "compactedContent": {"role": "model", "parts": [{"text": "in short"}]}}}}
        """
        .formatted(id, end + 2, start, end);
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
    assertEquals(List.of("e3", "c", "e5"), ids(load(effective)).subList(0, 3));
    assertEquals(103, load(effective).events().size());
    assertEquals(105, load(effective).state().get("n"));
    assertEquals(List.of("c", "e5"), ids(load(effective, recent(102))).subList(0, 2));
    assertEquals(106, load().events().size());
    // The last ones are there, also if they are covered.
    post(summary("all", 1000, 1200));
    assertEquals(100, load(effective).events().size());
    assertEquals("e7", ids(load(effective)).get(0));
    assertEquals(List.of("all"), ids(load(effective, recent(102))));
  }

  @Test
  void aStaleSessionObjectIsRefused() {
    var strict = service(Concurrency.SESSION);
    Session session = load(strict);
    append(strict, session, event("mine", 106));
    post(summary("all", 1000, 1200));
    stale(() -> append(strict, session, event("late", 107)));
    Session again = load(strict);
    assertEquals(List.of("mine", "all"), ids(again).subList(98, 100));
    append(strict, again, event("late", 107));
  }

  @Test
  void whatIsCoveredIsNotAppliedAgain() {
    append(effective, load(effective), event("mine", 106));
    append(effective, load(effective), event("next", 107));
    post(summary("all", 1000, 2001));
    Session session = load(effective, recent(9));
    append(effective, session, event("mine", 106));
    assertEquals(107, session.state().get("n"));
    assertEquals(List.of("all"), ids(session));
  }

  @Test
  void aTurnSeesWhatWasCompactedMeanwhile() {
    var turns = service(Concurrency.LEASE);
    Session session = load(turns);
    post(summary("all", 1000, 1200));
    append(turns, session, event("mine", 106));
    assertEquals(List.of("all", "mine"), ids(session).subList(99, 101));
    assertEquals("e7", ids(session).get(0));
    turns.close();
  }
}
