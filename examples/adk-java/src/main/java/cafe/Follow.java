package cafe;

import com.google.adk.sessions.Session;
import com.google.common.collect.Iterables;
import dev.sessiond.adk.SessiondSessionService;
import dev.sessiond.adk.WatchItem;

/** Follows the latest session of a user, while another program drives it. */
public final class Follow {
  private Follow() {}

  /** Takes the user. */
  public static void main(String[] args) {
    if (args.length != 1) {
      throw new IllegalArgumentException("The argument is USER.");
    }
    String url = System.getenv().getOrDefault("SESSIOND_URL", "http://127.0.0.1:8080");
    try (var sessions = SessiondSessionService.builder().url(url).build()) {
      Session latest =
          Iterables.getLast(sessions.listSessions("cafe", args[0]).blockingGet().sessions(), null);
      if (latest == null) {
        throw new IllegalArgumentException(args[0] + " has no session yet.");
      }
      // What was said so far, and then what is said now. It survives restarts of sessiond.
      sessions
          .watch("cafe", args[0], latest.id())
          .blockingForEach(
              item -> {
                if (item instanceof WatchItem.EventItem said) {
                  Main.print(said.event());
                } else if (item instanceof WatchItem.Deleted gone) {
                  System.out.println("The session is gone: " + gone.reason() + ".");
                }
              });
    }
  }
}
