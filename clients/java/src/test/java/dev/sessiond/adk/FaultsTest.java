package dev.sessiond.adk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.adk.events.Event;
import com.google.adk.sessions.Session;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.TraceFlags;
import io.opentelemetry.api.trace.TraceState;
import io.reactivex.rxjava3.schedulers.Schedulers;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Networks and servers that fail. */
class FaultsTest {
  private static final String UNAVAILABLE =
      """
      {"status": 503, "code": "storage_unavailable", "detail": "later", "outcome": "%s", "requestId": "r1"}
      """;

  private final Server server = Server.shared();
  private final String app = Server.app();

  private static SessiondSessionService.Builder client(String url) {
    return SessiondSessionService.builder().url(url).token("");
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 3})
  void aLostAnswerLosesAndDoublesNothing(int lost) throws IOException {
    try (Proxy proxy = new Proxy(server.port())) {
      var service = client(proxy.url()).build();
      Session session = service.createSession(app, "ada", Map.of(), "s").blockingGet();
      proxy.loseAnswers.set(lost);
      service.appendEvent(session, Events.delta(Map.of("k", 1))).blockingGet();
      assertEquals(0, proxy.loseAnswers.get());
      assertEquals(1, session.events().size());
      assertEquals(Map.of("k", 1), session.state());
      proxy.loseAnswers.set(lost);
      Map<String, Object> sum =
          service
              .applyOps(session, List.of(Op.increment("app:n", 1)), List.of(), "a", "")
              .blockingGet();
      assertEquals(Map.of("app:n", 1), sum);
      assertEquals(2, session.events().size());
      proxy.loseRequests.set(lost);
      service.appendEvent(session, Events.text("more")).blockingGet();
      Session stored = service.getSession(app, "ada", "s", Optional.empty()).blockingGet();
      assertEquals(3, stored.events().size());
      assertEquals(Map.of("k", 1, "app:n", 1), stored.state());
      assertEquals(
          stored.events().stream().map(Event::id).toList(),
          session.events().stream().map(Event::id).toList());
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "named"})
  void aLostAnswerCreatesOneSession(String id) throws IOException {
    try (Proxy proxy = new Proxy(server.port())) {
      var service = client(proxy.url()).build();
      proxy.loseAnswers.set(1);
      Session session = service.createSession(app, "ada", Map.of("k", 1), id).blockingGet();
      assertEquals(0, proxy.loseAnswers.get());
      assertEquals(
          List.of(session.id()), service.listSessions(app, "ada").blockingGet().sessionIds());
    }
  }

  @Test
  void aServerThatIsAwayIsSaid() throws IOException {
    int port;
    try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      port = free.getLocalPort();
    }
    var service = client("http://127.0.0.1:" + port).retryFor(Duration.ofMillis(400)).build();
    var error =
        assertThrows(
            SessiondException.class,
            () -> service.createSession(app, "ada", Map.of(), "s").blockingGet());
    assertEquals(0, error.status());
    assertEquals("not_applied", error.outcome().orElseThrow());
    String message = error.getMessage();
    assertTrue(message.contains("POST http://127.0.0.1:" + port + "/v1/apps/"), message);
    assertTrue(message.matches("(?s).* after \\d+ attempts? in \\d+\\.\\d s\\."), message);
    assertTrue(message.contains("ConnectException"), message);
  }

  @Test
  void aServerThatIsSilentIsGivenUp() throws IOException {
    try (Script silent = new Script(Script.SILENCE)) {
      var service =
          client(silent.url()).callTimeout(Duration.ofMillis(200)).retryFor(Duration.ZERO).build();
      Session session = Session.builder("s").appName(app).userId("ada").build();
      Event event = Events.delta(Map.of("k", 1));
      var error =
          assertThrows(
              SessiondException.class, () -> service.appendEvent(session, event).blockingGet());
      assertEquals("unknown", error.outcome().orElseThrow());
      assertTrue(error.getMessage().contains("no answer within 0.2 s"), error.getMessage());
      assertTrue(session.events().isEmpty());
      assertTrue(session.state().isEmpty());
      assertEquals(1, event.actions().stateDelta().size());
    }
  }

  @Test
  void anAnswerThatStopsIsGivenUp() throws IOException {
    String half = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{(hang)";
    try (Script stops = new Script(half)) {
      var service =
          client(stops.url()).callTimeout(Duration.ofMillis(200)).retryFor(Duration.ZERO).build();
      var error =
          assertThrows(
              SessiondException.class,
              () -> service.getSession(app, "ada", "s", Optional.empty()).blockingGet());
      assertTrue(error.outcome().isEmpty());
      assertTrue(error.getMessage().contains("no answer within"), error.getMessage());
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"unknown", "not_applied"})
  void a503IsTriedFiveTimes(String outcome) throws IOException {
    try (Script busy = new Script(Script.json(503, UNAVAILABLE.formatted(outcome)))) {
      var service = client(busy.url()).build();
      Session session = Session.builder("s").appName(app).userId("ada").build();
      var error =
          assertThrows(
              SessiondException.class,
              () -> service.appendEvent(session, Events.text("x")).blockingGet());
      assertEquals(5, busy.requests.size());
      assertEquals(503, error.status());
      assertEquals("storage_unavailable", error.code().orElseThrow());
      assertEquals("r1", error.requestId().orElseThrow());
      assertEquals(outcome, error.outcome().orElseThrow());
      assertTrue(error.getMessage().contains("after 5 attempts"), error.getMessage());
      String body = busy.requests.get(0).split("\r\n\r\n", 2)[1];
      assertTrue(body.contains("\"id\""), body);
      for (String request : busy.requests) {
        assertEquals(body, request.split("\r\n\r\n", 2)[1]);
      }
    }
  }

  @Test
  void anErrorWhoseOutcomeIsUnknownIsTriedAgain() throws IOException {
    String unknown = Script.json(500, "{\"code\": \"internal\", \"outcome\": \"unknown\"}");
    String stored = Script.json(201, "{\"id\": \"e\", \"sequence\": 1, \"timestamp\": 1.0}");
    try (Script script = new Script(unknown, stored)) {
      Session session = Session.builder("s").appName(app).userId("ada").build();
      client(script.url()).build().appendEvent(session, Events.text("x")).blockingGet();
      assertEquals(2, script.requests.size());
      assertEquals(1, session.events().size());
    }
  }

  @Test
  void anErrorThatWouldComeAgainIsNotTriedAgain() throws IOException {
    String bug = Script.json(500, "{\"code\": \"internal\", \"outcome\": \"not_applied\"}");
    try (Script script = new Script(bug)) {
      Session session = Session.builder("s").appName(app).userId("ada").build();
      var error =
          assertThrows(
              SessiondException.class,
              () ->
                  client(script.url())
                      .build()
                      .appendEvent(session, Events.text("x"))
                      .blockingGet());
      assertEquals(500, error.status());
      assertEquals(1, script.requests.size());
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"Retry-After: 3600", "Retry-After: Wed, 01 Jan 2200 00:00:00 GMT"})
  void aLongRetryAfterIsNotWaitedFor(String header) throws IOException {
    try (Script busy = new Script(Script.json(429, "{\"code\": \"rate_limited\"}", header))) {
      var error =
          assertThrows(
              SessiondException.class,
              () -> client(busy.url()).build().listSessions(app, "ada").blockingGet());
      assertEquals(429, error.status());
      assertEquals(1, busy.requests.size());
    }
  }

  @Test
  void aShortRetryAfterIsFollowedByAnotherTry() throws IOException {
    String later = Script.json(503, UNAVAILABLE.formatted("not_applied"), "Retry-After: 1");
    try (Script script = new Script(later, Script.json(200, "{\"sessions\": []}"))) {
      client(script.url()).build().listSessions(app, "ada").blockingGet();
      assertEquals(2, script.requests.size());
    }
  }

  @Test
  void anAnswerOfSomethingElseIsSaid() throws IOException {
    String page = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\n<html>";
    try (Script other = new Script(page)) {
      var error =
          assertThrows(
              SessiondException.class,
              () ->
                  client(other.url())
                      .build()
                      .getSession(app, "ada", "s", Optional.empty())
                      .blockingGet());
      assertTrue(error.getMessage().contains("is not sessiond's"), error.getMessage());
    }
  }

  @Test
  void aRestartIsSurvived() throws Exception {
    try (Server own = new Server()) {
      var service = own.client().build();
      Session session = service.createSession(app, "ada", Map.of(), "s").blockingGet();
      own.stop();
      var append =
          service.appendEvent(session, Events.text("x")).subscribeOn(Schedulers.io()).toFuture();
      own.start();
      append.get(60, TimeUnit.SECONDS);
      assertEquals(1, service.listEvents(app, "ada", "s").blockingGet().events().size());
    }
  }

  @Test
  void theTraceAndTheNameOfTheClientAreSent() throws IOException {
    try (Script script = new Script(Script.json(200, "{\"sessions\": []}"))) {
      SpanContext span =
          SpanContext.create(
              "0af7651916cd43dd8448eb211c80319c",
              "b7ad6b7169203331",
              TraceFlags.getSampled(),
              TraceState.getDefault());
      var list = client(script.url()).build().listSessions(app, "ada");
      try (var scope = Span.wrap(span).makeCurrent()) {
        assertTrue(scope != null);
        list.blockingGet();
      }
      list.blockingGet();
      String traced = script.requests.get(0);
      assertTrue(
          traced.contains("traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
          traced);
      assertTrue(traced.contains("User-Agent: sessiond-java/0.1.0"), traced);
      assertFalse(script.requests.get(1).contains("traceparent"));
      assertFalse(traced.contains("Upgrade"));
    }
  }

  @Test
  void toDisposeEndsARequestThatWaits() throws Exception {
    try (Script silent = new Script(Script.SILENCE)) {
      var service = client(silent.url()).build();
      var undelivered = new java.util.concurrent.atomic.AtomicReference<Throwable>();
      io.reactivex.rxjava3.plugins.RxJavaPlugins.setErrorHandler(undelivered::set);
      try {
        var waiting = service.listSessions(app, "ada").subscribe();
        while (silent.requests.isEmpty()) {
          Thread.sleep(5);
        }
        waiting.dispose();
        // The thread is free again: the next request is sent.
        service.listSessions(app, "ada").subscribe().dispose();
      } finally {
        io.reactivex.rxjava3.plugins.RxJavaPlugins.setErrorHandler(null);
      }
      assertEquals(null, undelivered.get());
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "127.0.0.1:8080",
        "ftp://host",
        "http://",
        "http://user:secret@host",
        "http://host?token=secret",
        "http://host#secret",
        "http://ho st/secret"
      })
  void aUrlThatIsNoneIsRefusedAndNotShown(String url) {
    var error = assertThrows(IllegalArgumentException.class, () -> client(url).build());
    assertFalse(error.getMessage().contains("secret"), error.getMessage());
  }

  @Test
  void aUrlMayHaveAPath() throws IOException {
    try (Script script = new Script(Script.json(200, "{\"sessions\": []}"))) {
      client(script.url() + "/under/it//").build().listSessions(app, "ada").blockingGet();
      assertTrue(script.requests.get(0).startsWith("GET /under/it/v1/apps/"));
    }
  }
}
