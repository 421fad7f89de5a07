package dev.sessiond.adk;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;

/**
 * What must hold of a key for operators to be applied. It is judged in the transaction that applies
 * them.
 */
public final class Precondition {
  private final Map<String, Object> fields = new LinkedHashMap<>();

  private Precondition(String key, String asks, Object what) {
    fields.put("key", Objects.requireNonNull(key, "key"));
    fields.put(asks, what);
  }

  /**
   * Asks for a key to be there, or not to be there.
   *
   * @param key the key, with its prefix
   * @param exists whether it is to be there
   * @return the precondition
   */
  public static Precondition exists(String key, boolean exists) {
    return new Precondition(key, "exists", exists);
  }

  /**
   * Asks for a value. Numbers are compared by value: 1 equals 1.0.
   *
   * @param key the key, with its prefix
   * @param value the value, which may be null
   * @return the precondition
   */
  public static Precondition isValue(String key, Object value) {
    return new Precondition(key, "equals", Json.plain(value));
  }

  /**
   * Asks for a key not to have changed since a revision.
   *
   * @param key the key, with its prefix
   * @param revision that of the session, or of the scope of an {@code app:} or {@code user:} key
   * @return the precondition
   */
  public static Precondition unchanged(String key, long revision) {
    return new Precondition(key, "revision", revision);
  }

  Map<String, Object> fields() {
    return fields;
  }
}
