package dev.sessiond.adk;

import com.google.adk.events.Event;
import com.google.adk.sessions.Session;
import com.google.adk.sessions.State;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;

/** Appends to a session, in the store and then in the session object, one after the other. */
final class Appends {
  /** The answer to an append of an event that is here already. */
  private static final Map<String, String> MINIMAL = Map.of("answer", "minimal");

  private final Http http;
  private final Concurrency concurrency;
  private final History history;
  private final Leases leases;
  private final Reads reads;

  Appends(Http http, Concurrency concurrency, History history, Leases leases, Reads reads) {
    this.http = http;
    this.concurrency = concurrency;
    this.history = history;
    this.leases = leases;
    this.reads = reads;
  }

  /** Returns the work that appends an event; see {@link SessiondSessionService#appendEvent}. */
  Callable<Event> event(Session session, String path, Event event) {
    return turn(
        session,
        mine -> {
          boolean guarded = concurrency == Concurrency.SESSION;
          // A compaction comes when the turn is over.
          boolean leased =
              concurrency == Concurrency.LEASE
                  && event.actions() != null
                  && event.actions().compaction().isEmpty();
          long seen = mine.revision;
          Http.Reply reply =
              append(session, path, mine, Wire.event(event), MINIMAL, guarded, leased);
          boolean replayed = reply.headers().firstValue("Idempotent-Replayed").isPresent();
          // The session may show the event without having it: a compaction may cover it.
          boolean covered =
              history == History.EFFECTIVE && Json.number(reply.body(), "sequence") <= seen;
          boolean shown = covered || has(session, event.id());
          if (!replayed || !shown) {
            if (event.actions() != null) {
              event
                  .actions()
                  .stateDelta()
                  .forEach((key, value) -> Wire.putOrRemove(session.state(), key, value));
            }
            session.events().add(event);
            session.lastUpdateTime(Instant.ofEpochMilli(event.timestamp()));
          }
          return event;
        });
  }

  /** Returns the work that changes state, whose event is made here, once. */
  Callable<Map<String, Object>> ops(
      Session session,
      String path,
      List<Op> ops,
      List<Precondition> preconditions,
      String author,
      String invocationId,
      String once) {
    Map<String, Object> event = new LinkedHashMap<>();
    event.put("id", once == null ? Event.generateEventId() : once);
    if (once == null) {
      // A change that is made again has the time of the first one.
      event.put("timestamp", Wire.seconds(Instant.now().truncatedTo(ChronoUnit.MILLIS)));
    }
    event.put("author", author);
    event.put("invocationId", invocationId);
    Map<String, Object> asked = new LinkedHashMap<>(Map.of("stateOps", Wire.ops(ops)));
    if (!preconditions.isEmpty()) {
      asked.put("preconditions", preconditions.stream().map(Precondition::fields).toList());
    }
    event.put("actions", asked);
    return turn(
        session,
        mine -> {
          long seen = mine.revision;
          boolean leased = concurrency == Concurrency.LEASE;
          Http.Reply reply;
          boolean replayed;
          try {
            reply = append(session, path, mine, event, Map.of(), false, leased);
            replayed = reply.headers().firstValue("Idempotent-Replayed").isPresent();
          } catch (SessiondException conflict) {
            if (once == null || !conflict.code().equals(Optional.of("event_id_conflict"))) {
              throw conflict;
            }
            reply = made(path, once, asked, conflict);
            replayed = true;
          }
          Map<String, Object> actions = Json.object(reply.body().get("actions"));
          Map<String, Object> values = new LinkedHashMap<>(Json.object(actions.get("stateDelta")));
          Event appended = Wire.event(reply.body(), session.id());
          // A session that was read after the change shows what became of it since.
          boolean shown = replayed && Json.number(reply.body(), "sequence") <= seen;
          if (!shown && !has(session, appended.id())) {
            for (Op op : ops) {
              Wire.putOrRemove(session.state(), op.key(), values.get(op.key()));
            }
            session.events().add(appended);
            session.lastUpdateTime(Instant.ofEpochMilli(appended.timestamp()));
          }
          return values;
        });
  }

  /**
   * Returns the event of a change that was made before, by another agent or in another invocation.
   */
  private Http.Reply made(
      String path, String id, Map<String, Object> asked, SessiondException conflict) {
    Http.Reply reply = http.send(Http.Call.of("GET", path + "/events" + Http.path(Http.EVENT, id)));
    Map<String, Object> said = Json.object(reply.success().get("actions"));
    Map<String, Object> wanted = Json.object(Json.plain(asked));
    for (String name : List.of("stateOps", "preconditions")) {
      if (!Json.same(wanted.get(name), said.get(name))) {
        throw conflict;
      }
    }
    return reply;
  }

  private Http.Reply append(
      Session session,
      String path,
      Known mine,
      Map<String, Object> event,
      Map<String, String> query,
      boolean guarded,
      boolean leased) {
    Map<String, String> headers = new LinkedHashMap<>();
    if (leased) {
      String invocationId = Json.text(event, "invocationId");
      if (invocationId != null && !invocationId.isEmpty()) {
        takeTurn(session, path, mine, invocationId);
      }
    }
    if (concurrency == Concurrency.LEASE && mine.lease != null) {
      headers.put("Sessiond-Lease", mine.lease.header());
    }
    if (guarded) {
      if (mine.revision < 0) {
        throw new StaleSessionException(
            "Session " + session.id() + " was not loaded from this service; get it first.",
            new SessiondException("It has no revision.", null, 0, Map.of(), "not_applied"));
      }
      headers.put("If-Match", "\"" + mine.revision + "\"");
    }
    Http.Reply reply =
        http.send(Http.Call.of("POST", path + "/events").query(query).body(event).headers(headers));
    switch (reply.code()) {
      case "session_not_found" -> throw Reads.notFound(session.id(), reply);
      case "revision_mismatch" ->
          throw new StaleSessionException(
              guarded
                  ? "Session "
                      + session.id()
                      + " has been modified in storage since it was loaded; load it again."
                  : reply.error().getMessage(),
              reply.error());
      case "fenced" -> throw mine.lease == null ? reply.error() : mine.lease.supersededBy(reply);
      case "lease_held" -> throw Leases.busy(reply);
      default -> {}
    }
    mine.saw(Json.number(reply.success(), "sequence"));
    return reply;
  }

  /** Takes the lease, and shows in the session object what others have appended until then. */
  private void takeTurn(Session session, String path, Known mine, String invocationId) {
    if (mine.lease != null && mine.lease.invocationId().equals(invocationId)) {
      return;
    }
    if (mine.lease != null) {
      leases.release(mine.lease);
      mine.lease = null;
    }
    Leases.Turn lease = leases.take(path, session.id(), invocationId);
    mine.lease = lease;
    long revision = lease.revision();
    while (mine.revision >= 0 && revision > mine.revision) {
      long missed = revision - mine.revision;
      // An effective history is loaded as a whole, below.
      long asked = history == History.EFFECTIVE ? 0 : missed;
      Http.Reply reply =
          http.send(
              Http.Call.of("GET", path).query(Map.of("numRecentEvents", Long.toString(asked))));
      if (reply.code().equals("session_not_found")) {
        throw Reads.notFound(session.id(), reply);
      }
      boolean rewound = history == History.EFFECTIVE || Wire.rewinds(reply.success());
      Session stored = rewound ? reads.load(path, Map.of()) : Wire.session(reply.body());
      if (stored == null) {
        throw Reads.notFound(session.id(), reply);
      }
      // Side writers may have appended more meanwhile.
      revision = rewound ? reads.known(stored).revision : Json.number(reply.body(), "revision");
      if (rewound || revision - mine.revision == missed) {
        if (rewound) {
          // What the session has may have been taken back, or covered.
          session.events().clear();
        }
        Map<String, Object> state = session.state();
        state
            .keySet()
            .removeIf(
                key -> !key.startsWith(State.TEMP_PREFIX) && !stored.state().containsKey(key));
        state.putAll(stored.state());
        session.events().addAll(stored.events());
        session.lastUpdateTime(stored.lastUpdateTime());
        mine.revision = revision;
      }
    }
  }

  /** What is done with a session object while nobody else appends through it. */
  private interface Work<T> {
    T with(Known mine) throws InterruptedException;
  }

  private <T> Callable<T> turn(Session session, Work<T> work) {
    return () -> {
      Known mine = reads.known(session);
      mine.turn.lockInterruptibly();
      try {
        return work.with(mine);
      } finally {
        mine.turn.unlock();
      }
    };
  }

  private static boolean has(Session session, String eventId) {
    synchronized (session.events()) {
      return session.events().stream().anyMatch(event -> eventId.equals(event.id()));
    }
  }
}
