package dev.sessiond.adk;

import com.google.adk.events.Event;
import com.google.adk.memory.BaseMemoryService;
import com.google.adk.memory.MemoryEntry;
import com.google.adk.memory.SearchMemoryResponse;
import com.google.adk.sessions.Session;
import com.google.adk.sessions.SessionNotFoundException;
import com.google.genai.types.Content;
import com.google.genai.types.Part;
import io.reactivex.rxjava3.core.Completable;
import io.reactivex.rxjava3.core.Single;
import io.reactivex.rxjava3.schedulers.Schedulers;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * What ADK agents remember of a user: what was said in the sessions of that user, which are in
 * sessiond; see {@link SessiondSessionService#memory()}.
 *
 * <p>Nothing is copied, so all that is stored is remembered at once, and what is rewound, redacted,
 * trimmed, expired, deleted or erased is not, from then on. The policy of the app has to say {@code
 * {"search": {"index": true}}}, which is for an operator to set; until then a search fails with the
 * code {@code search_off}.
 *
 * <p>An instance is safe to use from all threads. Nothing is sent before the returned type is
 * subscribed to. Requests run on {@link Schedulers#io()}. Failures are a {@link SessiondException},
 * or ADK's {@link SessionNotFoundException}.
 */
public final class SessiondMemoryService implements BaseMemoryService {
  /** The session of a user that has what was said nowhere else. */
  private static final String MEMORIES = "memories";

  /** Characters of a query that are sent: the server looks for 32 words. */
  private static final int QUERY = 2000;

  private static final int LIMIT = 10;

  private final Http http;
  private final Reads reads;

  SessiondMemoryService(Http http, Reads reads) {
    this.http = http;
    this.reads = reads;
  }

  /**
   * Returns what the user and agents have said that has a word of the query, at most ten memories,
   * the best first. What says just the query is left out: a runner has stored the user's question
   * before it is looked for. Of a memory there is the text, without what a model thought. A query
   * without a word finds nothing.
   */
  @Override
  public Single<SearchMemoryResponse> searchMemory(String appName, String userId, String query) {
    String user = Paths.user(appName, userId);
    String words =
        query
            .codePoints()
            .limit(QUERY)
            .collect(StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append)
            .toString();
    Map<String, String> asked = Map.of("text", words, "limit", Integer.toString(2 * LIMIT));
    return Blocking.io(
        () -> {
          Http.Reply reply = http.send(Http.Call.of("GET", user + "/search").query(asked));
          if (reply.status() == 422 && isOfText(reply.body())) {
            return SearchMemoryResponse.builder().build();
          }
          List<MemoryEntry> found = new ArrayList<>();
          for (Hits.Hit hit : Hits.of(reply.success()).hits()) {
            spoken(hit.event())
                .filter(said -> !words(text(said)).equals(words(query)))
                .ifPresent(said -> found.add(entry(hit.event(), said)));
          }
          List<MemoryEntry> best = found.subList(0, Math.min(found.size(), LIMIT));
          return SearchMemoryResponse.builder().memories(List.copyOf(best)).build();
        });
  }

  /**
   * Sees that what was said in a session is remembered: if it comes from this service's session
   * service, it is already. The events of one from another session service are appended to the
   * session {@code memories} of the user, each once, with their author and time, and without a
   * change of state.
   *
   * @return fails with {@link SessionNotFoundException} if the session was loaded from sessiond,
   *     and is not there any more
   */
  @Override
  public Completable addSessionToMemory(Session session) {
    String user = Paths.user(session.appName(), session.userId());
    return Blocking.io(
            () -> {
              if (reads.ifKnown(session) != null) {
                var none = Map.of("numRecentEvents", "0");
                Http.Reply reply = http.send(Http.Call.of("GET", Paths.of(session)).query(none));
                if (reply.code().equals("session_not_found")) {
                  throw Reads.notFound(session.id(), reply);
                }
                reply.success();
                return session;
              }
              for (Event event : List.copyOf(session.events())) {
                if (spoken(event).isPresent()) {
                  append(user, event);
                }
              }
              return session;
            })
        .ignoreElement();
  }

  private void append(String user, Event event) {
    Map<String, Object> said = new LinkedHashMap<>(Wire.event(event));
    said.keySet().retainAll(List.of("id", "author", "timestamp", "content"));
    var query = Map.of("create", "true", "answer", "minimal");
    String events = Paths.session(user, MEMORIES) + "/events";
    Http.Reply reply = http.send(Http.Call.of("POST", events).query(query).body(said));
    // One that is there with another content stays as it is.
    if (!reply.code().equals("event_id_conflict")) {
      reply.success();
    }
  }

  private static boolean isOfText(Map<String, Object> problem) {
    return Json.list(problem.get("errors")).stream()
        .anyMatch(fault -> "text".equals(Json.text(Json.object(fault), "field")));
  }

  private static MemoryEntry entry(Event event, Content said) {
    Instant time = Instant.ofEpochMilli(event.timestamp());
    return MemoryEntry.builder().content(said).author(event.author()).timestamp(time).build();
  }

  /** The text of what was said, without what a model thought. */
  private static Optional<Content> spoken(Event event) {
    List<Part> parts =
        event.content().flatMap(Content::parts).orElse(List.of()).stream()
            .filter(part -> !part.thought().orElse(false))
            .flatMap(part -> part.text().stream())
            .filter(text -> !text.isEmpty())
            .map(Part::fromText)
            .toList();
    if (parts.isEmpty()) {
      return Optional.empty();
    }
    String role = event.content().flatMap(Content::role).orElse("user");
    return Optional.of(Content.builder().role(role).parts(parts).build());
  }

  private static String text(Content said) {
    return said.parts().orElse(List.of()).stream()
        .map(part -> part.text().orElse(""))
        .collect(Collectors.joining());
  }

  private static List<String> words(String text) {
    return Arrays.asList(text.strip().split("\\s+"));
  }
}
