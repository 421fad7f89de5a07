package dev.sessiond.adk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.adk.events.Event;
import com.google.adk.sessions.Session;
import com.google.adk.sessions.SessionNotFoundException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** What a client does on each answer, as clients/wire/requests.json says it for all languages. */
class RequestsTest {
  private static final int PACE = 20;

  // Also a slow machine connects in it.
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  @BeforeAll
  static void shorten() {
    Http.pace = PACE;
  }

  @AfterAll
  static void restore() {
    Http.pace = 1;
  }

  @Test
  void eachAnswerIsMetAsTheDataSays() throws Exception {
    // Most cases wait. All at once would take one another's time on a slow machine.
    ExecutorService places = Executors.newFixedThreadPool(8);
    try (FakeServer fake = new FakeServer()) {
      Map<String, Callable<String>> calls = new LinkedHashMap<>();
      FakeServer.cases()
          .forEach(
              (name, said) -> {
                Map<String, Object> one = Json.object(said);
                List<?> only = Json.list(one.getOrDefault("only", List.of("java")));
                if (only.contains("java")) {
                  calls.put(name, () -> fake.check(name, new Case(fake, name, one).run()));
                }
              });
      List<String> wrong = new ArrayList<>();
      for (Future<String> each : places.invokeAll(calls.values())) {
        wrong.add(each.get());
      }
      wrong.removeIf("[]"::equals);
      assertEquals(List.of(), wrong);
    } finally {
      places.shutdownNow();
    }
  }

  /** A case, and what the client made of it. */
  private static final class Case {
    private final Map<String, Object> said;
    private final AtomicInteger asked = new AtomicInteger();
    private final List<String> items = new ArrayList<>();
    private final SessiondSessionService service;
    private final String url;
    private final Session session = Session.builder("s").appName("a").userId("u").build();
    private final Event event = Events.event().id("e1").build();

    Case(FakeServer fake, String name, Map<String, Object> said) {
      this.said = said;
      url = (said.containsKey("away") ? fake.away : fake.url) + "/java/" + name;
      event.actions().stateDelta().put("k", "hunter2");
      var builder = SessiondSessionService.builder().url(url + "/").connectTimeout(PATIENCE);
      List<?> tokens = Json.list(said.get("tokens"));
      if (said.containsKey("tokens")) {
        builder.tokenSupplier(() -> given(tokens.get(asked.getAndIncrement())));
      } else {
        builder.token(said.containsKey("token") ? Json.text(said, "token") : "");
      }
      if (said.containsKey("once")) {
        builder.retryFor(Duration.ZERO);
      }
      if (said.containsKey("retryFor")) {
        builder.retryFor(seconds("retryFor"));
      }
      if (said.containsKey("timeout")) {
        builder.callTimeout(seconds("timeout"));
      }
      if (said.containsKey("silence")) {
        builder.watchSilence(seconds("silence"));
      }
      service = builder.build();
    }

    private static String given(Object token) {
      if (token == null) {
        throw new IllegalStateException("hunter2");
      }
      return (String) token;
    }

    private Duration seconds(String field) {
      return Duration.ofMillis((long) (((Number) said.get(field)).doubleValue() * 1000));
    }

    Map<String, Object> run() throws Exception {
      List<Object> results = new ArrayList<>();
      int together = Json.number(said, "together") == 0 ? 1 : (int) Json.number(said, "together");
      ExecutorService threads = Executors.newFixedThreadPool(together);
      for (Object step : Json.list(said.get("do"))) {
        List<Callable<Object>> calls = new ArrayList<>();
        for (int i = 0; i < together; i++) {
          calls.add(() -> result((String) step));
        }
        for (Future<Object> result : threads.invokeAll(calls)) {
          results.add(result.get());
        }
      }
      threads.shutdown();
      Map<String, Object> did = new LinkedHashMap<>();
      did.put("language", "java");
      did.put("url", url);
      did.put("scale", 1.0 / PACE);
      did.put("asked", asked.get());
      did.put("items", items);
      did.put("results", results);
      return did;
    }

    private Object result(String step) {
      try {
        take(step);
        return null;
      } catch (RuntimeException error) {
        return told(error);
      }
    }

    private void take(String step) {
      switch (step) {
        case "append" -> service.appendEvent(session, event).blockingGet();
        case "create" -> service.createSession("a", "u", Map.of("k", "hunter2"), "s").blockingGet();
        case "get" -> service.getSession("a", "u", "s", Optional.empty()).blockingGet();
        case "list" -> service.listSessions("a", "u").blockingGet();
        case "delete" -> service.deleteSession("a", "u", "s").blockingAwait();
        default ->
            service
                .watch("a", "u", "s")
                .take(Json.number(said, "items"))
                .blockingForEach(item -> items.add(text(item)));
      }
    }

    private static String text(WatchItem item) {
      if (item instanceof WatchItem.EventItem event) {
        return "event " + event.event().id() + " " + event.cursor();
      }
      String kind = item instanceof WatchItem.CaughtUp ? "caught_up " : "deleted ";
      return kind + item.cursor();
    }

    /** Returns an error as the fake server takes it. */
    private static Map<String, Object> told(RuntimeException error) {
      String kind = "other";
      if (error instanceof SessionNotFoundException) {
        kind = "not_found";
      } else if (error instanceof StaleSessionException) {
        kind = "stale";
      } else if (error instanceof SessionBusyException) {
        kind = "busy";
      } else if (error instanceof PositionGoneException) {
        kind = "gone";
      }
      var answer =
          (SessiondException) (error instanceof SessiondException ? error : error.getCause());
      // What was not answered has a cause.
      boolean isMalformed = error.getMessage().contains("not sessiond's");
      assertTrue(answer.status() != 0 || answer.getCause() != null || isMalformed);
      Map<String, Object> told = new LinkedHashMap<>();
      told.put("kind", kind);
      told.put("status", answer.status() == 0 ? null : answer.status());
      told.put("code", answer.code().orElse(null));
      told.put("outcome", answer.outcome().orElse(null));
      told.put("requestId", answer.requestId().orElse(null));
      told.put("text", error + " " + answer);
      return told;
    }
  }
}
