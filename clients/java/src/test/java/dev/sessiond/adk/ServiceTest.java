package dev.sessiond.adk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.adk.events.Event;
import com.google.adk.events.EventActions;
import com.google.adk.sessions.GetSessionConfig;
import com.google.adk.sessions.Session;
import com.google.adk.sessions.SessionKey;
import com.google.adk.sessions.SessionNotFoundException;
import com.google.adk.sessions.State;
import com.google.genai.types.Content;
import com.google.genai.types.FunctionCall;
import com.google.genai.types.Part;
import io.reactivex.rxjava3.schedulers.Schedulers;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What ADK asks of a session service, and what the README promises beyond that. */
class ServiceTest extends SessionTest {

  private Session create(Map<String, Object> state, String id) {
    return service.createSession(app, "ada", state, id).blockingGet();
  }

  private Session load(String id) {
    return service.getSession(app, "ada", id, Optional.empty()).blockingGet();
  }

  // The cases of ADK's in-memory service.

  @Test
  void whereNothingIsNothingIsFound() {
    assertNull(load("none"));
    assertTrue(service.listSessions(app, "ada").blockingGet().sessions().isEmpty());
    assertTrue(service.listEvents(app, "ada", "none").blockingGet().events().isEmpty());
    service.deleteSession(app, "ada", "none").blockingAwait();
  }

  @Test
  void aSessionIsCreatedWithAnIdOfItsOwnAndRead() {
    Session session = service.createSession(app, "ada").blockingGet();
    assertFalse(session.id().isBlank());
    assertEquals(app, session.appName());
    assertEquals("ada", session.userId());
    assertTrue(session.state().isEmpty());
    assertNotEquals(session.id(), service.createSession(app, "ada").blockingGet().id());
    Session read = service.getSession(session.sessionKey(), null).blockingGet();
    assertEquals(session.id(), read.id());
    assertEquals(session.lastUpdateTime(), read.lastUpdateTime());
  }

  @Test
  void allOverloadsCreate() {
    var state = new ConcurrentHashMap<String, Object>(Map.of("k", "v"));
    @SuppressWarnings("deprecation")
    Session concurrent = service.createSession(app, "ada", state, "one").blockingGet();
    assertEquals("v", concurrent.state().get("k"));
    var key = new SessionKey(app, "ada", "two");
    assertEquals("v", service.createSession(key, Map.of("k", "v")).blockingGet().state().get("k"));
    assertEquals(
        "three", service.createSession(new SessionKey(app, "ada", "three")).blockingGet().id());
  }

  @Test
  void sessionsAreListedWithStateAndWithoutEvents() {
    Session session = create();
    append(
        session, Events.delta(Map.of("own", 1, "app:shared", 2, "user:hers", 3, "temp:gone", 4)));
    service.createSession(app, "bob", Map.of(), "other").blockingGet();
    var listed = service.listSessions(app, "ada").blockingGet();
    assertEquals(List.of("s"), listed.sessionIds());
    assertTrue(listed.sessions().get(0).events().isEmpty());
    assertEquals(
        Map.of("own", 1, "app:shared", 2, "user:hers", 3), listed.sessions().get(0).state());
  }

  @Test
  void aDeletedSessionIsGoneAndOthersStay() {
    create(Map.of("user:name", "Ada"), "one");
    create(Map.of(), "two");
    service.deleteSession(app, "ada", "one").blockingAwait();
    assertNull(load("one"));
    assertEquals(Map.of("user:name", "Ada"), load("two").state());
  }

  @Test
  void anAppendedEventChangesTheSessionObjectAndTheStore() {
    Session session = create(Map.of("kept", true));
    Event event = Events.delta(Map.of("own", "v", "app:a", List.of(1), "user:u", Map.of("x", 1)));
    assertSame(event, service.appendEvent(session, event).blockingGet());
    Map<String, Object> expected =
        Map.of("kept", true, "own", "v", "app:a", List.of(1), "user:u", Map.of("x", 1));
    assertEquals(expected, session.state());
    assertEquals(List.of(event), session.events());
    Session read = load();
    assertEquals(expected, read.state());
    assertEquals(event.id(), read.events().get(0).id());
    assertEquals(session.lastUpdateTime(), read.lastUpdateTime());
  }

  @Test
  void removedKeysAreGoneFromEveryScope() {
    Session session = create(Map.of("own", 1, "app:a", 1, "user:u", 1, "kept", 1));
    EventActions actions = new EventActions();
    for (String key : List.of("own", "app:a", "user:u", "absent")) {
      actions.removeStateByKey(key);
    }
    append(session, Events.event().actions(actions).build());
    assertEquals(Map.of("kept", 1), session.state());
    assertEquals(Map.of("kept", 1), load().state());
    assertEquals(Map.of("kept", 1), server.get(path + "/state"));
    Map<String, Object> delta = load().events().get(0).actions().stateDelta();
    assertSame(State.REMOVED, delta.get("own"));
    assertSame(State.REMOVED, delta.get("app:a"));
  }

  @Test
  void lastUpdateTimeIsTheEventsTimestampInMilliseconds() {
    Session session = create();
    append(session, Events.event().timestamp(5500).build());
    assertEquals(Instant.ofEpochSecond(5, 500_000_000), session.lastUpdateTime());
    assertEquals(session.lastUpdateTime(), load().lastUpdateTime());
    assertEquals(5500, load().events().get(0).timestamp());
    assertEquals(5.5, server.get(path).get("lastUpdateTime"));
  }

  @Test
  void tempStateIsSharedWithinARunAndNeverStored() {
    Session session = create(Map.of("temp:no", 1));
    assertTrue(session.state().isEmpty());
    append(session, Events.delta(Map.of("temp:one", "data", "k", 1)));
    assertEquals("data", session.state().get("temp:one"));
    Map<String, Object> second = new HashMap<>();
    second.put("temp:two", "more");
    second.put("temp:one", State.REMOVED);
    append(session, Events.delta(second));
    assertEquals(Map.of("temp:two", "more", "k", 1), session.state());
    assertEquals(Map.of("k", 1), load().state());
    assertFalse(server.ask("GET", path, null).body().contains("temp:"));
  }

  @Test
  void bothFiltersLimitTheEvents() {
    Session session = create();
    for (long at : new long[] {100, 200, 300, 400, 500}) {
      append(session, Events.event().timestamp(at).build());
    }
    var recent = GetSessionConfig.builder().numRecentEvents(4);
    assertEquals(List.of(200L, 300L, 400L, 500L), times(load(recent.build())));
    var both = recent.afterTimestamp(Instant.ofEpochMilli(300)).build();
    assertEquals(List.of(300L, 400L, 500L), times(load(both)));
    var after = GetSessionConfig.builder().afterTimestamp(Instant.ofEpochSecond(0, 300_000_001));
    assertEquals(List.of(400L, 500L), times(load(after.build())));
    assertEquals(List.of(), times(load(recent(0))));
    assertEquals(422, refused(() -> load(recent(-1))).status());
  }

  private static List<Long> times(Session session) {
    return session.events().stream().map(Event::timestamp).toList();
  }

  // Beyond that.

  @Test
  void whiteSpaceAroundAnIdIsNotPartOfIt() {
    assertEquals("s", create(null, "  s ").id());
    assertEquals("s", load(" s").id());
    assertFalse(create(null, "  ").id().isBlank());
    assertNull(load(" "));
  }

  @Test
  void anExistingSessionIsNotCreatedAgain() {
    create(Map.of("k", 1));
    var error = refused(() -> create(Map.of("k", 2)));
    assertEquals(409, error.status());
    assertEquals("session_already_exists", error.code().orElseThrow());
    assertEquals("not_applied", error.outcome().orElseThrow());
    assertTrue(error.requestId().isPresent());
    assertTrue(error.getMessage().contains("POST " + server.url()), error.getMessage());
    assertEquals(Map.of("k", 1), load().state());
  }

  @Test
  void aSecondSubscriptionCreatesNoSecondSession() {
    var created = service.createSession(app, "ada", Map.of(), null);
    assertEquals(created.blockingGet().id(), created.blockingGet().id());
    assertEquals(1, service.listSessions(app, "ada").blockingGet().sessions().size());
  }

  @Test
  void anAppendToNoSessionIsAdksError() {
    Session session = create();
    service.deleteSession(app, "ada", "s").blockingAwait();
    var error =
        assertThrows(SessionNotFoundException.class, () -> append(session, Events.text("hi")));
    assertEquals(404, ((SessiondException) error.getCause()).status());
    assertTrue(session.events().isEmpty());
  }

  @Test
  void aPartialEventIsNotSent() {
    Session session = create();
    Event event = Events.event().partial(true).build();
    assertSame(event, service.appendEvent(session, event).blockingGet());
    assertTrue(session.events().isEmpty());
    assertTrue(load().events().isEmpty());
  }

  @Test
  void anEventIsAppendedOnce() {
    Session session = create();
    var append = service.appendEvent(session, Events.delta(Map.of("k", 1)));
    append.blockingGet();
    append.blockingGet();
    assertEquals(1, session.events().size());
    assertEquals(1, load().events().size());
    // Also through another session object, which did not know it.
    Session other = load(recent(0));
    append(other, session.events().get(0));
    assertEquals(1, other.events().size());
    assertEquals(1, load().events().size());
  }

  @Test
  void anotherEventOfTheSameIdIsRefused() {
    Session session = create();
    Event first = Events.text("first");
    append(session, first);
    Event second = Events.text("second");
    second.setId(first.id());
    var error = refused(() -> append(session, second));
    assertEquals("event_id_conflict", error.code().orElseThrow());
    assertEquals(1, session.events().size());
  }

  @Test
  void anEventWithoutAnIdGetsOne() {
    Session session = create();
    Event event = Event.builder().build();
    append(session, event);
    assertEquals(event.id(), load().events().get(0).id());
  }

  @Test
  void aRefusedEventLeavesTheSessionObjectAsItWas() {
    Session session = create(Map.of("k", 1));
    Instant before = session.lastUpdateTime();
    Event event = Events.delta(Map.of("k", 2, "x".repeat(600), 1));
    assertEquals(422, refused(() -> append(session, event)).status());
    assertEquals(Map.of("k", 1), session.state());
    assertTrue(session.events().isEmpty());
    assertEquals(before, session.lastUpdateTime());
  }

  @Test
  void whatIsNoJsonIsRefusedBeforeItIsSent() {
    Session session = create();
    for (Object value : List.of(Double.NaN, Double.NEGATIVE_INFINITY)) {
      Event event = Events.delta(Map.of("k", value));
      assertThrows(IllegalArgumentException.class, () -> append(session, event));
    }
    // The server refuses half a character.
    Event half = Events.delta(Map.of("k", "\ud800"));
    assertEquals(422, refused(() -> append(session, half)).status());
    assertTrue(load().events().isEmpty());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "a/b",
        "a?b=c#d",
        "50%",
        "%2F",
        "a b",
        "日本語",
        "\ud83c\udf75",
        "é",
        "e\u0301",
        "a+b",
        "..a",
        "[x];:@&=$,'\"\\"
      })
  void awkwardIdsAreKept(String name) {
    Session session =
        service.createSession(app + name, name, Map.of("k", name), name).blockingGet();
    assertEquals(name, session.id());
    Event event = Events.text(name);
    event.setId(name);
    append(session, event);
    Session read = service.getSession(app + name, name, name, Optional.empty()).blockingGet();
    assertEquals(name, read.id());
    assertEquals(name, read.userId());
    assertEquals(app + name, read.appName());
    assertEquals(name, read.events().get(0).id());
    assertEquals(Map.of("k", name), read.state());
    assertEquals(List.of(name), service.listSessions(app + name, name).blockingGet().sessionIds());
    service.deleteSession(app + name, name, name).blockingAwait();
    assertTrue(service.listSessions(app + name, name).blockingGet().sessions().isEmpty());
  }

  @ParameterizedTest
  @ValueSource(strings = {".", "..", "", "a\u0000b"})
  void idsThatAreNoneAreRefused(String name) {
    var error = refused(() -> service.createSession(app, name, Map.of(), "s").blockingGet());
    assertEquals(Optional.of("invalid_argument"), error.code());
  }

  @Test
  void namesThatAreNoneAreRefusedBeforeAnythingIsSent() throws IOException {
    Map<String, Object> names = Json.object(Files.readAllBytes(Path.of("../wire/names.json")));
    Map<String, Object> of = Json.object(names.get("of"));
    List<Object> refused = new ArrayList<>(Json.list(names.get("refused")));
    refused.add(
        Map.of(
            "name", "half \ud83d",
            "because", "has half of a character: a surrogate without its partner"));
    Map<String, Object> none = new HashMap<>();
    none.put("name", null);
    none.put("because", "is null: it has to be a text");
    refused.add(none);
    // Nobody answers there.
    try (var nobody = client("http://127.0.0.1:1").retryFor(Duration.ZERO).build()) {
      var files = nobody.artifacts();
      Part part = Part.fromText("x");
      Map<String, List<Consumer<String>>> calls =
          Map.of(
              "app",
              List.of(
                  name -> nobody.createSession(name, "u", Map.of(), "s").blockingGet(),
                  name -> nobody.getSession(name, "u", "s", Optional.empty()).blockingGet(),
                  name -> nobody.listSessions(name, "u").blockingGet(),
                  name -> nobody.deleteSession(name, "u", "s").blockingAwait(),
                  name -> nobody.listEvents(name, "u", "s").blockingGet(),
                  name -> nobody.watch(name, "u", "s").blockingFirst(),
                  name -> files.loadArtifact(name, "u", "s", "f", null).blockingGet()),
              "user",
              List.of(
                  name -> nobody.createSession("a", name, Map.of(), "s").blockingGet(),
                  name -> nobody.getSession("a", name, "s", Optional.empty()).blockingGet(),
                  name -> nobody.listSessions("a", name).blockingGet(),
                  name -> nobody.watch("a", name, "s").blockingFirst(),
                  name -> files.listArtifactKeys("a", name, "s").blockingGet()),
              "session",
              List.of(
                  name -> nobody.getSession("a", "u", name, Optional.empty()).blockingGet(),
                  name -> nobody.deleteSession("a", "u", name).blockingAwait(),
                  name -> nobody.listEvents("a", "u", name).blockingGet(),
                  name -> nobody.watch("a", "u", name).blockingFirst(),
                  name -> files.saveArtifact("a", "u", name, "f", part).blockingGet()),
              "file",
              List.of(
                  name -> files.saveArtifact("a", "u", "s", name, part).blockingGet(),
                  name ->
                      files.saveArtifact("a", "u", "s", name, Part.fromBytes(new byte[1], "a/b")),
                  name -> files.loadArtifact("a", "u", "s", name, null).blockingGet(),
                  name -> files.listVersions("a", "u", "s", name).blockingGet(),
                  name -> files.deleteArtifact("a", "u", "s", name).blockingAwait()));
      calls.forEach(
          (what, each) -> {
            for (Object one : refused) {
              String name = (String) Json.object(one).get("name");
              // Sessions of that name are what ADK says that there is none of.
              boolean blank = what.equals("session") && "".equals(name);
              for (Consumer<String> call : blank ? List.<Consumer<String>>of() : each) {
                var error = refused(() -> call.accept(name));
                assertEquals(
                    "The " + of.get(what) + " " + Json.object(one).get("because") + ".",
                    error.getMessage());
                assertEquals(0, error.status());
                assertEquals(Optional.of("invalid_argument"), error.code());
                assertEquals(Optional.of("not_applied"), error.outcome());
              }
            }
          });
      for (String blank : List.of("", " ", "\t\u00a0\u2003")) {
        assertNull(nobody.getSession("a", "u", blank, Optional.empty()).blockingGet());
        refused(() -> nobody.watch("a", "u", blank).blockingFirst());
      }
    }
  }

  @Test
  void awkwardValuesAreKept() {
    Map<String, Object> nested = new LinkedHashMap<>();
    nested.put("null", null);
    nested.put("list", Arrays.asList(1, null, "x", Map.of()));
    Map<String, Object> state = new LinkedHashMap<>();
    state.put("nested", nested);
    state.put("zero", "a\u0000b");
    state.put("text", "\ud83c\udf75 \"\\\n");
    state.put("", "empty");
    state.put(":", "colon");
    state.put("Temp:x", 1);
    state.put("app:", "named by nothing");
    state.put("no", false);
    Session session = create(state);
    assertEquals(state, session.state());
    Event event = Events.delta(new HashMap<>(Map.of("again", nested)));
    append(session, event);
    assertEquals(nested, load().state().get("again"));
    assertEquals(nested, load().events().get(0).actions().stateDelta().get("again"));
  }

  @Test
  void numbersKeepTheirDigits() {
    Map<String, Object> numbers =
        Map.of(
            "int",
            7,
            "long",
            9007199254740993L,
            "big",
            BigInteger.TWO.pow(200).negate(),
            "exact",
            new BigDecimal("0.1234567890123456789012345"),
            "tiny",
            new BigDecimal("1E-400"),
            "double",
            0.1,
            "minus zero",
            -0.0,
            "whole",
            1.0);
    Session session = create(numbers);
    assertEquals(numbers, session.state());
    append(session, Events.delta(Map.of("more", List.of(BigInteger.TEN.pow(300), 0.5))));
    assertEquals(List.of(BigInteger.TEN.pow(300), 0.5), load().state().get("more"));
    assertTrue(server.ask("GET", path + "/state", null).body().contains("9007199254740993"));
  }

  @Test
  void digitsInArgumentsOfFunctionsAreKept() {
    Session session = create();
    Map<String, Object> args = Map.of("n", BigInteger.TWO.pow(80), "d", 0.25);
    Part call =
        Part.builder().functionCall(FunctionCall.builder().name("f").args(args).build()).build();
    append(session, Events.event().content(Content.fromParts(call)).build());
    assertEquals(args, load().events().get(0).functionCalls().get(0).args().orElseThrow());
  }

  @Test
  void aNullThatIsStoredIsAbsentInAdksState() {
    Map<String, Object> state = new HashMap<>();
    state.put("k", null);
    Session session = create(state);
    assertTrue(session.state().isEmpty());
    assertEquals(state, server.get(path + "/state"));
  }

  @Test
  void manyEventsAreReadInOrder() {
    Session session = create();
    String events =
        IntStream.range(0, 1000)
            .mapToObj(i -> "{\"id\": \"%d\", \"author\": \"a\"}".formatted(i))
            .reduce((one, other) -> one + "," + other)
            .orElseThrow();
    post("[" + events + "]");
    append(session, Events.text("last"));
    List<String> ids = ids(load());
    assertEquals(1001, ids.size());
    assertEquals("999", ids.get(999));
    assertEquals(ids, ids(service.listEvents(app, "ada", "s").blockingGet().events()));
  }

  @Test
  void concurrentWritersLoseNothing() {
    create();
    Session shared = load();
    List<io.reactivex.rxjava3.core.Single<Event>> appends = new ArrayList<>();
    for (int i = 0; i < 30; i++) {
      // Some through one session object, some through objects of their own.
      Session through = i % 2 == 0 ? shared : load();
      appends.add(
          service
              .appendEvent(through, Events.delta(Map.of("app:k" + i, i)))
              .subscribeOn(Schedulers.io()));
    }
    io.reactivex.rxjava3.core.Single.mergeDelayError(appends).ignoreElements().blockingAwait();
    Session read = load();
    assertEquals(30, read.events().size());
    assertEquals(30, read.state().size());
    List<String> through = new ArrayList<>(ids(read));
    through.retainAll(ids(shared));
    assertEquals(through, ids(shared));
  }

  @Test
  void eventsOfOthersAreReadable() {
    create();
    String events =
        """
        [{"id": "strange", "author": "a", "timestamp": 1700000000.1239, "content": "no content",
          "customMetadata": {"trace": "x", "n": 1}, "actions": {"escalate": [1]}},
         {"id": "future", "author": "a", "timestamp": "2026-01-01T00:00:00.5Z", "unknown": 1,
          "actions": {"agentState": {"x": 1}}}]
        """;
    post(events);
    Session read = load();
    Event strange = read.events().get(0);
    assertEquals(1700000000123L, strange.timestamp());
    assertTrue(strange.content().isEmpty());
    assertTrue(strange.errorMessage().orElseThrow().contains("content"));
    Map<String, String> metadata = new HashMap<>();
    strange
        .customMetadata()
        .orElseThrow()
        .forEach(
            entry -> metadata.put(entry.key().orElseThrow(), entry.stringValue().orElseThrow()));
    assertEquals("x", metadata.get("trace"));
    assertEquals("1", metadata.get("n"));
    assertEquals("no content", metadata.get("sessiond_refused.content"));
    assertEquals("[1]", metadata.get("sessiond_refused.actions.escalate"));
    assertEquals(
        Instant.parse("2026-01-01T00:00:00.500Z").toEpochMilli(), read.events().get(1).timestamp());
  }

  @Test
  void anEventOfAnotherLanguageIsRecognised() {
    Session session = create();
    // As the Python client writes it.
    String event =
        """
        {"content":{"parts":[{"text":"hi"}],"role":"user"},"invocationId":"inv","author":"user",
         "actions":{"stateDelta":{"k":1},"artifactDelta":{},"requestedAuthConfigs":{},
         "requestedToolConfirmations":{}},"id":"e","timestamp":1700000000.0}
        """;
    post(event);
    Event same =
        Event.builder()
            .id("e")
            .author("user")
            .invocationId("inv")
            .timestamp(1700000000000L)
            .content(Content.builder().role("user").parts(Part.fromText("hi")).build())
            .actions(EventActions.builder().stateDelta(Map.of("k", 1)).build())
            .build();
    append(session, same);
    assertEquals(1, load().events().size());
    assertEquals(Map.of("k", 1), session.state());
  }

  @Test
  void workRunsOnTheIoScheduler() {
    String thread =
        service
            .createSession(app, "ada")
            .subscribeOn(Schedulers.computation())
            .map(session -> Thread.currentThread().getName())
            .blockingGet();
    assertTrue(thread.startsWith("RxCachedThreadScheduler"), thread);
  }

  @Test
  void toSubscribeToAnAppendReturnsWhenItIsStored() {
    Session session = create();
    String thread =
        service
            .appendEvent(session, Events.text("x"))
            .map(event -> Thread.currentThread().getName())
            .test()
            .assertComplete()
            .values()
            .get(0);
    assertEquals(Thread.currentThread().getName(), thread);
    // But for threads that must not wait.
    String other =
        service
            .appendEvent(session, Events.text("y"))
            .map(event -> Thread.currentThread().getName())
            .subscribeOn(Schedulers.computation())
            .blockingGet();
    assertTrue(other.startsWith("RxCachedThreadScheduler"), other);
    assertEquals(2, load().events().size());
  }

  @Test
  void whatWasTakenBackIsLeftOut() {
    Session session = create(Map.of("k", 0));
    for (int turn = 1; turn <= 3; turn++) {
      append(session, said("i" + turn, turn));
    }
    rewind("i2");
    append(load(), said("i4", 4));
    assertEquals(List.of("i1", "i4"), ids(load()));
    assertEquals(Map.of("k", 4), load().state());
    for (int recent : List.of(1, 2, 9)) {
      List<String> last = recent == 1 ? List.of("i4") : List.of("i1", "i4");
      assertEquals(last, ids(load(recent(recent))));
    }
    var since = GetSessionConfig.builder().afterTimestamp(Instant.ofEpochSecond(2)).build();
    assertEquals(List.of("i4"), ids(load(since)));
    // All that is stored is the log.
    assertEquals(5, service.listEvents(app, "ada", "s").blockingGet().events().size());
    // It has seen all events of the store, so it may be appended to.
    try (var strict = server.client().concurrency(Concurrency.SESSION).build()) {
      append(strict, load(strict), said("i5", 5));
    }
    // One that waits for its turn sees no more what is taken back meanwhile.
    try (var leased = server.client().concurrency(Concurrency.LEASE).build()) {
      Session waiting = load(leased);
      rewind("i1");
      append(leased, waiting, said("i6", 6));
      assertEquals(List.of("i6"), ids(waiting));
      assertEquals(Map.of("k", 6), waiting.state());
    }
    assertEquals(List.of("i6"), ids(load()));
  }

  private static Event said(String invocation, int k) {
    return Events.event()
        .id(invocation)
        .invocationId(invocation)
        .timestamp(k * 1000L)
        .actions(EventActions.builder().stateDelta(Map.of("k", k)).build())
        .build();
  }

  private void rewind(String invocation) {
    String body = "{\"beforeInvocationId\": \"%s\"}".formatted(invocation);
    assertEquals(200, server.ask("POST", path + "/rewind", body).statusCode());
  }
}
