package dev.sessiond.adk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.adk.events.Event;
import com.google.adk.sessions.GetSessionConfig;
import com.google.adk.sessions.Session;
import io.reactivex.rxjava3.schedulers.Schedulers;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Several writers of one session. */
class ConcurrencyTest {
  private final Server server = Server.shared();
  private final String app = Server.app();

  private SessiondSessionService.Builder leasing() {
    return server.client().concurrency(Concurrency.LEASE);
  }

  private Session load(SessiondSessionService service) {
    return service.getSession(app, "ada", "s", Optional.empty()).blockingGet();
  }

  private Session create(SessiondSessionService service) {
    return service.createSession(app, "ada", Map.of(), "s").blockingGet();
  }

  private static Event of(String invocation) {
    return Event.builder()
        .id(UUID.randomUUID().toString())
        .author("agent")
        .invocationId(invocation)
        .build();
  }

  private Map<String, Object> lease() {
    return server.get(Server.session(app, "ada", "s") + "/lease");
  }

  // Concurrency.SESSION.

  @Test
  void aStaleSessionObjectIsRefused() {
    var service = server.client().concurrency(Concurrency.SESSION).build();
    Session first = create(service);
    Session second = load(service);
    service.appendEvent(first, of("one")).blockingGet();
    service.appendEvent(first, of("two")).blockingGet();
    var error =
        assertThrows(
            StaleSessionException.class, () -> service.appendEvent(second, of("x")).blockingGet());
    assertEquals(412, error.status());
    assertEquals("revision_mismatch", error.code().orElseThrow());
    assertEquals("not_applied", error.outcome().orElseThrow());
    assertTrue(second.events().isEmpty());
    Session again = load(service);
    service.appendEvent(again, of("x")).blockingGet();
    assertEquals(3, load(service).events().size());
  }

  @Test
  void ofSeveralWritersOneAppends() {
    var service = server.client().concurrency(Concurrency.SESSION).build();
    create(service);
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
    Session session = create(service);
    service.appendEvent(session, of("one")).blockingGet();
    var none = GetSessionConfig.builder().numRecentEvents(0).build();
    Session few = service.getSession(app, "ada", "s", Optional.of(none)).blockingGet();
    service.appendEvent(few, of("two")).blockingGet();
    assertEquals(1, few.events().size());
  }

  @Test
  void aSessionObjectOfSomethingElseIsRefused() {
    var service = server.client().concurrency(Concurrency.SESSION).build();
    create(service);
    Session made = Session.builder("s").appName(app).userId("ada").build();
    assertThrows(
        StaleSessionException.class, () -> service.appendEvent(made, of("x")).blockingGet());
    assertTrue(load(service).events().isEmpty());
  }

  // Concurrency.LEASE.

  @Test
  void anInvocationHasTheSessionUntilItsTurnEnds() {
    var service = leasing().leaseWait(Duration.ZERO).build();
    Session one = create(service);
    service.appendEvent(one, of("one")).blockingGet();
    service.appendEvent(one, of("one")).blockingGet();
    Session two = load(service);
    var busy =
        assertThrows(
            SessionBusyException.class, () -> service.appendEvent(two, of("two")).blockingGet());
    assertEquals("lease_held", busy.code().orElseThrow());
    assertEquals(lease().get("owner"), busy.owner().orElseThrow());
    assertTrue(busy.expireTime().isPresent());
    assertEquals(2, two.events().size());
    service.closeSession(one).blockingAwait();
    assertFalse(lease().containsKey("owner"));
    service.appendEvent(two, of("two")).blockingGet();
    assertEquals(3, load(service).events().size());
    service.close();
    assertFalse(lease().containsKey("owner"));
  }

  @Test
  void twoOfTheSameInvocationAreRivals() {
    var service = leasing().leaseWait(Duration.ZERO).build();
    Session one = create(service);
    service.appendEvent(one, of("same")).blockingGet();
    Session two = load(service);
    assertThrows(
        SessionBusyException.class, () -> service.appendEvent(two, of("same")).blockingGet());
    service.close();
  }

  @Test
  void whoWaitedSeesWhatTheOtherDid() throws Exception {
    var service = leasing().build();
    var other = leasing().build();
    Session one = create(service);
    Session two = load(other);
    service.appendEvent(one, of("one")).blockingGet();
    var waits = other.appendEvent(two, of("two")).subscribeOn(Schedulers.io()).toFuture();
    service
        .appendEvent(one, Events.delta(Map.of("k", 1)).toBuilder().invocationId("one").build())
        .blockingGet();
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
    Session session = create(service);
    service.appendEvent(session, of("one")).blockingGet();
    service.appendEvent(session, of("two")).blockingGet();
    assertEquals(2, Json.number(lease(), "epoch"));
    service.close();
  }

  @Test
  void aTurnThatWasSupersededStoresNothingAnyMore() {
    var service = leasing().build();
    Session session = create(service);
    service.appendEvent(session, of("one")).blockingGet();
    String path = Server.session(app, "ada", "s") + "/lease";
    assertEquals(
        201, server.ask("POST", path, "{\"owner\": \"thief\", \"steal\": true}").statusCode());
    for (int i = 0; i < 2; i++) {
      var error =
          assertThrows(
              StaleSessionException.class,
              () -> service.appendEvent(session, of("one")).blockingGet());
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
    Session session = create(service);
    service.appendEvent(session, of(null)).blockingGet();
    assertEquals(0, Json.number(lease(), "epoch"));
  }
}
