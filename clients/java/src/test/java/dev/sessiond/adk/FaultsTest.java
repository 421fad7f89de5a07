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
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Networks and servers that fail. */
class FaultsTest extends SessionTest {

  @Test
  void aLostAnswerLosesAndDoublesNothing() throws IOException {
    try (Proxy proxy = new Proxy(server.port())) {
      var service = client(proxy.url()).build();
      Session session = create(service, Map.of());
      proxy.loseAnswers.set(1);
      append(service, session, Events.delta(Map.of("k", 1)));
      assertEquals(0, proxy.loseAnswers.get());
      assertEquals(1, session.events().size());
      assertEquals(Map.of("k", 1), session.state());
      proxy.loseAnswers.set(1);
      Map<String, Object> sum =
          service
              .applyOps(session, List.of(Op.increment("app:n", 1)), List.of(), "a", "")
              .blockingGet();
      assertEquals(Map.of("app:n", 1), sum);
      assertEquals(2, session.events().size());
      proxy.loseRequests.set(1);
      append(service, session, Events.text("more"));
      Session stored = load(service);
      assertEquals(3, stored.events().size());
      assertEquals(Map.of("k", 1, "app:n", 1), stored.state());
      assertEquals(ids(stored), ids(session));
    }
  }

  @Test
  void aLostAnswerCreatesOneSessionOfAnIdOfItsOwn() throws IOException {
    try (Proxy proxy = new Proxy(server.port())) {
      var service = client(proxy.url()).build();
      proxy.loseAnswers.set(1);
      Session session = service.createSession(app, "ada", Map.of("k", 1), "").blockingGet();
      assertEquals(0, proxy.loseAnswers.get());
      assertEquals(
          List.of(session.id()), service.listSessions(app, "ada").blockingGet().sessionIds());
    }
  }

  @Test
  void anAppendThatFailedLeavesTheSessionAsItWas() throws IOException {
    try (Script silent = new Script(Script.SILENCE)) {
      var service =
          client(silent.url()).callTimeout(Duration.ofMillis(200)).retryFor(Duration.ZERO).build();
      Session session = Session.builder("s").appName(app).userId("ada").build();
      Event event = Events.delta(Map.of("k", 1));
      var append = service.appendEvent(session, event);
      refused(append::blockingGet);
      assertTrue(session.events().isEmpty());
      assertTrue(session.state().isEmpty());
      assertEquals(1, event.actions().stateDelta().size());
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
}
