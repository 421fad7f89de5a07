package dev.sessiond.adk;

import com.google.adk.events.Event;
import com.google.adk.plugins.Plugin;
import com.google.adk.sessions.BaseSessionService;
import com.google.adk.sessions.GetSessionConfig;
import com.google.adk.sessions.ListEventsResponse;
import com.google.adk.sessions.ListSessionsResponse;
import com.google.adk.sessions.Session;
import com.google.adk.sessions.SessionNotFoundException;
import com.google.adk.sessions.State;
import com.google.common.collect.MapMaker;
import io.opentelemetry.context.Context;
import io.reactivex.rxjava3.annotations.CheckReturnValue;
import io.reactivex.rxjava3.core.Completable;
import io.reactivex.rxjava3.core.Flowable;
import io.reactivex.rxjava3.core.Maybe;
import io.reactivex.rxjava3.core.Single;
import io.reactivex.rxjava3.core.SingleOnSubscribe;
import io.reactivex.rxjava3.schedulers.Schedulers;
import java.math.BigDecimal;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;

/**
 * Keeps the sessions of ADK agents in sessiond.
 *
 * <pre>{@code
 * var sessions = SessiondSessionService.builder().url("http://127.0.0.1:8080").build();
 * var runner = Runner.builder().agent(agent).appName("cafe").sessionService(sessions).build();
 * }</pre>
 *
 * <p>What it guarantees, beyond what ADK asks of a session service:
 *
 * <ul>
 *   <li>When {@link #appendEvent} succeeds, the event and all its state changes are on disk, and
 *       every later read through any process shows them.
 *   <li>If it fails, the session object is as it was before. The event may be appended again, also
 *       if it is unknown whether it was stored: its id makes sure that it is stored once.
 *   <li>Appends through one session object take turns, so {@link Session#events()} has the order of
 *       the store.
 *   <li>Concurrent writers of different keys of app or user state never undo one another. For
 *       several writers of one key see {@link Ops}.
 * </ul>
 *
 * <p>An instance is safe to use from all threads; a program needs one. Nothing is sent before the
 * returned type is subscribed to. Requests run on {@link Schedulers#io()}, whose threads also bring
 * the results; {@link #appendEvent} alone runs on the thread that subscribes, as ADK's own services
 * do, unless that is one of {@link Schedulers#computation()} or {@link Schedulers#single()}.
 * Failures are a {@link SessiondException}, or ADK's {@link SessionNotFoundException}; values that
 * JSON does not have are an {@link IllegalArgumentException}. A name that is null, empty or would
 * address another path is a {@link SessiondException} with the code {@code invalid_argument}, which
 * is thrown at once, before anything is sent.
 */
public final class SessiondSessionService implements BaseSessionService, AutoCloseable {
  private static final String URL_FORM =
      "The URL of sessiond is http://HOST:PORT or https://HOST, without a user, a query and a"
          + " fragment.";

  /** How many of the last events come with an effective history. */
  private static final long LAST = 100;

  /** The answer to an append of an event that is here already. */
  private static final Map<String, String> MINIMAL = Map.of("answer", "minimal");

  private final Http http;
  private final Concurrency concurrency;
  private final History history;
  private final Leases leases;
  private final Duration watchSilence;

  // What is known of a session object; compared by identity, and gone with the object.
  private final ConcurrentMap<Session, Known> known = new MapMaker().weakKeys().makeMap();

  /** Of a session object. */
  static final class Known {
    /** Whose turn it is to append through it. */
    final ReentrantLock turn = new ReentrantLock(true);

    /** The revision up to which it has seen all events; -1 if it was not loaded here. */
    volatile long revision = -1;

    /** Its lease, if it has one. */
    volatile Leases.Turn lease;

    /**
     * Counts an event that was appended through the object.
     *
     * <p>A gap before it means that others appended events which the object has not seen. Then the
     * revision stays, and the object is stale.
     */
    void saw(long sequence) {
      if (sequence == revision + 1) {
        revision = sequence;
      }
    }
  }

  private SessiondSessionService(Builder builder) {
    String fixed = builder.token;
    if (fixed == null && builder.tokenSupplier == null) {
      fixed = System.getenv("SESSIOND_TOKEN");
    }
    Bearer bearer = null;
    if (builder.tokenSupplier != null) {
      bearer = new Bearer(builder.tokenSupplier);
    } else if (fixed != null && !fixed.isEmpty()) {
      bearer = new Bearer(fixed);
    }
    http =
        new Http(
            url(builder.url),
            bearer,
            builder.connectTimeout,
            builder.callTimeout,
            builder.retryFor,
            builder.sslContext);
    concurrency = builder.concurrency;
    history = builder.history;
    leases = new Leases(http, builder.leaseWait, builder.leaseTtl);
    watchSilence = builder.watchSilence;
  }

  /**
   * Begins a service.
   *
   * @return a builder with the defaults, which lacks the URL
   */
  public static Builder builder() {
    return new Builder();
  }

  /**
   * Returns the artifact service of the same sessiond, with the same settings.
   *
   * <pre>{@code
   * Runner.builder().agent(agent).sessionService(sessions).artifactService(sessions.artifacts());
   * }</pre>
   *
   * @return the service
   */
  public SessiondArtifactService artifacts() {
    return new SessiondArtifactService(http);
  }

  /**
   * Creates a session; see {@link #createSession(String, String, Map, String)}.
   *
   * @deprecated as in ADK, which asks for the one that takes a {@link Map}
   */
  @Deprecated
  @Override
  public Single<Session> createSession(
      String appName, String userId, ConcurrentMap<String, Object> state, String sessionId) {
    return createSession(appName, userId, (Map<String, Object>) state, sessionId);
  }

  /**
   * Creates a session, once, also if the first answer gets lost.
   *
   * @param appName the app
   * @param userId the user
   * @param state the initial state: {@code app:} and {@code user:} keys go to app and user state,
   *     {@code temp:} keys nowhere; null is none
   * @param sessionId the id; white space around it is not part of it; if it is null or blank, one
   *     is generated
   * @return the session; fails with the code {@code session_already_exists} if there is one, which
   *     is left as it is
   */
  @Override
  public Single<Session> createSession(
      String appName, String userId, Map<String, Object> state, String sessionId) {
    String sessions = sessions(appName, userId);
    String name = sessionId == null ? "" : Http.trimmed(sessionId);
    if (!name.isEmpty()) {
      Http.named(Http.SESSION, name);
    }
    // Drawn here, so that a second subscription does not create a second session.
    String id = UUID.randomUUID().toString();
    return io(
        () -> {
          Map<String, Object> body = new LinkedHashMap<>();
          body.put("state", Wire.state(state == null ? Map.of() : state));
          if (name.isEmpty()) {
            // Nobody else knows this id: what a get-or-create gets can only be what an attempt
            // before has created.
            String path = sessions + Http.path(Http.SESSION, id);
            return loaded(http.send(Http.Call.of("PUT", path).body(body)));
          }
          body.put("sessionId", name);
          // By the key sessiond knows what an attempt before has created.
          return loaded(
              http.send(
                  Http.Call.of("POST", sessions)
                      .body(body)
                      .headers(Map.of("Idempotency-Key", id))));
        });
  }

  /**
   * Returns a session with its merged state and its events, as of one moment.
   *
   * <p>A state key whose value is null is absent, for ADK's state can hold no null.
   *
   * @param config limits the events: first to the last {@code numRecentEvents}, of these to those
   *     not before {@code afterTimestamp}; the server applies it
   * @return the session; empty if there is none
   */
  @Override
  public Maybe<Session> getSession(
      String appName, String userId, String sessionId, Optional<GetSessionConfig> config) {
    String user = user(appName, userId);
    Map<String, String> query = new LinkedHashMap<>();
    config
        .flatMap(GetSessionConfig::numRecentEvents)
        .ifPresent(count -> query.put("numRecentEvents", count.toString()));
    config
        .flatMap(GetSessionConfig::afterTimestamp)
        .ifPresent(from -> query.put("afterTimestamp", Wire.seconds(from).toPlainString()));
    if (isBlank(sessionId)) {
      return Maybe.empty();
    }
    String path = path(user, sessionId);
    return io(() -> Optional.ofNullable(load(path, query)))
        .flatMapMaybe(found -> found.map(Maybe::just).orElseGet(Maybe::empty));
  }

  /**
   * Returns the sessions of a user, with merged state and without events.
   *
   * @return by last update, the latest at the end, then by id; what changes meanwhile may or may
   *     not be seen
   */
  @Override
  public Single<ListSessionsResponse> listSessions(String appName, String userId) {
    String sessions = sessions(appName, userId);
    return io(
        () -> {
          // One that was updated between two pages is on both.
          Map<String, Session> found = new LinkedHashMap<>();
          Map<String, String> query = new LinkedHashMap<>();
          query.put("includeState", "true");
          for (Map<String, Object> page : pages(sessions, query)) {
            for (Object stored : Json.list(page.get("sessions"))) {
              Session session = Wire.session(Json.object(stored));
              found.remove(session.id());
              found.put(session.id(), session);
            }
          }
          return ListSessionsResponse.builder().sessions(new ArrayList<>(found.values())).build();
        });
  }

  /**
   * Deletes a session with its events and its own state, if there is one. App and user state stay.
   */
  @Override
  public Completable deleteSession(String appName, String userId, String sessionId) {
    String user = user(appName, userId);
    if (isBlank(sessionId)) {
      return Completable.complete();
    }
    String path = path(user, sessionId);
    return io(() -> http.send(Http.Call.of("DELETE", path)).success()).ignoreElement();
  }

  /**
   * Returns all events of a session.
   *
   * @return in the order of the store; none if there is no such session
   */
  @Override
  public Single<ListEventsResponse> listEvents(String appName, String userId, String sessionId) {
    String user = user(appName, userId);
    if (isBlank(sessionId)) {
      return Single.just(ListEventsResponse.builder().build());
    }
    String path = path(user, sessionId) + "/events";
    String name = Http.trimmed(sessionId);
    return io(
        () -> {
          List<Event> events = new ArrayList<>();
          for (Map<String, Object> page : pages(path, new LinkedHashMap<>())) {
            for (Object stored : Json.list(page.get("events"))) {
              events.add(Wire.event(Json.object(stored), name));
            }
          }
          return ListEventsResponse.builder().events(events).build();
        });
  }

  /**
   * Appends an event and applies its state delta, in the store and then in the session object.
   *
   * <p>A partial event is returned as it is. {@code temp:} keys are put into the state of the
   * session object and are not sent. {@link State#REMOVED} removes a key. {@link
   * Session#lastUpdateTime()} becomes the event's timestamp. An event that the session already has
   * is not applied again. An event without an id gets one.
   *
   * <p>To subscribe returns when it is stored: ADK's workflow agents count on it. A thread that
   * must not wait, of {@link Schedulers#computation()} or {@link Schedulers#single()}, does not;
   * there, the agents of a sequence may begin before what the one before them said is stored.
   *
   * @return the event; fails with {@link SessionNotFoundException}; {@link StaleSessionException},
   *     with {@link Concurrency#SESSION} or {@link Concurrency#LEASE}; {@link
   *     SessionBusyException}; or a {@link SessiondException}, with the code {@code
   *     event_id_conflict} if the session has another event with this id
   */
  @Override
  public Single<Event> appendEvent(Session session, Event event) {
    Objects.requireNonNull(session, "session");
    Objects.requireNonNull(event, "event");
    String path = path(session);
    if (event.partial().orElse(false)) {
      return Single.just(event);
    }
    if (event.id() == null) {
      event.setId(Event.generateEventId());
    }
    Callable<Event> work =
        turn(
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
    // ADK's workflow agents begin the next agent when to emit an event returns, not when the runner
    // has stored it. So it returns when it is stored, unless its thread must not wait.
    return Single.defer(
        () -> mustNotWait(Thread.currentThread()) ? io(work) : Single.create(emit(work)));
  }

  /**
   * Changes state by operators, which the server applies to what is there: nothing is lost between
   * writers. For tools and callbacks see {@link Ops}.
   *
   * <p>They are applied in order, all or none, through one event that is appended to the session,
   * also to the session object. After a lost answer they are not applied twice, nor by a second
   * subscription.
   *
   * @param session the session whose state, user state and app state the keys are of
   * @param ops what to do
   * @param preconditions what must hold for that
   * @param author the author of the event
   * @param invocationId the invocation that the event is part of; may be empty
   * @return the values of the keys after it; a removed key is absent. Nothing was changed if it
   *     fails with {@link StaleSessionException}, as a precondition does not hold, or with the code
   *     {@code invalid_argument}, as an operator does not fit the value that is there
   */
  @CheckReturnValue
  public Single<Map<String, Object>> applyOps(
      Session session,
      List<Op> ops,
      List<Precondition> preconditions,
      String author,
      String invocationId) {
    return applyOps(session, ops, preconditions, author, invocationId, null);
  }

  /**
   * Changes state by operators, once.
   *
   * @param session the session whose state, user state and app state the keys are of
   * @param ops what to do
   * @param preconditions what must hold for that
   * @param author the author of the event
   * @param invocationId the invocation that the event is part of; may be empty
   * @param once an id for this change, the same in every run of the program: the session makes a
   *     change of this id once. It is the id of the event; null generates one
   * @return the values of the keys after it. Where the change was made before, whoever made it,
   *     nothing is changed, and the values are those that it had then. It fails as without an id,
   *     and with the code {@code event_id_conflict} if the session has another change, or another
   *     event, of this id
   */
  @CheckReturnValue
  public Single<Map<String, Object>> applyOps(
      Session session,
      List<Op> ops,
      List<Precondition> preconditions,
      String author,
      String invocationId,
      String once) {
    String path = path(session);
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
    return io(
        turn(
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
              Map<String, Object> values =
                  new LinkedHashMap<>(Json.object(actions.get("stateDelta")));
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
            }));
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

  /**
   * Follows a session from its first event; see {@link #watch(String, String, String, String,
   * boolean)}.
   *
   * @param appName the app
   * @param userId the user
   * @param sessionId the session
   * @return what happens to the session
   */
  @CheckReturnValue
  public Flowable<WatchItem> watch(String appName, String userId, String sessionId) {
    return watch(appName, userId, sessionId, null, false);
  }

  /**
   * Follows a session: emits what is there, and then each event as it is committed, by whichever
   * process.
   *
   * <p>Each event comes once and in order, also if the connection breaks: then the watch comes back
   * by itself and goes on behind the last one. It pauses in between as the server asks, else for up
   * to 1 s, doubled for each further attempt up to 30 s, at random. A connection that brings
   * nothing for 45 s is given up. Only {@link WatchItem.CaughtUp}, {@link WatchItem.MetadataChange}
   * and a whole {@link WatchItem.StateChange} come again after that. To go on in another process,
   * store {@link WatchItem#cursor()} when the item has had its effect, and give it as {@code
   * after}.
   *
   * <p>It honours backpressure: a slow subscriber loses nothing and buffers nothing. It ends after
   * {@link WatchItem.Deleted}; to dispose it closes its connection, which is its own. It blocks a
   * thread of {@link Schedulers#io()}.
   *
   * @param appName the app
   * @param userId the user
   * @param sessionId the session
   * @param after begin behind this place: a cursor, the number of an event, or {@code now} for what
   *     is still to come; null emits the whole log
   * @param includeState whether to emit {@link WatchItem.StateChange}, too
   * @return what happens to the session; fails with {@link SessionNotFoundException}, {@link
   *     PositionGoneException}, or a {@link SessiondException} if the credential (status 401, 403)
   *     or an argument was refused
   */
  @CheckReturnValue
  public Flowable<WatchItem> watch(
      String appName, String userId, String sessionId, String after, boolean includeState) {
    String path = path(user(appName, userId), sessionId) + "/watch";
    String name = Http.trimmed(sessionId);
    return Flowable.generate(
            () -> new Watch(http, path, name, after, includeState, watchSilence),
            Watch::emit,
            Watch::close)
        .subscribeOn(Schedulers.io());
  }

  /**
   * Returns the plugin that tells when an invocation is over, which {@link Concurrency#LEASE}
   * needs:
   *
   * <pre>{@code
   * Runner.builder().agent(agent).sessionService(sessions).plugins(sessions.turns()).build();
   * }</pre>
   *
   * <p>It releases the lease of the session when a run ends or fails. A run that is disposed of
   * before, and any without the plugin, keeps it for the lease's time after its last event, unless
   * {@link #closeSession} is called. With another {@link Concurrency} it does nothing.
   *
   * @return the plugin
   */
  public Plugin turns() {
    return new Turns(this);
  }

  /**
   * Ends the turn of a session object: releases its lease, if it has one.
   *
   * <p>An invocation that goes on may do so until another one takes the lease, and is superseded
   * then.
   */
  @Override
  public Completable closeSession(Session session) {
    return io(() -> {
          Known mine = known.get(session);
          if (mine != null && mine.lease != null) {
            leases.release(mine.lease);
          }
          return true;
        })
        .ignoreElement();
  }

  /** Releases all leases, and waits for that. The service can be used again. */
  @Override
  public void close() {
    io(() -> {
          leases.releaseAll();
          return true;
        })
        .blockingSubscribe();
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
      case "session_not_found" -> throw notFound(session.id(), reply);
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
        throw notFound(session.id(), reply);
      }
      boolean rewound = history == History.EFFECTIVE || Wire.rewinds(reply.success());
      Session stored = rewound ? load(path, Map.of()) : Wire.session(reply.body());
      if (stored == null) {
        throw notFound(session.id(), reply);
      }
      // Side writers may have appended more meanwhile.
      revision = rewound ? known(stored).revision : Json.number(reply.body(), "revision");
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

  /** Returns a session without what was taken back, or covered; null if there is none. */
  private Session load(String path, Map<String, String> limits) {
    Map<String, String> query = new LinkedHashMap<>(limits);
    if (history == History.EFFECTIVE) {
      query.put("history", "effective");
    }
    while (true) {
      Http.Reply reply = http.send(Http.Call.of("GET", path).query(query));
      if (reply.code().equals("session_not_found")) {
        return null;
      }
      // What was taken back comes before what took it back. So if that is not here, neither is the
      // former.
      Map<String, Object> stored = new LinkedHashMap<>(reply.success());
      if (history == History.EFFECTIVE && limits.isEmpty()) {
        addTheLast(path, stored);
      }
      if (!Wire.rewinds(stored) || visible(path, query, stored)) {
        Session session = Wire.session(stored);
        known(session).revision = Json.number(stored, "revision");
        return session;
      }
    }
  }

  /**
   * Puts the last events of the log into a session that has its effective history.
   *
   * <p>A prompt is the same with what a compaction covers, as long as the compaction is there.
   */
  private void addTheLast(String path, Map<String, Object> stored) {
    List<?> left = Json.list(stored.get("events"));
    long revision = Json.number(stored, "revision");
    long last =
        left.stream()
            .filter(event -> Json.number(Json.object(event), "sequence") > revision - LAST)
            .count();
    if (last == Math.min(LAST, revision) || left.stream().noneMatch(Wire::compacts)) {
      return;
    }
    Map<String, String> query = new LinkedHashMap<>();
    query.put("excludeRewound", "true");
    query.put("order", "desc");
    query.put("beforeSequence", Long.toString(revision + 1));
    query.put("pageSize", Long.toString(LAST));
    Http.Reply reply = http.send(Http.Call.of("GET", path + "/events").query(query));
    if (reply.code().equals("session_not_found")
        || Json.number(reply.success(), "revision") < revision) {
      return;
    }
    Map<Long, Object> all = new TreeMap<>();
    for (Object event : Json.list(reply.body().get("events"))) {
      all.put(Json.number(Json.object(event), "sequence"), event);
    }
    for (Object event : left) {
      all.put(Json.number(Json.object(event), "sequence"), event);
    }
    stored.put("events", new ArrayList<>(all.values()));
  }

  /**
   * Puts the events into a session that were not taken back: first the last ones, of these those
   * since a time.
   *
   * @return whether the session was the same all the time
   */
  private boolean visible(String path, Map<String, String> limits, Map<String, Object> stored) {
    Map<String, String> query = new LinkedHashMap<>();
    query.put("excludeRewound", "true");
    query.put("order", "desc");
    String recent = limits.get("numRecentEvents");
    String after = limits.get("afterTimestamp");
    if (recent == null && after != null) {
      query.put("afterTimestamp", after);
    }
    int wanted = recent == null ? Integer.MAX_VALUE : Integer.parseInt(recent);
    List<Object> events = new ArrayList<>();
    Long revision = null;
    while (events.size() < wanted) {
      query.put("pageSize", Integer.toString(Math.min(wanted - events.size(), 1000)));
      Http.Reply reply = http.send(Http.Call.of("GET", path + "/events").query(query));
      if (reply.code().equals("session_not_found")) {
        return false;
      }
      Map<String, Object> page = reply.success();
      // The later pages are about what was there at the first one.
      revision = revision == null ? Json.number(page, "revision") : revision;
      events.addAll(Json.list(page.get("events")));
      String next = Json.text(page, "nextPageToken");
      if (next == null) {
        break;
      }
      query.put("pageToken", next);
    }
    if (after != null) {
      Instant since = Wire.instant(new BigDecimal(after));
      events.removeIf(event -> Wire.instant(Json.object(event).get("timestamp")).isBefore(since));
    }
    Collections.reverse(events);
    stored.put("events", events);
    return revision == null || revision == Json.number(stored, "revision");
  }

  private Session loaded(Http.Reply reply) {
    Session session = Wire.session(reply.success());
    known(session).revision = Json.number(reply.body(), "revision");
    return session;
  }

  private Known known(Session session) {
    return known.computeIfAbsent(session, unseen -> new Known());
  }

  private List<Map<String, Object>> pages(String path, Map<String, String> query) {
    List<Map<String, Object>> pages = new ArrayList<>();
    query.put("pageSize", "1000");
    while (true) {
      Http.Reply reply = http.send(Http.Call.of("GET", path).query(query));
      if (reply.code().equals("session_not_found")) {
        return List.of();
      }
      pages.add(reply.success());
      String next = Json.text(reply.body(), "nextPageToken");
      if (next == null) {
        return pages;
      }
      query.put("pageToken", next);
    }
  }

  /** What is done with a session object while nobody else appends through it. */
  private interface Work<T> {
    T with(Known mine) throws InterruptedException;
  }

  private <T> Callable<T> turn(Session session, Work<T> work) {
    return () -> {
      Known mine = known(session);
      mine.turn.lockInterruptibly();
      try {
        return work.with(mine);
      } finally {
        mine.turn.unlock();
      }
    };
  }

  /** Runs work that blocks on a thread for that, with the caller's trace; to dispose interrupts. */
  static <T> Single<T> io(Callable<T> work) {
    return Single.defer(
        () -> Single.create(emit(Context.current().wrap(work))).subscribeOn(Schedulers.io()));
  }

  /** Whether a thread is one of the few on which all that is reactive runs. */
  private static boolean mustNotWait(Thread thread) {
    // RxJava documents these names, and tells it in no other public way.
    return thread.getName().startsWith("RxComputationThreadPool-")
        || thread.getName().startsWith("RxSingleScheduler-");
  }

  private static <T> SingleOnSubscribe<T> emit(Callable<T> work) {
    return emitter -> {
      try {
        emitter.onSuccess(work.call());
      } catch (Throwable error) {
        // Also such as a class that is missing: RxJava would let the thread die of it, and the
        // subscriber wait for ever.
        emitter.tryOnError(error);
      }
    };
  }

  static SessionNotFoundException notFound(String sessionId, Http.Reply reply) {
    return new SessionNotFoundException("Session " + sessionId + " not found.", reply.error());
  }

  private static boolean has(Session session, String eventId) {
    synchronized (session.events()) {
      return session.events().stream().anyMatch(event -> eventId.equals(event.id()));
    }
  }

  private static String path(Session session) {
    return path(user(session.appName(), session.userId()), session.id());
  }

  /** The path of a session of the user with that path. */
  static String path(String user, String sessionId) {
    return user + "/sessions" + Http.path(Http.SESSION, Http.trimmed(sessionId));
  }

  private static String sessions(String appName, String userId) {
    return user(appName, userId) + "/sessions";
  }

  static String user(String appName, String userId) {
    return "/v1/apps" + Http.path(Http.APP, appName) + "/users" + Http.path(Http.USER, userId);
  }

  /** Whether it is the id of no session; one that is null is a mistake. */
  private static boolean isBlank(String sessionId) {
    return sessionId != null && Http.trimmed(sessionId).isEmpty();
  }

  /** Returns the URL without a slash at its end. A message shows nothing of one that is refused. */
  private static String url(String url) {
    Objects.requireNonNull(url, "url");
    URI parts;
    try {
      parts = URI.create(url.strip());
    } catch (IllegalArgumentException notAUrl) {
      throw new IllegalArgumentException(URL_FORM);
    }
    if (parts.getRawUserInfo() != null || parts.getRawQuery() != null) {
      throw new IllegalArgumentException(
          URL_FORM + " Give a credential as `token`, or in the variable SESSIOND_TOKEN.");
    }
    boolean known = "http".equals(parts.getScheme()) || "https".equals(parts.getScheme());
    if (!known || parts.getHost() == null || parts.getRawFragment() != null) {
      throw new IllegalArgumentException(URL_FORM);
    }
    return Pattern.compile("/+$").matcher(url.strip()).replaceAll("");
  }

  /** The settings of a service. */
  public static final class Builder {
    private String url;
    private String token;
    private Supplier<String> tokenSupplier;
    private Concurrency concurrency = Concurrency.NONE;
    private History history = History.FULL;
    private Duration leaseWait = Duration.ofMinutes(5);
    private Duration leaseTtl = Duration.ofSeconds(60);
    private Duration connectTimeout = Duration.ofSeconds(2);
    private Duration callTimeout = Duration.ofSeconds(15);
    private Duration retryFor = Duration.ofSeconds(30);
    private Duration watchSilence = Duration.ofSeconds(45);
    private SSLContext sslContext;

    private Builder() {}

    /**
     * Sets where sessiond is.
     *
     * @param url {@code http://HOST:PORT} or {@code https://HOST}, with a path if a proxy puts it
     *     under one; no credential is allowed in it
     * @return this
     */
    public Builder url(String url) {
      this.url = url;
      return this;
    }

    /**
     * Sets the credential: an API key, a user token or a JWT, sent as {@code Authorization: Bearer
     * TOKEN}.
     *
     * @param token by default that of the variable {@code SESSIOND_TOKEN}, which is read when the
     *     service is built; {@code ""} is none, whatever the variable says
     * @return this
     */
    public Builder token(String token) {
      this.token = token;
      return this;
    }

    /**
     * Sets what gives the credential. It is called for the first request, its token is kept, and it
     * is called again when the server refuses that one (401): once for all requests that wait, each
     * of which is then sent once more.
     *
     * @param tokenSupplier may block; if it fails, so does the request
     * @return this
     */
    public Builder tokenSupplier(Supplier<String> tokenSupplier) {
      this.tokenSupplier = tokenSupplier;
      return this;
    }

    /**
     * Sets what happens when several writers append to one session.
     *
     * @param concurrency by default {@link Concurrency#NONE}
     * @return this
     */
    public Builder concurrency(Concurrency concurrency) {
      this.concurrency = Objects.requireNonNull(concurrency, "concurrency");
      return this;
    }

    /**
     * Sets which events of a session are loaded.
     *
     * @param history by default {@link History#FULL}
     * @return this
     */
    public Builder history(History history) {
      this.history = Objects.requireNonNull(history, "history");
      return this;
    }

    /**
     * Sets how long to wait for the turn of another invocation, with {@link Concurrency#LEASE}.
     *
     * @param leaseWait by default 5 minutes; with zero, {@link SessionBusyException} comes at once
     * @return this
     */
    public Builder leaseWait(Duration leaseWait) {
      this.leaseWait = Objects.requireNonNull(leaseWait, "leaseWait");
      return this;
    }

    /**
     * Sets for how long after the last event of an invocation none can take over from it. One that
     * was superseded stores no event any more.
     *
     * @param leaseTtl 1 s to 15 minutes; by default 60 s
     * @return this
     */
    public Builder leaseTtl(Duration leaseTtl) {
      this.leaseTtl = Objects.requireNonNull(leaseTtl, "leaseTtl");
      return this;
    }

    /**
     * Sets how long a connection may take to be made.
     *
     * @param connectTimeout by default 2 s
     * @return this
     */
    public Builder connectTimeout(Duration connectTimeout) {
      this.connectTimeout = Objects.requireNonNull(connectTimeout, "connectTimeout");
      return this;
    }

    /**
     * Sets how long one attempt may take, until the last byte of its answer; of one with the bytes
     * of an artifact, how long none may come or go.
     *
     * @param callTimeout by default 15 s
     * @return this
     */
    public Builder callTimeout(Duration callTimeout) {
      this.callTimeout = Objects.requireNonNull(callTimeout, "callTimeout");
      return this;
    }

    /**
     * Sets how long a request is tried again, at most 5 times, if it found no connection, got no
     * answer, or was refused for now: with growing pauses and never sooner than {@code Retry-After}
     * says. No attempt goes beyond it.
     *
     * @param retryFor by default 30 s; zero tries once
     * @return this
     */
    public Builder retryFor(Duration retryFor) {
      this.retryFor = Objects.requireNonNull(retryFor, "retryFor");
      return this;
    }

    /**
     * Sets whom to trust, for {@code https:}.
     *
     * @param sslContext by default that of the JDK
     * @return this
     */
    public Builder sslContext(SSLContext sslContext) {
      this.sslContext = sslContext;
      return this;
    }

    /** For tests. */
    Builder watchSilence(Duration watchSilence) {
      this.watchSilence = watchSilence;
      return this;
    }

    /**
     * Makes the service. It opens no connection yet.
     *
     * @return the service
     * @throws IllegalArgumentException if the URL is not of that form, the token cannot be sent, or
     *     there are both a token and a supplier
     */
    public SessiondSessionService build() {
      if (token != null && tokenSupplier != null) {
        throw new IllegalArgumentException("There are two credentials: token and tokenSupplier.");
      }
      return new SessiondSessionService(this);
    }
  }
}
