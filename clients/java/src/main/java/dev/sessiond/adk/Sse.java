package dev.sessiond.adk;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * Server-sent events, as the HTML standard has them (section 9.2.6). Reads one stream, in chunks
 * that may be cut anywhere; what comes after the last empty line is no frame.
 */
final class Sse {
  // More than a day means nothing to somebody who waits.
  private static final long LONGEST_RETRY_MILLIS = 86_400_000;

  /** An event of the stream: its name, its lines of data, and the stream's last id. */
  record Frame(String name, String data, String id) {}

  private final ByteArrayOutputStream line = new ByteArrayOutputStream();
  private boolean begun;
  private boolean afterReturn;
  private String name = "";
  private final List<String> data = new ArrayList<>();
  private String id;
  private long retryMillis = -1;

  /** Takes the id that the stream begins behind. */
  Sse(String lastId) {
    id = lastId;
  }

  /** The last {@code retry:} of the stream; -1 if there was none. */
  long retryMillis() {
    return retryMillis;
  }

  /** Returns the frames that end within this chunk. */
  List<Frame> feed(byte[] chunk) {
    List<Frame> frames = new ArrayList<>();
    for (byte unit : chunk) {
      if (unit == '\n' && afterReturn) {
        afterReturn = false;
        continue;
      }
      afterReturn = unit == '\r';
      if (unit == '\n' || unit == '\r') {
        take(line.toString(StandardCharsets.UTF_8), frames);
        line.reset();
      } else {
        line.write(unit);
      }
    }
    return frames;
  }

  private void take(String read, List<Frame> frames) {
    String text = !begun && read.startsWith("\ufeff") ? read.substring(1) : read;
    begun = true;
    if (text.isEmpty()) {
      if (!data.isEmpty()) {
        frames.add(new Frame(name.isEmpty() ? "message" : name, String.join("\n", data), id));
      }
      name = "";
      data.clear();
      return;
    }
    int colon = text.indexOf(':');
    String field = colon < 0 ? text : text.substring(0, colon);
    String value = colon < 0 ? "" : text.substring(colon + 1);
    value = value.startsWith(" ") ? value.substring(1) : value;
    switch (field) {
      case "data" -> data.add(value);
      case "event" -> name = value;
      case "id" -> id = value.indexOf('\0') < 0 ? value : id;
      case "retry" -> {
        if (value.matches("[0-9]+")) {
          boolean sane = value.length() < 18;
          retryMillis =
              sane ? Math.min(Long.parseLong(value), LONGEST_RETRY_MILLIS) : LONGEST_RETRY_MILLIS;
        }
      }
      default -> {}
    }
  }
}
