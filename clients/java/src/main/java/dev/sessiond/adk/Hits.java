package dev.sessiond.adk;

import com.google.adk.events.Event;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What a search has found.
 *
 * @param hits the best first
 * @param complete whether all was looked at: what was said before the index was switched on is
 *     taken in by and by, and of very many events only those with the rarest words are looked at
 */
public record Hits(List<Hit> hits, boolean complete) {

  /**
   * An event that a search has found.
   *
   * @param sessionId the session that it is in
   * @param displayName that of the session
   * @param score the larger, the better
   * @param event the event
   */
  public record Hit(String sessionId, Optional<String> displayName, double score, Event event) {}

  static Hits of(Map<String, Object> answer) {
    List<Hit> hits = new ArrayList<>();
    for (Object each : Json.list(answer.get("hits"))) {
      Map<String, Object> hit = Json.object(each);
      String session = Json.text(hit, "sessionId");
      double score = ((Number) hit.get("score")).doubleValue();
      Event event = Wire.event(Json.object(hit.get("event")), session);
      hits.add(new Hit(session, Optional.ofNullable(Json.text(hit, "displayName")), score, event));
    }
    return new Hits(List.copyOf(hits), Boolean.TRUE.equals(answer.get("complete")));
  }
}
