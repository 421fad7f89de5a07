package cafe;

import com.google.adk.events.Event;
import com.google.adk.runner.Runner;
import com.google.adk.sessions.Session;
import com.google.genai.types.Content;
import com.google.genai.types.Part;
import dev.sessiond.adk.SessiondSessionService;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Predicate;

/** Says something to the agents of the café, in a new session. */
public final class Main {
  private Main() {}

  /** Takes the user and the message. */
  public static void main(String[] args) {
    if (args.length != 2) {
      throw new IllegalArgumentException("The arguments are USER MESSAGE.");
    }
    String user = args[0];
    String url = System.getenv().getOrDefault("SESSIOND_URL", "http://127.0.0.1:8080");
    try (var sessions = SessiondSessionService.builder().url(url).build()) {
      Runner runner =
          Runner.builder()
              .appName("cafe")
              .agent(Cafe.agents())
              .sessionService(sessions)
              .build();
      Session session = sessions.createSession("cafe", user).blockingGet();
      System.out.println(user + ": " + args[1]);
      runner
          .runAsync(session.sessionKey(), Content.fromParts(Part.fromText(args[1])))
          .blockingForEach(Main::print);

      // As stored, for any other process to read.
      Map<String, Object> state =
          sessions
              .getSession("cafe", user, session.id(), Optional.empty())
              .blockingGet()
              .state();
      System.out.println("app state:     " + only(state, key -> key.startsWith("app:")));
      System.out.println("user state:    " + only(state, key -> key.startsWith("user:")));
      System.out.println("session state: " + only(state, key -> !key.contains(":")));
    }
  }

  /** Prints the text of an event. */
  static void print(Event event) {
    event.content().flatMap(Content::parts).stream()
        .flatMap(parts -> parts.stream().flatMap(part -> part.text().stream()))
        .forEach(text -> System.out.println(event.author() + ": " + text));
  }

  private static Map<String, Object> only(Map<String, Object> state, Predicate<String> wanted) {
    Map<String, Object> kept = new TreeMap<>(state);
    kept.keySet().removeIf(wanted.negate());
    return kept;
  }
}
