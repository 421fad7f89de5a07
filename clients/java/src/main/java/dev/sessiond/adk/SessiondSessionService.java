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
import io.reactivex.rxjava3.annotations.CheckReturnValue;
import io.reactivex.rxjava3.core.Completable;
import io.reactivex.rxjava3.core.Flowable;
import io.reactivex.rxjava3.core.Maybe;
import io.reactivex.rxjava3.core.Single;
import io.reactivex.rxjava3.schedulers.Schedulers;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentMap;

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
  private final Http http;
  private final Leases leases;
  private final Reads reads;
  private final Appends appends;
  private final Duration watchSilence;

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
            Paths.url(builder.url),
            bearer,
            builder.connectTimeout,
            builder.callTimeout,
            builder.retryFor,
            builder.sslContext);
    leases = new Leases(http, builder.leaseWait, builder.leaseTtl);
    reads = new Reads(http, builder.history);
    appends = new Appends(http, builder.concurrency, builder.history, leases, reads);
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
   * Returns the memory service of the same sessiond, with the same settings.
   *
   * <pre>{@code
   * Runner.builder().agent(agent).sessionService(sessions).memoryService(sessions.memory());
   * }</pre>
   *
   * @return the service
   */
  public SessiondMemoryService memory() {
    return new SessiondMemoryService(http, reads);
  }

  /**
   * Finds what was said in the sessions of a user: events that have one of the words, whole ones,
   * those with most of them first, rare ones count more. Nothing is found that was rewound,
   * redacted, trimmed or deleted.
   *
   * @param appName the app, whose policy must have {@code "search": {"index": true}}; else it fails
   *     with the code {@code search_off}, and says how an operator switches it on
   * @param userId the user
   * @param text the words, of which the first 32 count; without one it fails with status 422
   * @param limit how many events at most, 1 to 100
   * @return the events
   */
  public Single<Hits> search(String appName, String userId, String text, int limit) {
    String path = Paths.user(appName, userId) + "/search";
    Map<String, String> query = Map.of("text", text, "limit", Integer.toString(limit));
    return Blocking.io(() -> Hits.of(http.send(Http.Call.of("GET", path).query(query)).success()));
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
    String sessions = Paths.sessions(appName, userId);
    String name = sessionId == null ? "" : Http.trimmed(sessionId);
    if (!name.isEmpty()) {
      Http.named(Http.SESSION, name);
    }
    // Drawn here, so that a second subscription does not create a second session.
    String id = UUID.randomUUID().toString();
    return Blocking.io(
        () -> {
          Map<String, Object> body = new LinkedHashMap<>();
          body.put("state", Wire.state(state == null ? Map.of() : state));
          if (name.isEmpty()) {
            // Nobody else knows this id: what a get-or-create gets can only be what an attempt
            // before has created.
            String path = sessions + Http.path(Http.SESSION, id);
            return reads.loaded(http.send(Http.Call.of("PUT", path).body(body)));
          }
          body.put("sessionId", name);
          // By the key sessiond knows what an attempt before has created.
          return reads.loaded(
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
    String user = Paths.user(appName, userId);
    Map<String, String> query = new LinkedHashMap<>();
    config
        .flatMap(GetSessionConfig::numRecentEvents)
        .ifPresent(count -> query.put("numRecentEvents", count.toString()));
    config
        .flatMap(GetSessionConfig::afterTimestamp)
        .ifPresent(from -> query.put("afterTimestamp", Wire.seconds(from).toPlainString()));
    if (Paths.isBlank(sessionId)) {
      return Maybe.empty();
    }
    String path = Paths.session(user, sessionId);
    return Blocking.io(() -> Optional.ofNullable(reads.load(path, query)))
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
    String sessions = Paths.sessions(appName, userId);
    return Blocking.io(() -> reads.list(sessions));
  }

  /**
   * Deletes a session with its events and its own state, if there is one. App and user state stay.
   */
  @Override
  public Completable deleteSession(String appName, String userId, String sessionId) {
    String user = Paths.user(appName, userId);
    if (Paths.isBlank(sessionId)) {
      return Completable.complete();
    }
    String path = Paths.session(user, sessionId);
    return Blocking.io(() -> http.send(Http.Call.of("DELETE", path)).success()).ignoreElement();
  }

  /**
   * Returns all events of a session.
   *
   * @return in the order of the store; none if there is no such session
   */
  @Override
  public Single<ListEventsResponse> listEvents(String appName, String userId, String sessionId) {
    String user = Paths.user(appName, userId);
    if (Paths.isBlank(sessionId)) {
      return Single.just(ListEventsResponse.builder().build());
    }
    String path = Paths.session(user, sessionId) + "/events";
    String name = Http.trimmed(sessionId);
    return Blocking.io(() -> reads.events(path, name));
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
    String path = Paths.of(session);
    if (event.partial().orElse(false)) {
      return Single.just(event);
    }
    if (event.id() == null) {
      event.setId(Event.generateEventId());
    }
    Callable<Event> work = appends.event(session, path, event);
    // ADK's workflow agents begin the next agent when to emit an event returns, not when the runner
    // has stored it. So it returns when it is stored, unless its thread must not wait.
    return Single.defer(
        () ->
            Blocking.mustNotWait(Thread.currentThread())
                ? Blocking.io(work)
                : Single.create(Blocking.emit(work)));
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
    String path = Paths.of(session);
    return Blocking.io(appends.ops(session, path, ops, preconditions, author, invocationId, once));
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
    String path = Paths.session(Paths.user(appName, userId), sessionId) + "/watch";
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
    return Blocking.io(
            () -> {
              Known mine = reads.ifKnown(session);
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
    Blocking.io(
            () -> {
              leases.releaseAll();
              return true;
            })
        .blockingSubscribe();
  }

  /** The settings of a service. */
  public static final class Builder extends Settings<Builder> {
    private Builder() {}

    @Override
    Builder self() {
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
