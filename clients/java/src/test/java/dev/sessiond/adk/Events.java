package dev.sessiond.adk;

import com.google.adk.events.Event;
import com.google.adk.events.EventActions;
import com.google.genai.types.Content;
import com.google.genai.types.Part;
import java.util.Map;

/** Events of the tests. */
final class Events {
  private Events() {}

  static Event.Builder event() {
    return Event.builder().id(Event.generateEventId()).author("agent").invocationId("inv");
  }

  static Event text(String text) {
    return event().content(Content.fromParts(Part.fromText(text))).build();
  }

  static Event delta(Map<String, Object> delta) {
    return event().actions(EventActions.builder().stateDelta(delta).build()).build();
  }
}
