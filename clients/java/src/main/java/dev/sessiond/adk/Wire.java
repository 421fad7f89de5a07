package dev.sessiond.adk;

import com.fasterxml.jackson.databind.JsonMappingException;
import com.google.adk.events.Event;
import com.google.adk.sessions.Session;
import com.google.adk.sessions.State;
import com.google.common.collect.MapMaker;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.function.UnaryOperator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** ADK's sessions and events as sessiond's JSON, and back. */
final class Wire {
  /** Before the names of fields whose values ADK refuses, in an event's custom metadata. */
  static final String REFUSED = "sessiond_refused.";

  private static final Logger logger = LoggerFactory.getLogger(SessiondSessionService.class);

  /** The first second that is no date any more. */
  private static final BigDecimal YEAR_10000 = new BigDecimal(253402300800L);

  /** Of the events that were read and are still held, how they are stored; by identity. */
  private static final ConcurrentMap<Event, Map<String, Object>> origins =
      new MapMaker().weakKeys().makeMap();

  private Wire() {}

  /**
   * Returns ADK's session for one that sessiond answered, without events if the answer has none.
   */
  static Session session(Map<String, Object> stored) {
    String id = Json.text(stored, "id");
    List<Event> events = new ArrayList<>();
    for (Object event : Json.list(stored.get("events"))) {
      events.add(event(Json.object(event), id));
    }
    // ADK's state can hold no null.
    Map<String, Object> state = new ConcurrentHashMap<>();
    Json.object(stored.get("state")).forEach((key, value) -> putOrRemove(state, key, value));
    return Session.builder(id)
        .appName(Json.text(stored, "appName"))
        .userId(Json.text(stored, "userId"))
        .state(state)
        .events(events)
        .lastUpdateTime(instant(stored.get("lastUpdateTime")))
        .build();
  }

  /** Whether an answer has an event that takes back what was before it. */
  static boolean rewinds(Map<String, Object> stored) {
    return Json.list(stored.get("events")).stream()
        .map(event -> Json.object(Json.object(event).get("actions")))
        .anyMatch(actions -> actions.get("rewindBeforeInvocationId") instanceof String);
  }

  /** Whether an event is a compaction. */
  static boolean compacts(Object event) {
    return Json.object(Json.object(event).get("actions")).get("compaction") instanceof Map;
  }

  static void putOrRemove(Map<String, Object> state, String key, Object value) {
    if (value == null || value == State.REMOVED) {
      state.remove(key);
    } else {
      state.put(key, value);
    }
  }

  /**
   * Returns ADK's event for one that sessiond answered, whoever wrote it.
   *
   * <p>A key that the event removed is {@link State#REMOVED} in its delta. What ADK's type refuses
   * is moved to its custom metadata: one such event must not make the session unreadable. What it
   * cannot hold is sent again with the event.
   */
  static Event event(Map<String, Object> stored, String sessionId) {
    Event event = shown(stored, sessionId, true);
    origins.put(event, stored);
    return event;
  }

  private static Event shown(Map<String, Object> stored, String sessionId, boolean warn) {
    Map<String, Object> fields = Json.object(Json.copy(stored));
    fields.put("timestamp", instant(stored.get("timestamp")).toEpochMilli());
    Map<String, Object> actions = new LinkedHashMap<>(Json.object(fields.get("actions")));
    actions.values().removeIf(Objects::isNull);
    Map<String, Object> delta = new LinkedHashMap<>(Json.object(actions.get("stateDelta")));
    for (Object op : Json.list(actions.get("stateOps"))) {
      if ("remove".equals(Json.object(op).get("op"))) {
        // ADK reads null as REMOVED. A key that was set again afterwards is in the delta.
        delta.putIfAbsent(Json.text(Json.object(op), "key"), null);
      }
    }
    actions.put("stateDelta", delta);
    bounds(actions, Wire::milliseconds);
    fields.put("actions", actions);
    // A map in all languages but this one, where it is a list of entries.
    List<Object> metadata = new ArrayList<>(Json.list(stored.get("customMetadata")));
    Json.object(stored.get("customMetadata"))
        .forEach((key, value) -> metadata.add(entry(key, value)));
    if (!metadata.isEmpty()) {
      fields.put("customMetadata", metadata);
    }
    return readable(fields, stored, metadata, warn ? sessionId : null);
  }

  /** Converts the bounds of a compaction, if there is one. */
  private static void bounds(Map<String, Object> actions, UnaryOperator<Object> convert) {
    if (actions.get("compaction") instanceof Map<?, ?> given) {
      Map<String, Object> compaction = new LinkedHashMap<>(Json.object(given));
      for (String bound : List.of("startTimestamp", "endTimestamp")) {
        compaction.computeIfPresent(bound, (name, time) -> convert.apply(time));
      }
      actions.put("compaction", compaction);
    }
  }

  /** Returns a bound in ADK's milliseconds; one that is no date in seconds has been in these. */
  private static Object milliseconds(Object bound) {
    if (!(bound instanceof Number)) {
      return bound;
    }
    BigDecimal time = new BigDecimal(bound.toString());
    return (isMillis(bound) ? time : time.movePointRight(3))
        .setScale(0, RoundingMode.FLOOR)
        .longValue();
  }

  private static boolean isMillis(Object bound) {
    return bound instanceof Number && new BigDecimal(bound.toString()).compareTo(YEAR_10000) >= 0;
  }

  /** Returns a bound in the seconds of the store; {@code given} is in milliseconds. */
  private static Object inSeconds(Object given) {
    return given instanceof Number bound ? seconds(Instant.ofEpochMilli(bound.longValue())) : given;
  }

  /**
   * Returns the event without what ADK cannot read: a part of a content, else a field. Warns unless
   * there is no {@code sessionId}.
   */
  private static Event readable(
      Map<String, Object> fields,
      Map<String, Object> stored,
      List<Object> metadata,
      String sessionId) {
    Set<String> refused = new LinkedHashSet<>();
    // What ADK takes for an empty part, or fails at without naming the place.
    if (fields.get("content") instanceof Map<?, ?> content
        && content.get("parts") instanceof List<?> parts
        && parts.removeIf(part -> !(part instanceof Map) || !isText(Json.object(part)))) {
      refuse("content", fields, stored, metadata, refused, sessionId);
    }
    while (true) {
      try {
        return Json.MAPPER.convertValue(fields, Event.class);
      } catch (IllegalArgumentException error) {
        List<Object> place = place(error);
        if (place.isEmpty() || !fields.containsKey(place.get(0))) {
          throw error;
        }
        boolean inActions = place.size() > 1 && place.get(0).equals("actions");
        String name = String.valueOf(place.get(inActions ? 1 : 0));
        if (!withoutPart(fields, place)) {
          (inActions ? Json.object(fields.get("actions")) : fields).remove(name);
        }
        if (name.equals("customMetadata")) {
          metadata.clear();
        }
        refuse(inActions ? "actions." + name : name, fields, stored, metadata, refused, sessionId);
      }
    }
  }

  private static boolean isText(Map<String, Object> part) {
    return part.get("text") == null || part.get("text") instanceof String;
  }

  /** Says in an event that a field is not shown whole. */
  private static void refuse(
      String shown,
      Map<String, Object> fields,
      Map<String, Object> stored,
      List<Object> metadata,
      Set<String> refused,
      String sessionId) {
    if (!refused.add(shown)) {
      return;
    }
    Object value =
        shown.startsWith("actions.")
            ? Json.object(stored.get("actions")).get(shown.substring("actions.".length()))
            : stored.get(shown);
    metadata.add(entry(REFUSED + shown, value));
    fields.put("customMetadata", metadata);
    if (stored.get("errorMessage") == null) {
      fields.put(
          "errorMessage", "google-adk refuses what is stored as " + String.join(", ", refused));
    }
    if (sessionId != null) {
      logger.warn(
          "Session {}, event {}: google-adk refuses what is stored as {}; the event is shown"
              + " without it.",
          sessionId,
          fields.get("id"),
          shown);
    }
  }

  /** Takes the part away in which a place is, if it is in one. */
  private static boolean withoutPart(Map<String, Object> fields, List<Object> place) {
    Object holder = fields;
    for (int at = 0; at < place.size(); at++) {
      Object step = place.get(at);
      if (holder instanceof List<?> parts
          && at > 0
          && place.get(at - 1).equals("parts")
          && step instanceof Integer index
          && index < parts.size()) {
        parts.remove(index.intValue());
        return true;
      }
      holder =
          holder instanceof List<?> list && step instanceof Integer index && index < list.size()
              ? list.get(index)
              : Json.object(holder).get(step);
    }
    return false;
  }

  /** Returns the names and indexes that lead to what was refused. */
  private static List<Object> place(IllegalArgumentException error) {
    List<Object> place = new ArrayList<>();
    if (error.getCause() instanceof JsonMappingException mapping) {
      for (JsonMappingException.Reference step : mapping.getPath()) {
        place.add(step.getFieldName() != null ? step.getFieldName() : step.getIndex());
      }
    }
    return place;
  }

  private static Map<String, Object> entry(String key, Object value) {
    return Map.of("key", key, "stringValue", value instanceof String ? value : Json.write(value));
  }

  /**
   * Returns an event as sessiond takes it, without {@code temp:} keys. The event stays as it is.
   *
   * <p>What was read, and not changed since, is as it is stored.
   */
  static Map<String, Object> event(Event event) {
    Map<String, Object> written = written(event);
    Map<String, Object> stored = origins.get(event);
    if (stored == null) {
      return written;
    }
    Map<String, Object> raw = Json.object(Json.copy(stored));
    raw.remove("sequence");
    raw.remove("commitTime");
    normalise(raw);
    bounds(Json.object(raw.get("actions")), bound -> isMillis(bound) ? inSeconds(bound) : bound);
    Map<String, Object> then = written(shown(stored, "", false));
    for (String whole : List.of("actions", "customMetadata")) {
      // Their members one by one, for one may have been changed, and another be unknown.
      if (raw.get(whole) instanceof Map && written.get(whole) instanceof Map) {
        Map<String, Object> members = Json.object(written.get(whole));
        restore(members, Json.object(then.get(whole)), Json.object(raw.get(whole)));
      }
    }
    restore(written, then, raw);
    return written;
  }

  /** Makes of the fields that are as they were read those that are stored. */
  private static void restore(
      Map<String, Object> written, Map<String, Object> then, Map<String, Object> raw) {
    Set<String> names = new LinkedHashSet<>(written.keySet());
    names.addAll(raw.keySet());
    for (String name : names) {
      boolean unchanged =
          written.containsKey(name) == then.containsKey(name)
              && Json.same(written.get(name), then.get(name));
      if (unchanged && raw.containsKey(name)) {
        written.put(name, raw.get(name));
      } else if (unchanged) {
        written.remove(name);
      }
    }
  }

  /** Gives a stored event the form in which the clients of all languages write one. */
  private static void normalise(Map<String, Object> raw) {
    Map<String, Object> actions = Json.object(raw.get("actions"));
    content(raw.get("content"));
    content(Json.object(actions.get("compaction")).get("compactedContent"));
    bytes(Json.object(raw.get("groundingMetadata")).get("searchEntryPoint"), "sdkBlob");
    if (raw.get("customMetadata") instanceof List<?> entries) {
      Map<String, Object> metadata = new LinkedHashMap<>();
      for (Object entry : entries) {
        metadata.put(Json.text(Json.object(entry), "key"), value(Json.object(entry)));
      }
      if (!metadata.containsKey(null)) {
        raw.put("customMetadata", metadata);
      }
    }
  }

  private static void content(Object content) {
    for (Object part : Json.list(Json.object(content).get("parts"))) {
      bytes(part, "thoughtSignature");
      bytes(Json.object(part).get("inlineData"), "data");
      content(Json.object(part).get("functionResponse"));
    }
  }

  private static void bytes(Object holder, String name) {
    if (Json.object(holder).get(name) instanceof String text) {
      try {
        Json.object(holder).put(name, Json.base64(Json.bytesOf(text)));
      } catch (IllegalArgumentException none) {
        // It stays as it is.
      }
    }
  }

  /** Returns what an entry of ADK's custom metadata says. */
  private static Object value(Map<String, Object> entry) {
    if (entry.get("stringValue") != null) {
      return entry.get("stringValue");
    }
    return entry.get("numericValue") != null
        ? entry.get("numericValue")
        : Json.object(entry.get("stringListValue")).get("values");
  }

  private static Map<String, Object> written(Event event) {
    Map<String, Object> fields = new LinkedHashMap<>(Json.object(Json.plain(event)));
    fields.values().removeIf(Objects::isNull);
    fields.put("timestamp", seconds(Instant.ofEpochMilli(event.timestamp())));
    normalise(fields);
    if (event.actions() == null) {
      return fields;
    }
    Map<String, Object> actions = new LinkedHashMap<>(Json.object(fields.get("actions")));
    bounds(actions, Wire::inSeconds);
    Map<String, Object> delta = new LinkedHashMap<>();
    List<Op> removals = new ArrayList<>();
    Json.object(actions.get("stateDelta"))
        .forEach(
            (key, value) -> {
              if (key.startsWith(State.TEMP_PREFIX)) {
                return;
              }
              if (event.actions().stateDelta().get(key) == State.REMOVED) {
                removals.add(Op.remove(key));
              } else {
                delta.put(key, value);
              }
            });
    actions.put("stateDelta", delta);
    if (!removals.isEmpty()) {
      actions.put("stateOps", ops(removals));
    }
    fields.put("actions", actions);
    return fields;
  }

  /** Returns an initial state as sessiond takes it. */
  static Map<String, Object> state(Map<String, Object> state) {
    Map<String, Object> written = new LinkedHashMap<>();
    state.forEach(
        (key, value) -> {
          if (!key.startsWith(State.TEMP_PREFIX) && value != State.REMOVED) {
            written.put(key, Json.plain(value));
          }
        });
    return written;
  }

  static List<Map<String, Object>> ops(List<Op> ops) {
    List<Map<String, Object>> written = new ArrayList<>();
    for (Op op : ops) {
      Map<String, Object> fields = new LinkedHashMap<>();
      fields.put("op", op.op());
      fields.put("key", op.key());
      if (!op.op().equals("remove")) {
        fields.put("value", Json.plain(op.value()));
      }
      written.add(fields);
    }
    return written;
  }

  /** Returns a moment in Unix seconds, with all its microseconds; a part of one counts as one. */
  static BigDecimal seconds(Instant moment) {
    BigDecimal seconds =
        BigDecimal.valueOf(moment.getEpochSecond())
            .add(BigDecimal.valueOf(moment.getNano(), 9))
            .setScale(6, RoundingMode.CEILING)
            .stripTrailingZeros();
    // 5.0 rather than 5 or 1E+1, as most languages write a float.
    return seconds.scale() < 1 ? seconds.setScale(1) : seconds;
  }

  /** Returns the moment of a time in an answer; the epoch if there is none. */
  static Instant instant(Object time) {
    if (time instanceof String text) {
      return OffsetDateTime.parse(text).toInstant();
    }
    if (!(time instanceof Number)) {
      return Instant.EPOCH;
    }
    BigDecimal micros =
        new BigDecimal(time.toString()).movePointRight(6).setScale(0, RoundingMode.FLOOR);
    long count = micros.longValueExact();
    return Instant.ofEpochSecond(
        Math.floorDiv(count, 1_000_000L), Math.floorMod(count, 1_000_000L) * 1000);
  }
}
