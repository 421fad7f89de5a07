package dev.sessiond.adk;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import org.junit.jupiter.api.Test;

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
}
