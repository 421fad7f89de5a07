package dev.sessiond.adk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.reactivex.rxjava3.core.Single;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The credential. */
class TokenTest {
  private static final String LIST = Script.json(200, "{\"sessions\": []}");
  private static final String REFUSED =
      Script.json(401, "{\"status\": 401, \"code\": \"unauthenticated\", \"detail\": \"no\"}");

  private static List<String> shown(Script script) {
    List<String> tokens = new ArrayList<>();
    for (String request : script.requests) {
      Arrays.stream(request.split("\r\n"))
          .filter(line -> line.startsWith("Authorization: "))
          .map(line -> line.substring(15))
          .forEach(tokens::add);
    }
    return tokens;
  }

  private static SessiondSessionService.Builder client(String url) {
    return SessiondSessionService.builder().url(url);
  }

  @Test
  void aFixedTokenIsShownAndNotAskedForAgain() throws IOException {
    try (Script script = new Script(LIST, REFUSED)) {
      var service = client(script.url()).token(" abc\n").build();
      service.listSessions("a", "u").blockingGet();
      var error =
          assertThrows(SessiondException.class, () -> service.listSessions("a", "u").blockingGet());
      assertEquals(401, error.status());
      assertEquals("unauthenticated", error.code().orElseThrow());
      assertEquals(List.of("Bearer abc", "Bearer abc"), shown(script));
      assertFalse(error.toString().contains("abc"));
      assertFalse(service.toString().contains("abc"));
    }
  }

  @Test
  void aSupplierIsAskedAgainOnceAt401() throws IOException {
    try (Script script = new Script(LIST, REFUSED, LIST, LIST, REFUSED, REFUSED)) {
      var asked = new AtomicInteger();
      var service = client(script.url()).tokenSupplier(() -> "t" + asked.incrementAndGet()).build();
      assertEquals(0, asked.get());
      for (int i = 0; i < 3; i++) {
        service.listSessions("a", "u").blockingGet();
      }
      assertEquals(List.of("Bearer t1", "Bearer t1", "Bearer t2", "Bearer t2"), shown(script));
      var error =
          assertThrows(SessiondException.class, () -> service.listSessions("a", "u").blockingGet());
      assertEquals(401, error.status());
      assertEquals(3, asked.get());
    }
  }

  @Test
  void aSupplierIsAskedOnceForAllWhoWait() throws IOException {
    try (Script script = new Script(LIST)) {
      var asked = new AtomicInteger();
      var service = client(script.url()).tokenSupplier(() -> "t" + asked.incrementAndGet()).build();
      Single.mergeDelayError(Collections.nCopies(8, service.listSessions("a", "u")))
          .ignoreElements()
          .blockingAwait();
      assertEquals(1, asked.get());
      assertEquals(8, shown(script).size());
    }
  }

  @Test
  void aSupplierThatFailsIsTheCause() throws IOException {
    try (Script script = new Script(LIST)) {
      var failure = new IllegalStateException("no secret here");
      var service =
          client(script.url())
              .tokenSupplier(
                  () -> {
                    throw failure;
                  })
              .build();
      var error =
          assertThrows(
              SessiondException.class,
              () -> service.createSession("a", "u", Map.of(), "s").blockingGet());
      assertSame(failure, error.getCause());
      assertEquals("not_applied", error.outcome().orElseThrow());
      assertTrue(script.requests.isEmpty());
    }
  }

  @Test
  void evenAMissingClassIsToldAndNotWaitedFor() {
    var service =
        client("http://127.0.0.1:9")
            .tokenSupplier(
                () -> {
                  throw new NoClassDefFoundError("gone");
                })
            .build();
    service
        .listSessions("a", "u")
        .test()
        .awaitDone(60, java.util.concurrent.TimeUnit.SECONDS)
        .assertError(NoClassDefFoundError.class);
  }

  @Test
  void aTokenThatCannotBeSentIsRefusedAndNotShown() {
    for (String token : List.of("se cret", "secret\r\nX: y", "sécret", " ")) {
      var error =
          assertThrows(
              IllegalArgumentException.class, () -> client("http://host").token(token).build());
      assertFalse(error.getMessage().contains("cret\r"), error.getMessage());
      assertFalse(error.getMessage().contains("secret"), error.getMessage());
    }
    assertThrows(
        IllegalArgumentException.class,
        () -> client("http://host").token("a").tokenSupplier(() -> "b").build());
  }

  @Test
  void aServerThatAsksWhoOneIs(@TempDir Path folder) throws IOException {
    String key = "admin_key_of_the_tests_0123456789abcdef";
    Path file = folder.resolve("key");
    Files.writeString(file, key);
    try (Server own = new Server("--admin-key-file", file.toString())) {
      var none = own.client().build();
      var missing =
          assertThrows(
              SessiondException.class,
              () -> none.createSession("a", "u", Map.of(), "s").blockingGet());
      assertEquals(401, missing.status());
      assertEquals("not_applied", missing.outcome().orElseThrow());
      assertTrue(missing.getMessage().contains("SESSIOND_TOKEN"), missing.getMessage());

      var known = client(own.url()).token(key).build();
      known.createSession("a", "u", Map.of(), "s").blockingGet();
      var minted =
          own.ask(
              "POST",
              "/tokens",
              "{\"app\": \"a\", \"user\": \"u\"}",
              "Authorization",
              "Bearer " + key);
      // The admin's key mints none; its refusal shows that it was recognised.
      assertTrue(minted.statusCode() < 500);

      var watch = none.watch("a", "u", "s").test();
      watch.awaitDone(30, java.util.concurrent.TimeUnit.SECONDS);
      watch.assertError(
          error -> error instanceof SessiondException denied && denied.status() == 401);
      assertEquals("s", known.getSession("a", "u", "s", Optional.empty()).blockingGet().id());
    }
  }
}
