package dev.sessiond.adk;

import com.google.adk.events.Event;
import com.google.adk.sessions.ListEventsResponse;
import com.google.adk.sessions.ListSessionsResponse;
import com.google.adk.sessions.Session;
import com.google.adk.sessions.SessionNotFoundException;
import com.google.common.collect.MapMaker;
import java.math.BigDecimal;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentMap;

/** Reads sessions and events, and knows of each session object what it has seen. */
final class Reads {
  /** How many of the last events come with an effective history. */
  private static final long LAST = 100;

  private final Http http;
  private final History history;

  // What is known of a session object; compared by identity, and gone with the object.
  private final ConcurrentMap<Session, Known> known = new MapMaker().weakKeys().makeMap();

  Reads(Http http, History history) {
    this.http = http;
    this.history = history;
  }

  /** Returns a session without what was taken back, or covered; null if there is none. */
  Session load(String path, Map<String, String> limits) {
    Map<String, String> query = new LinkedHashMap<>(limits);
    if (history == History.EFFECTIVE) {
      query.put("history", "effective");
    }
    while (true) {
      Http.Reply reply = http.send(Http.Call.of("GET", path).query(query));
      if (reply.code().equals("session_not_found")) {
        return null;
      }
      // What was taken back comes before what took it back. So if that is not here, neither is the
      // former.
      Map<String, Object> stored = new LinkedHashMap<>(reply.success());
      if (history == History.EFFECTIVE && limits.isEmpty()) {
        addTheLast(path, stored);
      }
      if (!Wire.rewinds(stored) || visible(path, query, stored)) {
        Session session = Wire.session(stored);
        known(session).revision = Json.number(stored, "revision");
        return session;
      }
    }
  }

  /**
   * Puts the last events of the log into a session that has its effective history.
   *
   * <p>A prompt is the same with what a compaction covers, as long as the compaction is there.
   */
  private void addTheLast(String path, Map<String, Object> stored) {
    List<?> left = Json.list(stored.get("events"));
    long revision = Json.number(stored, "revision");
    long last =
        left.stream()
            .filter(event -> Json.number(Json.object(event), "sequence") > revision - LAST)
            .count();
    if (last == Math.min(LAST, revision) || left.stream().noneMatch(Wire::compacts)) {
      return;
    }
    Map<String, String> query = new LinkedHashMap<>();
    query.put("excludeRewound", "true");
    query.put("order", "desc");
    query.put("beforeSequence", Long.toString(revision + 1));
    query.put("pageSize", Long.toString(LAST));
    Http.Reply reply = http.send(Http.Call.of("GET", path + "/events").query(query));
    if (reply.code().equals("session_not_found")
        || Json.number(reply.success(), "revision") < revision) {
      return;
    }
    Map<Long, Object> all = new TreeMap<>();
    for (Object event : Json.list(reply.body().get("events"))) {
      all.put(Json.number(Json.object(event), "sequence"), event);
    }
    for (Object event : left) {
      all.put(Json.number(Json.object(event), "sequence"), event);
    }
    stored.put("events", new ArrayList<>(all.values()));
  }

  /**
   * Puts the events into a session that were not taken back: first the last ones, of these those
   * since a time.
   *
   * @return whether the session was the same all the time
   */
  private boolean visible(String path, Map<String, String> limits, Map<String, Object> stored) {
    Map<String, String> query = new LinkedHashMap<>();
    query.put("excludeRewound", "true");
    query.put("order", "desc");
    String recent = limits.get("numRecentEvents");
    String after = limits.get("afterTimestamp");
    if (recent == null && after != null) {
      query.put("afterTimestamp", after);
    }
    int wanted = recent == null ? Integer.MAX_VALUE : Integer.parseInt(recent);
    List<Object> events = new ArrayList<>();
    Long revision = null;
    while (events.size() < wanted) {
      query.put("pageSize", Integer.toString(Math.min(wanted - events.size(), 1000)));
      Http.Reply reply = http.send(Http.Call.of("GET", path + "/events").query(query));
      if (reply.code().equals("session_not_found")) {
        return false;
      }
      Map<String, Object> page = reply.success();
      // The later pages are about what was there at the first one.
      revision = revision == null ? Json.number(page, "revision") : revision;
      events.addAll(Json.list(page.get("events")));
      String next = Json.text(page, "nextPageToken");
      if (next == null) {
        break;
      }
      query.put("pageToken", next);
    }
    if (after != null) {
      Instant since = Wire.instant(new BigDecimal(after));
      events.removeIf(event -> Wire.instant(Json.object(event).get("timestamp")).isBefore(since));
    }
    Collections.reverse(events);
    stored.put("events", events);
    return revision == null || revision == Json.number(stored, "revision");
  }

  /** Returns the session of an answer. */
  Session loaded(Http.Reply reply) {
    Session session = Wire.session(reply.success());
    known(session).revision = Json.number(reply.body(), "revision");
    return session;
  }

  /** Returns what is known of a session object, from now on the same. */
  Known known(Session session) {
    return known.computeIfAbsent(session, unseen -> new Known());
  }

  /** Returns what is known of a session object; null if nothing is. */
  Known ifKnown(Session session) {
    return known.get(session);
  }

  /** Returns the sessions at a path, the latest at the end. */
  ListSessionsResponse list(String sessions) {
    // One that was updated between two pages is on both.
    Map<String, Session> found = new LinkedHashMap<>();
    Map<String, String> query = new LinkedHashMap<>();
    query.put("includeState", "true");
    for (Map<String, Object> page : pages(sessions, query)) {
      for (Object stored : Json.list(page.get("sessions"))) {
        Session session = Wire.session(Json.object(stored));
        found.remove(session.id());
        found.put(session.id(), session);
      }
    }
    return ListSessionsResponse.builder().sessions(new ArrayList<>(found.values())).build();
  }

  /** Returns all events of the session at a path. */
  ListEventsResponse events(String path, String name) {
    List<Event> events = new ArrayList<>();
    for (Map<String, Object> page : pages(path, new LinkedHashMap<>())) {
      for (Object stored : Json.list(page.get("events"))) {
        events.add(Wire.event(Json.object(stored), name));
      }
    }
    return ListEventsResponse.builder().events(events).build();
  }

  private List<Map<String, Object>> pages(String path, Map<String, String> query) {
    List<Map<String, Object>> pages = new ArrayList<>();
    query.put("pageSize", "1000");
    while (true) {
      Http.Reply reply = http.send(Http.Call.of("GET", path).query(query));
      if (reply.code().equals("session_not_found")) {
        return List.of();
      }
      pages.add(reply.success());
      String next = Json.text(reply.body(), "nextPageToken");
      if (next == null) {
        return pages;
      }
      query.put("pageToken", next);
    }
  }

  /** Says that there is no such session. */
  static SessionNotFoundException notFound(String sessionId, Http.Reply reply) {
    return new SessionNotFoundException("Session " + sessionId + " not found.", reply.error());
  }
}
