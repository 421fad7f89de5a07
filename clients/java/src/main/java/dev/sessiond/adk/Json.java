package dev.sessiond.adk;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.databind.DeserializationContext;
import com.fasterxml.jackson.databind.JsonMappingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.deser.std.StdDeserializer;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.google.adk.JsonBaseModel;
import java.io.IOException;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** JSON as ADK writes it, and read without a loss of digits. */
final class Json {
  /** ADK's own, with values of no particular type as {@link Exact} reads them. */
  static final ObjectMapper MAPPER =
      JsonBaseModel.getMapper()
          .copy()
          .registerModule(new SimpleModule().addDeserializer(Object.class, new Exact()));

  private Json() {}

  /** Returns the object in an answer; empty if it is none. */
  static Map<String, Object> object(byte[] body) {
    try {
      return object(MAPPER.readValue(body, Object.class));
    } catch (IOException notJson) {
      return Map.of();
    }
  }

  /** Returns a value that is an object; empty if it is none. */
  @SuppressWarnings("unchecked") // The keys of JSON are strings.
  static Map<String, Object> object(Object value) {
    return value instanceof Map ? (Map<String, Object>) value : Map.of();
  }

  /** Returns a value that is a list; empty if it is none. */
  static List<?> list(Object value) {
    return value instanceof List<?> list ? list : List.of();
  }

  /** Returns the text of a field; null if it has none. */
  static String text(Map<String, Object> object, String field) {
    return object.get(field) instanceof String text ? text : null;
  }

  /** Returns the whole number of a field; 0 if it has none. */
  static long number(Map<String, Object> object, String field) {
    return object.get(field) instanceof Number number ? number.longValue() : 0;
  }

  /**
   * Returns a value as plain JSON: maps, lists, texts, numbers.
   *
   * @throws IllegalArgumentException if JSON has nothing for it, such as for NaN
   */
  static Object plain(Object value) {
    return MAPPER.convertValue(value, Object.class);
  }

  /**
   * Returns the bytes of a request.
   *
   * @throws IllegalArgumentException if a text has half a character
   */
  static byte[] bytes(Object value) {
    try {
      return MAPPER.writeValueAsBytes(value);
    } catch (JsonProcessingException error) {
      // Its message may show the value.
      throw new IllegalArgumentException("A value cannot be written as JSON.");
    }
  }

  /** Returns the text of a value. */
  static String write(Object value) {
    return new String(bytes(value), java.nio.charset.StandardCharsets.UTF_8);
  }

  /**
   * Reads any value. Whole numbers are Integer, Long or BigInteger; others are Double where it has
   * all their digits, else BigDecimal.
   */
  private static final class Exact extends StdDeserializer<Object> {
    private static final long serialVersionUID = 1;

    Exact() {
      super(Object.class);
    }

    @Override
    public Object deserialize(JsonParser parser, DeserializationContext context)
        throws IOException {
      switch (parser.currentToken()) {
        case START_OBJECT -> {
          Map<String, Object> object = new LinkedHashMap<>();
          for (String key = parser.nextFieldName(); key != null; key = parser.nextFieldName()) {
            parser.nextToken();
            object.put(key, deserialize(parser, context));
          }
          return object;
        }
        case START_ARRAY -> {
          List<Object> array = new ArrayList<>();
          while (parser.nextToken() != JsonToken.END_ARRAY) {
            array.add(deserialize(parser, context));
          }
          return array;
        }
        case VALUE_STRING -> {
          return parser.getText();
        }
        case VALUE_NUMBER_INT -> {
          return parser.getNumberValue();
        }
        case VALUE_NUMBER_FLOAT -> {
          return decimal(parser);
        }
        case VALUE_TRUE -> {
          return true;
        }
        case VALUE_FALSE -> {
          return false;
        }
        case VALUE_NULL -> {
          return null;
        }
        case VALUE_EMBEDDED_OBJECT -> {
          return parser.getEmbeddedObject();
        }
        default -> throw JsonMappingException.from(parser, "There is no value.");
      }
    }

    private static Object decimal(JsonParser parser) throws IOException {
      String text = parser.getText();
      double nearest = Double.parseDouble(text);
      if (Double.isNaN(nearest) || text.endsWith("Infinity")) {
        throw JsonMappingException.from(parser, "A NaN or an infinity is no JSON.");
      }
      BigDecimal exact = new BigDecimal(text);
      boolean same =
          !Double.isInfinite(nearest) && BigDecimal.valueOf(nearest).compareTo(exact) == 0;
      return same ? (Object) nearest : exact;
    }
  }
}
