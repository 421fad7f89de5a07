package dev.sessiond.adk;

import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * An operator, which the server applies to the value that is there.
 *
 * @param op sessiond's word for it
 * @param key the key, with its prefix
 * @param value the operand; null for {@code remove}
 */
public record Op(String op, String key, Object value) {
  /**
   * Takes the parts of an operator.
   *
   * @param op sessiond's word for it
   * @param key the key, with its prefix
   * @param value the operand; null for {@code remove}
   */
  public Op {
    Objects.requireNonNull(op, "op");
    Objects.requireNonNull(key, "key");
  }

  /**
   * Sets a value.
   *
   * @param key the key
   * @param value the value, which may be null
   * @return the operator
   */
  public static Op set(String key, Object value) {
    return new Op("set", key, value);
  }

  /**
   * Removes a key. An absent one stays absent.
   *
   * @param key the key
   * @return the operator
   */
  public static Op remove(String key) {
    return new Op("remove", key, null);
  }

  /**
   * Adds a number; an absent key is 0. Exact for integers of any size.
   *
   * @param key the key
   * @param by what to add
   * @return the operator
   */
  public static Op increment(String key, Number by) {
    return new Op("increment", key, by);
  }

  /**
   * Puts values at the end of a list; an absent key is an empty one.
   *
   * @param key the key
   * @param values the values
   * @return the operator
   */
  public static Op append(String key, List<?> values) {
    return new Op("append", key, values);
  }

  /**
   * Puts those values at the end of a list that are not in it yet.
   *
   * @param key the key
   * @param values the values
   * @return the operator
   */
  public static Op union(String key, List<?> values) {
    return new Op("union", key, values);
  }

  /**
   * Keeps the larger number.
   *
   * @param key the key
   * @param value the number to compare with
   * @return the operator
   */
  public static Op max(String key, Number value) {
    return new Op("max", key, value);
  }

  /**
   * Keeps the smaller number.
   *
   * @param key the key
   * @param value the number to compare with
   * @return the operator
   */
  public static Op min(String key, Number value) {
    return new Op("min", key, value);
  }

  /**
   * Merges fields into an object, as RFC 7396 says: a null removes the field.
   *
   * @param key the key
   * @param fields the fields
   * @return the operator
   */
  public static Op merge(String key, Map<String, ?> fields) {
    return new Op("merge", key, fields);
  }
}
