package dev.sessiond.adk;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.databind.DeserializationContext;
import com.fasterxml.jackson.databind.JsonMappingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializerProvider;
import com.fasterxml.jackson.databind.deser.std.StdDeserializer;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.fasterxml.jackson.databind.ser.std.StdSerializer;
import com.google.adk.JsonBaseModel;
import java.io.IOException;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.IntStream;

/** JSON as ADK writes it, and read without a loss of digits. */
final class Json {
  /** ADK's own, with values of no particular type as {@link Exact} reads them. */
  static final ObjectMapper MAPPER =
      JsonBaseModel.getMapper()
          .copy()
          .registerModule(
              new SimpleModule()
                  .addDeserializer(Object.class, new Exact())
                  .addDeserializer(byte[].class, new Bytes())
                  .addSerializer(byte[].class, new Base64Text()));

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

  /** Whether two values of JSON are equal, numbers by their value. */
  static boolean same(Object one, Object other) {
    if (one instanceof Map<?, ?> map && other instanceof Map<?, ?> with) {
      return map.keySet().equals(with.keySet())
          && map.entrySet().stream().allMatch(e -> same(e.getValue(), with.get(e.getKey())));
    }
    if (one instanceof List<?> list && other instanceof List<?> with) {
      return list.size() == with.size()
          && IntStream.range(0, list.size()).allMatch(i -> same(list.get(i), with.get(i)));
    }
    if (one instanceof Number && other instanceof Number) {
      return new BigDecimal(one.toString()).compareTo(new BigDecimal(other.toString())) == 0;
    }
    return Objects.equals(one, other);
  }

  /** Returns a copy of a value of JSON that may be changed at any depth. */
  static Object copy(Object value) {
    if (value instanceof Map<?, ?>) {
      Map<String, Object> copy = new LinkedHashMap<>();
      object(value).forEach((key, member) -> copy.put(key, copy(member)));
      return copy;
    }
    if (value instanceof List<?> list) {
      List<Object> copy = new ArrayList<>();
      list.forEach(element -> copy.add(copy(element)));
      return copy;
    }
    return value;
  }

  /** Returns bytes as the clients of all languages write them. */
  static String base64(byte[] bytes) {
    return Base64.getUrlEncoder().encodeToString(bytes);
  }

  /**
   * Returns the bytes of a text in either alphabet of base64, padded or not.
   *
   * @throws IllegalArgumentException if they are none
   */
  static byte[] bytesOf(String text) {
    boolean url = text.indexOf('-') >= 0 || text.indexOf('_') >= 0;
    return (url ? Base64.getUrlDecoder() : Base64.getDecoder()).decode(text);
  }

  /** Reads bytes in both alphabets of base64. */
  private static final class Bytes extends StdDeserializer<byte[]> {
    private static final long serialVersionUID = 1;

    Bytes() {
      super(byte[].class);
    }

    @Override
    public byte[] deserialize(JsonParser parser, DeserializationContext context)
        throws IOException {
      if (parser.currentToken() != JsonToken.VALUE_STRING) {
        throw JsonMappingException.from(parser, "Bytes are a text.");
      }
      try {
        return bytesOf(parser.getText());
      } catch (IllegalArgumentException notBase64) {
        throw JsonMappingException.from(parser, "Bytes are base64.");
      }
    }
  }

  /** Writes bytes in the alphabet for URLs, as ADK's own server does. */
  private static final class Base64Text extends StdSerializer<byte[]> {
    private static final long serialVersionUID = 1;

    Base64Text() {
      super(byte[].class);
    }

    @Override
    public void serialize(byte[] bytes, JsonGenerator generator, SerializerProvider provider)
        throws IOException {
      generator.writeString(base64(bytes));
    }
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
