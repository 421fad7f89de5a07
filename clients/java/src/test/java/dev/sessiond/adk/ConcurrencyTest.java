package dev.sessiond.adk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.adk.events.Event;
import com.google.adk.sessions.Session;
import io.reactivex.rxjava3.schedulers.Schedulers;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Several writers of one session. */
class ConcurrencyTest extends SessionTest {

  private SessiondSessionService.Builder leasing() {
    return server.client().concurrency(Concurrency.LEASE);
  }

  private static Event of(String invocation) {
    return Events.event().invocationId(invocation).build();
  }

  private Map<String, Object> lease() {
    return server.get(path + "/lease");
  }

  // Concurrency.SESSION.

  @Test
  void aStaleSessionObjectIsRefused() {
    var service = server.client().concurrency(Concurrency.SESSION).build();
    Session first = create(service, Map.of());
    Session second = load(service);
    append(service, first, of("one"));
    append(service, first, of("two"));
    var error = stale(() -> append(service, second, of("x")));
    assertEquals(412, error.status());
    assertEquals("revision_mismatch", error.code().orElseThrow());
    assertEquals("not_applied", error.outcome().orElseThrow());
    assertTrue(second.events().isEmpty());
    Session again = load(service);
    append(service, again, of("x"));
    assertEquals(3, load(service).events().size());
  }

  @Test
  void ofSeveralWritersOneAppends() {
    var service = server.client().concurrency(Concurrency.SESSION).build();
    create(service, Map.of());
    List<Session> loaded = List.of(load(service), load(service), load(service), load(service));
    long refused =
        loaded.stream()
            .map(
                session ->
                    service.appendEvent(session, of("x")).subscribeOn(Schedulers.io()).toFuture())
            .toList()
            .stream()
            .filter(
                append -> {
                  try {
                    append.get();
                    return false;
                  } catch (InterruptedException error) {
                    throw new IllegalStateException(error);
                  } catch (ExecutionException error) {
                    return error.getCause() instanceof StaleSessionException;
                  }
                })
            .count();
    assertEquals(3, refused);
    assertEquals(1, load(service).events().size());
  }

  @Test
  void aSessionObjectWithAFewEventsKnowsItsRevision() {
    var service = server.client().concurrency(Concurrency.SESSION).build();
    Session session = create(service, Map.of());
    append(service, session, of("one"));
    Session few = load(service, recent(0));
    append(service, few, of("two"));
    assertEquals(1, few.events().size());
  }

  @Test
  void aSessionObjectOfSomethingElseIsRefused() {
    var service = server.client().concurrency(Concurrency.SESSION).build();
    create(service, Map.of());
    Session made = Session.builder("s").appName(app).userId("ada").build();
    stale(() -> append(service, made, of("x")));
    assertTrue(load(service).events().isEmpty());
  }

  // Concurrency.LEASE.

  @Test
  void anInvocationHasTheSessionUntilItsTurnEnds() {
    var service = leasing().leaseWait(Duration.ZERO).build();
    Session one = create(service, Map.of());
    append(service, one, of("one"));
    append(service, one, of("one"));
    Session two = load(service);
    var busy = assertThrows(SessionBusyException.class, () -> append(service, two, of("two")));
    assertEquals("lease_held", busy.code().orElseThrow());
    assertEquals(lease().get("owner"), busy.owner().orElseThrow());
    assertTrue(busy.expireTime().isPresent());
    assertEquals(2, two.events().size());
    service.closeSession(one).blockingAwait();
    assertFalse(lease().containsKey("owner"));
    append(service, two, of("two"));
    assertEquals(3, load(service).events().size());
    service.close();
    assertFalse(lease().containsKey("owner"));
  }

  @Test
  void twoOfTheSameInvocationAreRivals() {
    var service = leasing().leaseWait(Duration.ZERO).build();
    Session one = create(service, Map.of());
    append(service, one, of("same"));
    Session two = load(service);
    assertThrows(SessionBusyException.class, () -> append(service, two, of("same")));
    service.close();
  }

  @Test
  void whoWaitedSeesWhatTheOtherDid() throws Exception {
    var service = leasing().build();
    var other = leasing().build();
    Session one = create(service, Map.of());
    Session two = load(other);
    append(service, one, of("one"));
    var waits = other.appendEvent(two, of("two")).subscribeOn(Schedulers.io()).toFuture();
    append(service, one, Events.delta(Map.of("k", 1)).toBuilder().invocationId("one").build());
    assertFalse(waits.isDone());
    service.closeSession(one).blockingAwait();
    waits.get(60, TimeUnit.SECONDS);
    assertEquals(Map.of("k", 1), two.state());
    assertEquals(
        List.of("one", "one", "two"), two.events().stream().map(Event::invocationId).toList());
    other.close();
  }

  @Test
  void theNextInvocationOfTheSameObjectEndsTheTurn() {
    var service = leasing().leaseWait(Duration.ZERO).build();
    Session session = create(service, Map.of());
    append(service, session, of("one"));
    append(service, session, of("two"));
    assertEquals(2, Json.number(lease(), "epoch"));
    service.close();
  }

  @Test
  void aTurnThatWasSupersededStoresNothingAnyMore() {
    var service = leasing().build();
    Session session = create(service, Map.of());
    append(service, session, of("one"));
    assertEquals(
        201,
        server
            .ask("POST", path + "/lease", "{\"owner\": \"thief\", \"steal\": true}")
            .statusCode());
    for (int i = 0; i < 2; i++) {
      var error = stale(() -> append(service, session, of("one")));
      assertEquals("fenced", error.code().orElseThrow());
      assertEquals(409, error.status());
    }
    assertEquals(1, load(service).events().size());
    service.close();
    assertEquals("thief", lease().get("owner"));
  }

  @Test
  void anEventWithoutAnInvocationTakesNoLease() {
    var service = leasing().build();
    Session session = create(service, Map.of());
    append(service, session, of(null));
    assertEquals(0, Json.number(lease(), "epoch"));
  }
}
