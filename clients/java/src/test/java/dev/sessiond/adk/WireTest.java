package dev.sessiond.adk;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.adk.events.Event;
import com.google.adk.events.EventActions;
import com.google.adk.events.EventCompaction;
import com.google.genai.types.Content;
import com.google.genai.types.CustomMetadata;
import com.google.genai.types.FunctionCall;
import com.google.genai.types.FunctionResponse;
import com.google.genai.types.Part;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** One wire form in all languages: the golden events that each client reads and writes. */
class WireTest {
  private static final Path WIRE = Path.of("../wire");
  private static final byte[] SIGNATURE = {
    (byte) 0xfb, (byte) 0xff, (byte) 0xfe, 0x3f, (byte) 0xef
  };

  private static List<Map<String, Object>> golden() throws IOException {
    List<Map<String, Object>> events = new ArrayList<>();
    Map<String, Object> file = Json.object(Files.readAllBytes(WIRE.resolve("events.json")));
    Json.list(file.get("events")).forEach(one -> events.add(Json.object(one)));
    return events;
  }

  private static Map<String, Object> golden(String id) throws IOException {
    return golden().stream()
        .map(one -> Json.object(one.get("event")))
        .filter(event -> id.equals(event.get("id")))
        .findFirst()
        .orElseThrow();
  }

  @TestFactory
  Stream<DynamicTest> aGoldenEventIsReadAndWrittenWhole() throws IOException {
    return golden().stream()
        .map(one -> DynamicTest.dynamicTest(Json.text(one, "name"), () -> isWhole(one)));
  }

  private static void isWhole(Map<String, Object> one) {
    Map<String, Object> expected = Json.object(Json.object(one.get("written_by")).get("java"));
    if (expected.isEmpty()) {
      expected = Json.object(one.getOrDefault("written", one.get("event")));
    }
    Event event = Wire.event(Json.object(one.get("event")), "s");
    assertSame("", expected, read(Wire.event(event)));
    // What ADK's type holds is written so, too, by an event that was not read.
    Event copy = event.toBuilder().build();
    Event again = Wire.event(read(Wire.event(copy)), "s");
    // Arrays of bytes are equal to themselves alone.
    assertEquals(Json.plain(event.content()), Json.plain(again.content()));
    assertEquals(Json.plain(event.actions()), Json.plain(again.actions()));
    if (one.containsKey("texts")) {
      List<Part> parts = event.content().orElseThrow().parts().orElseThrow();
      assertEquals(one.get("texts"), parts.stream().map(part -> part.text().orElse(null)).toList());
    }
  }

  /** Returns what is sent as the server reads it. */
  private static Map<String, Object> read(Map<String, Object> written) {
    return Json.object(Json.bytes(written));
  }

  private static void assertSame(String at, Object expected, Object actual) {
    if (expected instanceof Map<?, ?> one && actual instanceof Map<?, ?> other) {
      var names = new TreeSet<String>(Json.object(one).keySet());
      names.addAll(Json.object(other).keySet());
      for (String name : names) {
        assertEquals(one.containsKey(name), other.containsKey(name), at + "/" + name);
        assertSame(at + "/" + name, one.get(name), other.get(name));
      }
    } else {
      assertTrue(Json.same(expected, actual), at + ": " + expected + ", not " + actual);
    }
  }

  @Test
  void bytesAreReadInBothAlphabetsAndWrittenInOne() throws IOException {
    for (String id : List.of("golden-url", "golden-standard")) {
      Event event = Wire.event(golden(id), "s");
      List<Part> parts = event.content().orElseThrow().parts().orElseThrow();
      assertArrayEquals(SIGNATURE, parts.get(0).thoughtSignature().orElseThrow());
      assertArrayEquals(
          new byte[] {(byte) 0xfb, (byte) 0xff, (byte) 0xfe},
          parts.get(1).inlineData().orElseThrow().data().orElseThrow());
      String written = Json.write(Wire.event(event.toBuilder().build()));
      assertTrue(written.contains("\"thoughtSignature\":\"-__-P-8=\""), written);
      assertTrue(written.contains("\"data\":\"-__-\""), written);
    }
  }

  @Test
  void aCompactionIsInSecondsInTheStoreAndInMillisecondsHere() throws IOException {
    for (String id : List.of("golden-compaction", "golden-millis")) {
      Event event = Wire.event(golden(id), "s");
      EventCompaction compaction = event.actions().compaction().orElseThrow();
      assertEquals(1795579734880L, compaction.startTimestamp());
      assertEquals(1795579738250L, compaction.endTimestamp());
      Map<String, Object> written = read(Wire.event(event.toBuilder().build()));
      Map<String, Object> stored =
          Json.object(Json.object(written.get("actions")).get("compaction"));
      assertEquals(1795579734.88, stored.get("startTimestamp"));
      assertEquals(1795579738.25, stored.get("endTimestamp"));
    }
  }

  @Test
  void customMetadataIsAPlainObjectInTheStore() throws IOException {
    Event event =
        Event.builder()
            .id("e")
            .author("a")
            .customMetadata(
                List.of(
                    CustomMetadata.builder().key("trace").stringValue("abc").build(),
                    CustomMetadata.builder().key("n").numericValue(2.5f).build()))
            .build();
    assertSame("", Map.of("trace", "abc", "n", 2.5), Wire.event(event).get("customMetadata"));
    // What was read keeps its types, also beside what is added.
    Event read = Wire.event(golden("golden-full"), "s");
    List<CustomMetadata> entries = new ArrayList<>(read.customMetadata().orElseThrow());
    entries.add(CustomMetadata.builder().key("added").stringValue("x").build());
    read.setCustomMetadata(entries);
    Map<String, Object> expected =
        new LinkedHashMap<>(Json.object(golden("golden-full").get("customMetadata")));
    expected.put("added", "x");
    assertSame("", expected, Wire.event(read).get("customMetadata"));
  }

  @Test
  void whatWasChangedSinceItWasReadIsWrittenAsItIsNow() throws IOException {
    Event event = Wire.event(golden("golden-full"), "s");
    event.setContent(Content.fromParts(Part.fromText("other")));
    event.actions().setEscalate(false);
    Map<String, Object> expected = new LinkedHashMap<>(golden("golden-full"));
    expected.put("content", Map.of("parts", List.of(Map.of("text", "other")), "role", "user"));
    Map<String, Object> actions = new LinkedHashMap<>(Json.object(expected.get("actions")));
    actions.put("escalate", false);
    expected.put("actions", actions);
    assertSame("", expected, read(Wire.event(event)));
  }

  /**
   * A new field of ADK fails here first: add it to clients/wire/fields.json and to the golden
   * event, and see what the other languages make of it.
   */
  @Test
  void everyFieldOfAnEventIsKnown() throws IOException {
    Map<String, Class<?>> types =
        Map.of(
            "event", Event.class,
            "actions", EventActions.class,
            "compaction", EventCompaction.class,
            "content", Content.class,
            "part", Part.class,
            "functionCall", FunctionCall.class,
            "functionResponse", FunctionResponse.class);
    Map<String, Object> found = new LinkedHashMap<>();
    types.forEach((name, type) -> found.put(name, fields(type)));
    Map<String, Object> file = Json.object(Files.readAllBytes(WIRE.resolve("fields.json")));
    assertSame("", file.get("java"), found);
  }

  private static List<String> fields(Class<?> type) {
    var config = Json.MAPPER.getSerializationConfig();
    var names = new TreeSet<String>();
    config
        .introspect(Json.MAPPER.constructType(type))
        .findProperties()
        .forEach(property -> names.add(property.getName()));
    return List.copyOf(names);
  }
}
