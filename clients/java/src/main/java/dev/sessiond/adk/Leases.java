package dev.sessiond.adk;

import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The leases of a service's turns. */
final class Leases {
  private static final Logger logger = LoggerFactory.getLogger(SessiondSessionService.class);

  // For one request, so that a wait survives what closes idle connections.
  private static final long ONE_WAIT_SECONDS = 30;

  // Names this process: PID@HOST in most Java machines, and something that no other drew.
  private static final String PROCESS =
      ManagementFactory.getRuntimeMXBean().getName() + "/" + UUID.randomUUID();

  private final Http http;
  private final Duration wait;
  private final Duration ttl;
  private final Set<Turn> held = ConcurrentHashMap.newKeySet();

  Leases(Http http, Duration wait, Duration ttl) {
    this.http = http;
    this.wait = wait;
    this.ttl = ttl;
  }

  /** An invocation that runs on a session object. Compared by identity. */
  static final class Turn {
    private final String path;
    private final String invocationId;
    private final Map<String, Object> granted;
    private volatile StaleSessionException superseded;

    private Turn(String path, String invocationId, Map<String, Object> granted) {
      this.path = path;
      this.invocationId = invocationId;
      this.granted = granted;
    }

    String invocationId() {
      return invocationId;
    }

    /** The revision of the session when this turn got the lease. */
    long revision() {
      return Json.number(granted, "revision");
    }

    /** Returns what the writes of this turn carry. */
    String header() {
      if (superseded != null) {
        throw superseded;
      }
      return granted.get("epoch") + "-" + granted.get("incarnation");
    }

    /** Notes that the turn was superseded; returns what it is told, now and at each write. */
    StaleSessionException supersededBy(Http.Reply reply) {
      superseded =
          new StaleSessionException(
              "The invocation "
                  + invocationId
                  + " was superseded: another turn has taken the lease of its session. Load the"
                  + " session again.",
              reply.error());
      return superseded;
    }
  }

  /** Takes the lease of the session at a path, for an invocation that has none. */
  Turn take(String path, String sessionId, String invocationId) {
    Map<String, Object> asked = new LinkedHashMap<>();
    // A turn is an owner of its own: two that run the same invocation in this process are rivals.
    asked.put("owner", PROCESS + "/" + UUID.randomUUID());
    asked.put("invocationId", invocationId);
    asked.put("ttl", Wire.seconds(Instant.EPOCH.plus(ttl)));
    long deadline = System.nanoTime() + wait.toNanos();
    long seconds = 0;
    while (true) {
      Http.Call call = Http.Call.of("POST", path + "/lease").body(asked);
      if (seconds > 0) {
        call =
            call.query(Map.of("wait", Long.toString(seconds)))
                .patience(Duration.ofSeconds(seconds));
      }
      Http.Reply reply = http.send(call);
      if (reply.code().equals("session_not_found")) {
        throw Reads.notFound(sessionId, reply);
      }
      if (!reply.code().equals("lease_held")) {
        Turn turn = new Turn(path, invocationId, reply.success());
        held.add(turn);
        return turn;
      }
      long left = Duration.ofNanos(deadline - System.nanoTime()).toMillis();
      if (left <= 0) {
        throw busy(reply);
      }
      if (seconds > 0) {
        // The server may have ended the wait early.
        pause(Math.min(left, ThreadLocalRandom.current().nextLong(200, 500)), reply);
      }
      seconds = Math.max(1, Math.min(ONE_WAIT_SECONDS, left / 1000));
    }
  }

  /** Releases a lease, unless that was done. Otherwise it expires, so a failure is but logged. */
  void release(Turn turn) {
    if (!held.remove(turn) || turn.superseded != null) {
      return;
    }
    Map<String, String> query = new LinkedHashMap<>();
    query.put("epoch", String.valueOf(turn.granted.get("epoch")));
    query.put("incarnation", String.valueOf(turn.granted.get("incarnation")));
    try {
      Http.Reply reply = http.send(Http.Call.of("DELETE", turn.path + "/lease").query(query));
      if (!reply.code().equals("session_not_found")) {
        reply.success();
      }
    } catch (SessiondException error) {
      logger.warn("The lease of a turn was not released: {}", error.getMessage());
    }
  }

  void releaseAll() {
    for (Turn turn : Set.copyOf(held)) {
      release(turn);
    }
  }

  static SessionBusyException busy(Http.Reply reply) {
    Object expires = reply.body().get("expireTime");
    return new SessionBusyException(
        reply.error(),
        Json.text(reply.body(), "owner"),
        expires == null ? null : Wire.instant(expires));
  }

  private static void pause(long millis, Http.Reply reply) {
    try {
      Thread.sleep(millis);
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
      throw busy(reply);
    }
  }
}
