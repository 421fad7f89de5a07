package dev.sessiond.adk;

import io.reactivex.rxjava3.core.Emitter;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.Flow;
import java.util.concurrent.ThreadLocalRandom;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Following a session, and how that goes on after its connection broke. */
final class Watch {
  private static final Logger logger = LoggerFactory.getLogger(SessiondSessionService.class);

  // Before the first attempt to come back, doubled for each further one up to the second.
  private static final long FIRST_WAIT_MILLIS = 1000;
  private static final long LONGEST_WAIT_MILLIS = 30_000;

  private final Http http;
  private final String path;
  private final String sessionId;
  private final boolean includeState;
  private final Duration silence;
  private final Queue<Sse.Frame> frames = new ArrayDeque<>();

  private String cursor;
  private Chunks chunks;
  private Sse parser;
  private long waitMillis = FIRST_WAIT_MILLIS;
  private boolean asked;
  private int failures;
  private boolean ended;

  Watch(
      Http http,
      String path,
      String sessionId,
      String after,
      boolean includeState,
      Duration silence) {
    this.http = http;
    this.path = path;
    this.sessionId = sessionId;
    this.cursor = after == null ? "" : after;
    this.includeState = includeState;
    this.silence = silence;
  }

  /** Emits the next item, the end, or a failure; waits for it. */
  void emit(Emitter<WatchItem> emitter) {
    if (ended) {
      emitter.onComplete();
      return;
    }
    try {
      WatchItem item = next();
      cursor = item.cursor();
      failures = 0;
      ended = item instanceof WatchItem.Deleted;
      emitter.onNext(item);
    } catch (InterruptedException disposed) {
      // Nobody listens any more.
      emitter.onComplete();
    } catch (Throwable error) {
      // Also such as a class that is missing: RxJava would let the thread die of it.
      if (Thread.interrupted()) {
        emitter.onComplete();
      } else {
        emitter.onError(error);
      }
    }
  }

  void close() {
    if (chunks != null) {
      chunks.close();
      chunks = null;
    }
  }

  private WatchItem next() throws InterruptedException {
    while (true) {
      String why = "the stream ended";
      Duration atLeast = Duration.ZERO;
      boolean warn = false;
      try {
        if (chunks == null) {
          Http.Reply refusal = connect();
          if (refusal != null) {
            if (!Http.RETRIED.contains(refusal.status())) {
              throw refused(refusal);
            }
            why = refusal.error().getMessage();
            atLeast = Http.retryAfter(refusal.headers());
            warn = true;
          }
        }
        while (chunks != null) {
          for (Sse.Frame frame = frames.poll(); frame != null; frame = frames.poll()) {
            if (frame.name().equals("bye")) {
              why = "sessiond ended the stream: " + object(frame).get("reason");
            }
            WatchItem item = item(frame);
            if (item != null) {
              return item;
            }
          }
          byte[] chunk = chunks.next();
          if (chunk == null) {
            break;
          }
          frames.addAll(parser.feed(chunk));
        }
      } catch (IOException error) {
        why = Http.notReached(error);
        warn = true;
      }
      if (parser != null && parser.retryMillis() >= 0) {
        waitMillis = parser.retryMillis();
        asked = true;
      }
      close();
      pause(atLeast, why, warn);
    }
  }

  /** Opens the stream; returns the answer if that is another one. */
  private Http.Reply connect() throws IOException, InterruptedException {
    Map<String, String> query = new LinkedHashMap<>();
    if (!cursor.isEmpty()) {
      query.put("afterSequence", cursor);
    }
    if (includeState) {
      query.put("include", "state");
    }
    Http.Call call =
        Http.Call.of("GET", path).query(query).headers(Map.of("Accept", "text/event-stream"));
    frames.clear();
    parser = new Sse(cursor);
    HttpResponse<Flow.Publisher<List<ByteBuffer>>> response = http.open(call);
    if (response.statusCode() != 200) {
      return http.read(call, response);
    }
    chunks = new Chunks(silence);
    response.body().subscribe(chunks);
    String type = response.headers().firstValue("Content-Type").orElse("");
    if (!type.split(";", 2)[0].strip().equals("text/event-stream")) {
      throw new SessiondException(
          "The answer to a watch is not sessiond's. GET " + http.url(path) + ".",
          null,
          200,
          Map.of(),
          null);
    }
    return null;
  }

  private void pause(Duration atLeast, String why, boolean warn) throws InterruptedException {
    long longest = Math.max(waitMillis, LONGEST_WAIT_MILLIS);
    long limit = Math.min(waitMillis << failures, longest);
    // The server has spread the time for which it asks.
    boolean exact = asked && failures == 0;
    long pause = exact ? limit : ThreadLocalRandom.current().nextLong(limit + 1);
    pause = Math.max(pause, atLeast.toMillis());
    failures = Math.min(failures + 1, 8);
    String message = "Watch of {}: coming back in {} ms: {}";
    if (warn) {
      logger.warn(message, http.url(path), pause, why);
    } else {
      logger.info(message, http.url(path), pause, why);
    }
    Thread.sleep(pause);
  }

  /** Returns what is thrown for an answer that would be the same again. */
  private RuntimeException refused(Http.Reply reply) {
    return switch (reply.code()) {
      case "session_not_found" -> Reads.notFound(sessionId, reply);
      case "position_gone" ->
          new PositionGoneException(
              reply.error(),
              Json.number(reply.body(), "revision"),
              Json.number(reply.body(), "baseRevision"));
      default -> reply.error();
    };
  }

  /** Returns what a frame says; null if it is of a kind that this version does not know. */
  private WatchItem item(Sse.Frame frame) {
    String at = frame.id();
    return switch (frame.name()) {
      case "event" -> {
        Map<String, Object> said = object(frame);
        yield new WatchItem.EventItem(
            at,
            Wire.event(said, sessionId),
            Json.number(said, "sequence"),
            Wire.instant(said.get("commitTime")));
      }
      case "caught_up" -> new WatchItem.CaughtUp(at, Json.number(object(frame), "revision"));
      case "state" -> {
        Map<String, Object> said = object(frame);
        List<String> removed = new ArrayList<>();
        Json.list(said.get("removed")).forEach(key -> removed.add(String.valueOf(key)));
        yield new WatchItem.StateChange(
            at,
            Optional.ofNullable(said.get("state")).map(Json::object),
            Json.object(said.get("set")),
            removed,
            Json.text(said, "revisions"));
      }
      case "metadata" -> {
        Map<String, Object> said = object(frame);
        Map<String, String> labels = new LinkedHashMap<>();
        Json.object(said.get("labels"))
            .forEach((name, value) -> labels.put(name, String.valueOf(value)));
        Optional<Instant> expires = Optional.ofNullable(said.get("expireTime")).map(Wire::instant);
        yield new WatchItem.MetadataChange(
            at, Optional.ofNullable(Json.text(said, "displayName")), labels, expires);
      }
      case "deleted" -> new WatchItem.Deleted(at, Json.text(object(frame), "reason"));
      default -> null;
    };
  }

  private Map<String, Object> object(Sse.Frame frame) {
    Map<String, Object> said =
        Json.object(frame.data().getBytes(java.nio.charset.StandardCharsets.UTF_8));
    if (said.isEmpty()) {
      throw new SessiondException(
          "The stream has a frame "
              + frame.name()
              + " that is not sessiond's. GET "
              + http.url(path)
              + ".",
          null,
          200,
          Map.of(),
          null);
    }
    return said;
  }
}
