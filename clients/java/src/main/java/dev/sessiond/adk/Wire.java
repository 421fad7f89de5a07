package dev.sessiond.adk;

import com.fasterxml.jackson.databind.JsonMappingException;
import com.google.adk.events.Event;
import com.google.adk.sessions.Session;
import com.google.adk.sessions.State;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** ADK's sessions and events as sessiond's JSON, and back. */
final class Wire {
  /** Before the names of fields whose values ADK refuses, in an event's custom metadata. */
  static final String REFUSED = "sessiond_refused.";

  private static final Logger logger = LoggerFactory.getLogger(SessiondSessionService.class);

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
   * is moved to its custom metadata: one such event must not make the session unreadable.
   */
  static Event event(Map<String, Object> stored, String sessionId) {
    Map<String, Object> fields = new LinkedHashMap<>(stored);
    fields.put("timestamp", instant(stored.get("timestamp")).toEpochMilli());
    Map<String, Object> actions = new LinkedHashMap<>(Json.object(stored.get("actions")));
    actions.values().removeIf(Objects::isNull);
    Map<String, Object> delta = new LinkedHashMap<>(Json.object(actions.get("stateDelta")));
    for (Object op : Json.list(actions.get("stateOps"))) {
      if ("remove".equals(Json.object(op).get("op"))) {
        // ADK reads null as REMOVED. A key that was set again afterwards is in the delta.
        delta.putIfAbsent(Json.text(Json.object(op), "key"), null);
      }
    }
    actions.put("stateDelta", delta);
    fields.put("actions", actions);
    // A map in Python, a list of entries in Java.
    List<Object> metadata = new ArrayList<>(Json.list(stored.get("customMetadata")));
    Json.object(stored.get("customMetadata"))
        .forEach((key, value) -> metadata.add(entry(key, value)));
    if (!metadata.isEmpty()) {
      fields.put("customMetadata", metadata);
    }
    return readable(fields, metadata, sessionId);
  }

  private static Event readable(
      Map<String, Object> fields, List<Object> metadata, String sessionId) {
    List<String> refused = new ArrayList<>();
    while (true) {
      try {
        return Json.MAPPER.convertValue(fields, Event.class);
      } catch (IllegalArgumentException error) {
        List<String> place = place(error);
        if (place.isEmpty() || !fields.containsKey(place.get(0))) {
          throw error;
        }
        boolean inActions = place.size() > 1 && place.get(0).equals("actions");
        Map<String, Object> holder = inActions ? Json.object(fields.get("actions")) : fields;
        String name = place.get(inActions ? 1 : 0);
        Object value = holder.remove(name);
        String shown = inActions ? "actions." + name : name;
        refused.add(shown);
        if (name.equals("customMetadata")) {
          metadata.clear();
        }
        metadata.add(entry(REFUSED + shown, value));
        fields.put("customMetadata", metadata);
        fields.putIfAbsent(
            "errorMessage", "google-adk refuses what is stored as " + String.join(", ", refused));
        logger.warn(
            "Session {}, event {}: google-adk refuses what is stored as {}; the event is shown"
                + " without it.",
            sessionId,
            fields.get("id"),
            shown);
      }
    }
  }

  /** Returns the names of the fields that lead to what was refused. */
  private static List<String> place(IllegalArgumentException error) {
    List<String> names = new ArrayList<>();
    if (error.getCause() instanceof JsonMappingException mapping) {
      mapping.getPath().stream()
          .map(JsonMappingException.Reference::getFieldName)
          .takeWhile(Objects::nonNull)
          .forEach(names::add);
    }
    return names;
  }

  private static Map<String, Object> entry(String key, Object value) {
    return Map.of("key", key, "stringValue", value instanceof String ? value : Json.write(value));
  }

  /**
   * Returns an event as sessiond takes it, without {@code temp:} keys. The event stays as it is.
   */
  static Map<String, Object> event(Event event) {
    Map<String, Object> fields = new LinkedHashMap<>(Json.object(Json.plain(event)));
    fields.values().removeIf(Objects::isNull);
    fields.put("timestamp", seconds(Instant.ofEpochMilli(event.timestamp())));
    if (event.actions() == null) {
      return fields;
    }
    Map<String, Object> actions = new LinkedHashMap<>(Json.object(fields.get("actions")));
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
