package dev.sessiond.adk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The credential. */
class TokenTest {
  private static SessiondSessionService.Builder client(String url) {
    return SessiondSessionService.builder().url(url);
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
