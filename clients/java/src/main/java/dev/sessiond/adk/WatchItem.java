package dev.sessiond.adk;

import com.google.adk.events.Event;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** What a watch emits. */
public sealed interface WatchItem {
  /**
   * Returns the place in the log: a watch that begins after it goes on behind what was emitted so
   * far.
   *
   * @return the cursor; empty before the first event
   */
  String cursor();

  /**
   * An event of the session. Each comes once, in the order of the log.
   *
   * @param cursor the place in the log
   * @param event the event, as {@code getSession} would show it
   * @param sequence its number in the log, from 1 on
   * @param commitTime when it was stored, by the server's clock
   */
  record EventItem(String cursor, Event event, long sequence, Instant commitTime)
      implements WatchItem {}

  /**
   * All that was stored when the connection was made has been emitted; what follows is new. It
   * comes again after each reconnect, and after a burst of more than a page.
   *
   * @param cursor the place in the log
   * @param revision the number of the last event
   */
  record CaughtUp(String cursor, long revision) implements WatchItem {}

  /**
   * The merged state, just before {@link CaughtUp}, and then changes of app and user state. The
   * state of the session itself changes with its events: their delta is to be applied.
   *
   * @param cursor the place in the log
   * @param state the whole merged state, in place of what was known; empty if this is a change.
   *     Unlike ADK's state it may have nulls
   * @param set what has changed, keys with their prefix
   * @param removed the keys that are gone, with their prefix
   * @param revisions the revisions of session, user state and app state, and the session's
   *     incarnation, as in the ETag
   */
  record StateChange(
      String cursor,
      Optional<Map<String, Object>> state,
      Map<String, Object> set,
      List<String> removed,
      String revisions)
      implements WatchItem {}

  /**
   * The metadata of the session: once before {@link CaughtUp}, then when it has changed.
   *
   * @param cursor the place in the log
   * @param displayName the name that people see
   * @param labels the labels
   * @param expireTime when the session expires; empty if never
   */
  record MetadataChange(
      String cursor,
      Optional<String> displayName,
      Map<String, String> labels,
      Optional<Instant> expireTime)
      implements WatchItem {}

  /**
   * The session is gone, or was deleted and made anew. Nothing follows.
   *
   * @param cursor the place in the log
   * @param reason {@code deleted}, {@code expired}, {@code retention} or {@code erased}; other
   *     words may come
   */
  record Deleted(String cursor, String reason) implements WatchItem {}
}
