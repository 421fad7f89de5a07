package dev.sessiond.adk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.adk.events.Event;
import com.google.adk.sessions.Session;
import io.reactivex.rxjava3.core.Flowable;
import io.reactivex.rxjava3.subscribers.TestSubscriber;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Following a session. */
class WatchTest extends SessionTest {

  private void append(Session session, int from, int count) {
    for (int i = from; i < from + count; i++) {
      Event event = Events.text("text " + i);
      event.setId("e" + i);
      append(session, event);
    }
  }

  private static List<String> eventIds(List<WatchItem> items) {
    List<String> ids = new ArrayList<>();
    for (WatchItem item : items) {
      if (item instanceof WatchItem.EventItem event) {
        ids.add(event.event().id());
      }
    }
    return ids;
  }

  private static List<WatchItem> first(Flowable<WatchItem> watch, int events) {
    List<WatchItem> items = new ArrayList<>();
    int left = events;
    for (WatchItem item : watch.timeout(60, TimeUnit.SECONDS).blockingIterable(1)) {
      items.add(item);
      if (item instanceof WatchItem.EventItem && --left == 0) {
        return items;
      }
    }
    return items;
  }

  @Test
  void whatIsThereComesFirstAndThenWhatIsNew() {
    Session session = create();
    append(session, 1, 2);
    TestSubscriber<WatchItem> watch = service.watch(app, "ada", "s").test();
    watch.awaitCount(4);
    append(session, 3, 1);
    watch.awaitCount(5);
    watch.cancel();
    assertEquals(List.of("e1", "e2", "e3"), eventIds(watch.values()));
    assertTrue(
        watch.values().stream()
            .anyMatch(item -> item instanceof WatchItem.CaughtUp caught && caught.revision() == 2));
    var item = (WatchItem.EventItem) watch.values().get(0);
    assertEquals(1, item.sequence());
    assertEquals("text 1", item.event().stringifyContent());
    assertTrue(item.commitTime().isAfter(java.time.Instant.ofEpochSecond(1_600_000_000)));
    watch.assertNoErrors();
  }

  @Test
  void aCursorGoesOnBehindIt() {
    Session session = create();
    append(session, 1, 3);
    String cursor = first(service.watch(app, "ada", "s"), 2).get(1).cursor();
    for (String after : List.of(cursor, "2")) {
      assertEquals(List.of("e3"), eventIds(first(service.watch(app, "ada", "s", after, false), 1)));
    }
    TestSubscriber<WatchItem> watch = service.watch(app, "ada", "s", "now", false).test();
    watch.awaitCount(2);
    append(session, 4, 1);
    watch.awaitCount(3);
    watch.cancel();
    assertEquals(List.of("e4"), eventIds(watch.values()));
  }

  @Test
  void stateAndMetadataAreEmitted() {
    Session session = create(Map.of("k", 1, "app:a", 1));
    TestSubscriber<WatchItem> watch = service.watch(app, "ada", "s", null, true).test();
    watch.awaitCount(3);
    append(session, Events.delta(Map.of("app:a", 2)));
    watch.awaitCount(5);
    String patch = "{\"displayName\": \"Tea\", \"labels\": {\"a\": \"b\"}}";
    server.ask("PATCH", path, patch);
    watch.awaitCount(6);
    watch.cancel();
    List<WatchItem.StateChange> states = new ArrayList<>();
    List<WatchItem.MetadataChange> metadata = new ArrayList<>();
    for (WatchItem item : watch.values()) {
      if (item instanceof WatchItem.StateChange state) {
        states.add(state);
      } else if (item instanceof WatchItem.MetadataChange change) {
        metadata.add(change);
      }
    }
    assertEquals(Map.of("k", 1, "app:a", 1), states.get(0).state().orElseThrow());
    assertEquals(Map.of("app:a", 2), states.get(1).set());
    assertEquals(Optional.empty(), metadata.get(0).displayName());
    assertEquals(Optional.of("Tea"), metadata.get(1).displayName());
    assertEquals(Map.of("a", "b"), metadata.get(1).labels());
  }

  @Test
  void aDeletedSessionEndsTheWatch() {
    create();
    TestSubscriber<WatchItem> watch = service.watch(app, "ada", "s").test();
    watch.awaitCount(2);
    service.deleteSession(app, "ada", "s").blockingAwait();
    watch.awaitDone(60, TimeUnit.SECONDS);
    watch.assertComplete();
    var last = (WatchItem.Deleted) watch.values().get(watch.values().size() - 1);
    assertEquals("deleted", last.reason());
  }

  @Test
  void whatWouldComeAgainIsAnError() {
    Session session = create();
    append(session, 1, 2);
    TestSubscriber<WatchItem> gone = service.watch(app, "ada", "s", "9", false).test();
    gone.awaitDone(60, TimeUnit.SECONDS);
    gone.assertError(
        error ->
            error instanceof PositionGoneException position
                && position.revision() == 2
                && position.status() == 410);
    TestSubscriber<WatchItem> wrong = service.watch(app, "ada", "s", "x y", false).test();
    wrong.awaitDone(60, TimeUnit.SECONDS);
    wrong.assertError(
        error -> error instanceof SessiondException refused && refused.status() == 422);
  }

  @Test
  void aSlowSubscriberGetsWhatItAsksFor() throws InterruptedException {
    Session session = create();
    append(session, 1, 5);
    TestSubscriber<WatchItem> watch = service.watch(app, "ada", "s").test(2);
    watch.awaitCount(2);
    Thread.sleep(50);
    assertEquals(2, watch.values().size());
    watch.request(3);
    watch.awaitCount(5);
    Thread.sleep(50);
    assertEquals(5, watch.values().size());
    watch.cancel();
  }

  @Test
  void toDisposeClosesTheConnection() throws Exception {
    try (Server own = new Server("--max-watchers", "1")) {
      var one = own.client().build();
      one.createSession(app, "ada", Map.of(), "s").blockingGet();
      TestSubscriber<WatchItem> watch = one.watch(app, "ada", "s").test();
      watch.awaitCount(2);
      watch.cancel();
      // Its place is free again.
      assertFalse(first(one.watch(app, "ada", "s").take(1), 1).isEmpty());
    }
  }
}
