import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { AlreadyExistsError, SessiondInputError, SessionNotFoundError, StaleSessionError } from "./errors.js";
import { codeOf, details, Http, type HttpOptions, type Reply, segments, success } from "./http.js";
import { fromJson, isObject, type JsonObject, record, toJson } from "./json.js";
import { busy, Leases } from "./lease.js";
import type { Dialect, EventShape, SessionShape } from "./session.js";
import { type WatchItem, type WatchRequest, watch } from "./watch.js";
import { eventFromWire, eventToWire, fromSeconds, stateToWire, temporary, toSeconds, YEAR_10000 } from "./wire.js";

/** How a session service reaches sessiond, and how its writers share a session. Times are milliseconds. */
export interface SessiondOptions extends HttpOptions {
  /**
   * What an append asks for:
   *
   * - `none` (default): nothing. Events of several writers interleave, and for each key the last writer wins.
   * - `session`: that nobody else has appended since the session object was read, else `StaleSessionError`.
   * - `lease`: that it is the turn of its invocation; see `lease`.
   */
  concurrency?: "none" | "session" | "lease" | undefined;
  /**
   * Which events of a session are read:
   *
   * - `full` (default): all, except what was rewound.
   * - `effective`: without what compactions (`actions.compaction`) cover, too. `numRecentEvents` counts what is left. Where
   *   the framework makes such compactions (`@iqai/adk`), the last 100 events are read in any case, if nothing limits them: in
   *   these a runner looks for the agent that goes on, and for calls that are answered. Elsewhere, the summaries are shown as
   *   contents, in the order of a prompt. What else is covered, a runner does not find: a response to a call there needs
   *   `full`. A turn that sees what others did reads all that is left.
   */
  history?: "full" | "effective" | undefined;
  /**
   * With `concurrency: "lease"`, what an invocation does while another one has the session: `wait` (default) for its end,
   * and then see what it did, also in the session object; or `fail` with `SessionBusyError`.
   */
  lease?: "wait" | "fail" | undefined;
  /** For how long `wait` waits: 300,000 by default. */
  leaseWaitMs?: number | undefined;
  /** After how long without an event another invocation may take over: 60,000 by default, 1,000 to 900,000. */
  leaseTtlMs?: number | undefined;
}

/** An operator, which the server applies to what is there. */
export interface Operation {
  op: "set" | "remove" | "increment" | "append" | "union" | "max" | "min" | "merge";
  /** The key, with its prefix. */
  key: string;
  /** The operand: of `append` and `union` a list; none of `remove`. */
  value?: unknown;
}

/** What must hold of a key for operators to be applied; one of its fields. */
export interface Precondition {
  key: string;
  /** The session (or, of `app:` and `user:` keys, their scope) has not changed this key since it was at this revision. */
  revision?: number;
  exists?: boolean;
  equals?: unknown;
}

/** For whom operators are applied. */
export interface ApplyOptions {
  /** The author of the event: `user` by default. */
  author?: string | undefined;
  /** The invocation that the event is part of. */
  invocationId?: string | undefined;
  /** If one of them does not hold, nothing is written, and `StaleSessionError` is thrown. */
  preconditions?: readonly Precondition[] | undefined;
  /**
   * An id for this change, the same in every run of the program: the session makes a change of this id once. It is the id of
   * the event. Where it was made before, whoever made it, nothing is changed, and the values are those that it had then. If
   * the session has another change, or another event, of this id, `AlreadyExistsError` is thrown.
   */
  once?: string | undefined;
}

/** A token for one user of one app. */
export interface MintedToken {
  /** What the user sends as `Authorization: Bearer TOKEN`. */
  token: string;
  expireTime: Date;
}

// How many of the last events come with an effective history.
const LAST = 100;

interface Key {
  appName: string;
  userId: string;
  sessionId: string;
}

/** Which events of a session to read. */
export interface Filter {
  numRecentEvents?: number | undefined;
  /** In the framework's unit; inclusive. */
  afterTimestamp?: number | undefined;
}

/**
 * The sessions of one framework in one sessiond: what the session services of all frameworks have in common. A framework's
 * service translates its methods to these, and nothing else.
 */
export class Sessions<S extends SessionShape<E>, E extends EventShape> {
  readonly #dialect: Dialect<S, E>;
  readonly #http: Http;
  readonly #ifSeen: boolean;
  readonly #effective: boolean;
  readonly #leases: Leases | undefined;
  // Up to which revision a session object has seen all events.
  readonly #seen = new WeakMap<S, number>();
  // The last append through a session object, after which the next one may begin.
  readonly #last = new WeakMap<S, Promise<unknown>>();

  /** Opens no connection yet. Throws `TypeError` if an option cannot be used. */
  constructor(dialect: Dialect<S, E>, options: SessiondOptions | string) {
    const given = typeof options === "string" ? { url: options } : options;
    const {
      concurrency = "none",
      history = "full",
      lease = "wait",
      leaseWaitMs = 300_000,
      leaseTtlMs = 60_000,
    } = given;
    if (!["none", "session", "lease"].includes(concurrency)) {
      throw new TypeError('`concurrency` is "none", "session" or "lease".');
    }
    if (!["full", "effective"].includes(history)) throw new TypeError('`history` is "full" or "effective".');
    if (!["wait", "fail"].includes(lease)) throw new TypeError('`lease` is "wait" or "fail".');
    this.#dialect = dialect;
    this.#http = new Http(given);
    this.#ifSeen = concurrency === "session";
    this.#effective = history === "effective";
    const waitMs = lease === "wait" ? leaseWaitMs : 0;
    this.#leases = concurrency === "lease" ? new Leases(this.#http, waitMs, leaseTtlMs) : undefined;
  }

  /** Creates a session, once, also if the first answer gets lost. */
  async create(appName: string, userId: string, state?: JsonObject, sessionId?: string): Promise<S> {
    const initial = stateToWire(state ?? {});
    const name = sessionId?.trim() ?? "";
    if (name === "") {
      // Nobody else knows this id: what a get-or-create gets can only be what an attempt before has created.
      return await this.getOrCreate(appName, userId, state, randomUUID());
    }
    const reply = await this.#http.send("POST", paths.sessions(appName, userId), {
      body: { sessionId: name, state: initial },
      // By which sessiond knows what an attempt before has created.
      headers: { "idempotency-key": randomUUID() },
    });
    if (codeOf(reply) === "session_already_exists") {
      throw new AlreadyExistsError(`Session ${name} exists already.`, details(reply));
    }
    return this.#session(success(reply));
  }

  /** How the framework has its sessions and events. */
  get dialect(): Dialect<S, E> {
    return this.#dialect;
  }

  /** Returns a session, with its events, after creating it if there is none: of several callers at once, one creates it. */
  async getOrCreate(appName: string, userId: string, state: JsonObject | undefined, sessionId: string): Promise<S> {
    const key = { appName, userId, sessionId: sessionId.trim() };
    const path = paths.session(key);
    const stored = success(await this.#http.send("PUT", path, { body: { state: stateToWire(state ?? {}) } }));
    const isPart = this.#effective ? (stored["events"] as unknown[] | undefined)?.length : rewinds(stored);
    return this.#session((isPart && (await this.#read(key, {}))) || stored);
  }

  /** Returns a session with its merged state and its events, as of one moment; undefined if there is none. */
  async get(key: Key, filter: Filter = {}): Promise<S | undefined> {
    const stored = await this.#read(key, filter);
    return stored && this.#session(stored);
  }

  /** Returns the sessions of a user, or of all users, by last update, without events. */
  async list(appName: string, userId: string | undefined, order: "asc" | "desc", includeState: boolean): Promise<S[]> {
    const path = userId === undefined ? `/v1/apps${segments(appName)}/sessions` : paths.sessions(appName, userId);
    const query: Record<string, string> = { order, pageSize: "1000" };
    if (includeState) query["includeState"] = "true";
    const found = new Map<string, S>();
    for (;;) {
      const page = await this.#http.get(path, query);
      for (const stored of page["sessions"] as JsonObject[]) {
        const name = JSON.stringify([stored["userId"], stored["id"]]);
        // One that was updated between two pages is on both.
        found.delete(name);
        found.set(name, this.#session(stored));
      }
      if (typeof page["nextPageToken"] !== "string") return [...found.values()];
      query["pageToken"] = page["nextPageToken"];
    }
  }

  /** Deletes a session with its events and its own state, if there is one. App and user state stay. */
  async delete(key: Key): Promise<void> {
    const sessionId = key.sessionId.trim();
    if (sessionId !== "") success(await this.#http.send("DELETE", paths.session({ ...key, sessionId })));
  }

  /** Appends an event, in the store and then in the session object. Those of one object take turns. */
  async append(session: S, event: E): Promise<E> {
    if (event.partial) return event;
    event.id ||= randomUUID();
    await this.#inTurn(session, async () => {
      const temp = temporary(event.actions?.stateDelta ?? {});
      const seen = this.#seen.get(session) ?? 0;
      const { stored, replayed } = await this.#store(session, eventToWire(this.#dialect, event), this.#ifSeen);
      // The session may show the event without having it: a compaction may cover it.
      const shown = Number(stored["sequence"]) <= seen || session.events.some((known) => known.id === event.id);
      if (replayed && shown) return;
      event.timestamp ??= fromSeconds(Number(stored["timestamp"]), this.#dialect.ticks);
      await this.#dialect.applied(session, event, temp);
      session.lastUpdateTime = event.timestamp;
    });
    return event;
  }

  /** Applies operators, in order, all or none, through one event that is appended. Returns the keys' values after it. */
  async apply(session: S, operations: readonly Operation[], options: ApplyOptions = {}): Promise<JsonObject> {
    const { author = "user", invocationId = "", preconditions = [], once } = options;
    const event: JsonObject & { actions: JsonObject } = {
      id: once ?? randomUUID(),
      // A change that is made again has the time of the first one.
      ...(once === undefined ? { timestamp: Date.now() / 1000 } : {}),
      author,
      invocationId,
      actions: { stateOps: operations, ...(preconditions.length === 0 ? {} : { preconditions }) },
    };
    return await this.#inTurn(session, async () => {
      const seen = this.#seen.get(session) ?? 0;
      const { stored, replayed } = await this.#store(session, event, false).catch(async (error: unknown) => {
        if (once === undefined || !(error instanceof AlreadyExistsError)) throw error;
        return { stored: await this.#made(session, once, event.actions, error), replayed: true };
      });
      const actions = isObject(stored["actions"]) ? stored["actions"] : {};
      const values = record(actions["stateDelta"] as JsonObject | undefined);
      // A session that was read after the change shows what became of it since.
      const shown = Number(stored["sequence"]) <= seen || session.events.some(({ id }) => id === stored["id"]);
      if (replayed && shown) return values;
      const appended = eventFromWire(this.#dialect, stored);
      const removed = operations.map((operation) => operation.key).filter((key) => !(key in values));
      this.#dialect.assign(session, values, removed);
      session.events.push(appended);
      session.lastUpdateTime = fromSeconds(Number(stored["timestamp"]), this.#dialect.ticks);
      return values;
    });
  }

  /** Returns the event of a change that was made before, by another agent or in another invocation. */
  async #made(session: S, id: string, actions: JsonObject, conflict: AlreadyExistsError): Promise<JsonObject> {
    const path = `${paths.session({ ...session, sessionId: session.id })}/events${segments(id)}`;
    const stored = success(await this.#http.send("GET", path));
    const said = isObject(stored["actions"]) ? stored["actions"] : {};
    for (const name of ["stateOps", "preconditions"]) {
      // As JSON has it: a field that is undefined is absent.
      const asked = actions[name] === undefined ? undefined : fromJson(toJson(actions[name]));
      if (!isDeepStrictEqual(asked, said[name])) throw conflict;
    }
    return stored;
  }

  /** Follows a session. */
  watch(request: WatchRequest): AsyncGenerator<WatchItem<E>, void, undefined> {
    const key = { ...request, sessionId: request.sessionId.trim() };
    return watch(this.#http, `${paths.session(key)}/watch`, (stored) => eventFromWire(this.#dialect, stored), key);
  }

  /** Returns up to which revision a session object has seen all events; undefined if it is not of this service. */
  revision(session: S): number | undefined {
    return this.#seen.get(session);
  }

  /**
   * Removes what an event says from the session and from the forks that hold it, for good; returns it as it is now. The event stays in
   * its place, with its author, its times and its changes of state. `state: "remove"` takes the values that it set, too: from past
   * states, and from the present one where nobody has set the key since. Every reader sees the reason. It takes the role `operator`.
   */
  async redactEvent(
    key: Key,
    eventId: string,
    options: { reason?: string; state?: "keep" | "remove" } = {},
  ): Promise<E> {
    const path = `${paths.session({ ...key, sessionId: key.sessionId.trim() })}/events${segments(eventId)}/redact`;
    const { reason, state } = options;
    const reply = await this.#http.send("POST", path, { body: { reason, state } });
    if (codeOf(reply) === "session_not_found") {
      throw new SessionNotFoundError(`Session ${key.sessionId} not found.`, details(reply));
    }
    const { forks: _forks, revision: _revision, ...event } = success(reply);
    return eventFromWire(this.#dialect, event);
  }

  /** Returns the state of a user in an app, keys without `user:`. */
  async userState(appName: string, userId: string): Promise<JsonObject> {
    return record(await this.#http.get(`/v1/apps${segments(appName)}/users${segments(userId)}/state`));
  }

  /** Makes a token for one user of one app. */
  async mintToken(app: string, user: string, role?: string, ttlMs?: number): Promise<MintedToken> {
    const body = { app, user, role, ttl: ttlMs === undefined ? undefined : ttlMs / 1000 };
    const minted = success(await this.#http.send("POST", "/v1/tokens", { body }));
    return { token: String(minted["token"]), expireTime: new Date(Number(minted["expireTime"]) * 1000) };
  }

  /** Runs what `begin` begins as one turn, whose lease ends with it. */
  turn<T>(begin: () => AsyncIterable<T>): AsyncIterable<T> {
    return this.#leases === undefined ? begin() : this.#leases.run(begin);
  }

  /** Releases the leases and closes the connections. The service can be used again. */
  async close(): Promise<void> {
    await this.#leases?.release();
    this.#http.close();
  }

  async #read(key: Key, filter: Filter): Promise<JsonObject | undefined> {
    const sessionId = key.sessionId.trim();
    if (sessionId === "") return undefined;
    const query: Record<string, string> = this.#effective ? { history: "effective" } : {};
    if (filter.numRecentEvents !== undefined) query["numRecentEvents"] = String(filter.numRecentEvents);
    if (filter.afterTimestamp !== undefined) {
      query["afterTimestamp"] = String(toSeconds(filter.afterTimestamp, this.#dialect.ticks));
    }
    const path = paths.session({ ...key, sessionId });
    for (;;) {
      const reply = await this.#http.send("GET", path, { query });
      if (codeOf(reply) === "session_not_found") return undefined;
      const stored = success(reply);
      // What was taken back comes before what took it back. So if that is not here, neither is the former.
      if (this.#effective) return { ...stored, events: await this.#left(path, stored, Object.keys(query).length > 1) };
      if (!rewinds(stored)) return stored;
      const { events, revision } = await this.#visible(path, filter.numRecentEvents, query["afterTimestamp"]);
      if (revision === stored["revision"]) return { ...stored, events };
    }
  }

  /** Returns the events of a session without what was taken back, first the last `recent`, of these those since `after`. */
  async #visible(path: string, recent = Number.POSITIVE_INFINITY, after?: string): Promise<JsonObject> {
    const query: Record<string, string> = { excludeRewound: "true", order: "desc" };
    if (after !== undefined && recent === Number.POSITIVE_INFINITY) query["afterTimestamp"] = after;
    const events: JsonObject[] = [];
    // The later pages are about what was there at the first one.
    let revision: unknown;
    while (events.length < recent) {
      query["pageSize"] = String(Math.min(recent - events.length, 1000));
      const page = await this.#http.get(`${path}/events`, query);
      revision ??= page["revision"];
      events.push(...(page["events"] as JsonObject[]));
      if (typeof page["nextPageToken"] !== "string") break;
      query["pageToken"] = page["nextPageToken"];
    }
    const since = after === undefined ? Number.NEGATIVE_INFINITY : micros(Number(after));
    return { revision, events: events.reverse().filter((event) => micros(Number(event["timestamp"])) >= since) };
  }

  /** Returns the events of an effective history as the framework reads them. */
  async #left(path: string, stored: JsonObject, limited: boolean): Promise<JsonObject[]> {
    const events = stored["events"] as JsonObject[];
    if (!events.some(compaction)) return events;
    if (!this.#dialect.compacts) return summarized(events);
    const revision = Number(stored["revision"]);
    if (
      limited ||
      events.filter(({ sequence }) => Number(sequence) > revision - LAST).length === Math.min(LAST, revision)
    ) {
      return events;
    }
    const query = { excludeRewound: "true", order: "desc", beforeSequence: `${revision + 1}`, pageSize: `${LAST}` };
    const page = await this.#http.get(`${path}/events`, query);
    // A prompt is the same with what a compaction covers, as long as the compaction is there.
    const last = Number(page["revision"]) < revision ? [] : (page["events"] as JsonObject[]);
    const all = new Map([...last, ...events].map((event) => [Number(event["sequence"]), event]));
    return [...all].sort(([one], [other]) => one - other).map(([, event]) => event);
  }

  #session(stored: JsonObject): S {
    const events = (stored["events"] as JsonObject[] | undefined) ?? [];
    const session = this.#dialect.session({
      id: String(stored["id"]),
      appName: String(stored["appName"]),
      userId: String(stored["userId"]),
      state: record(stored["state"] as JsonObject | undefined),
      events: events.map((event) => eventFromWire(this.#dialect, event)),
      lastUpdateTime: fromSeconds(Number(stored["lastUpdateTime"]), this.#dialect.ticks),
    });
    this.#seen.set(session, Number(stored["revision"]));
    return session;
  }

  /** Stores an event; returns it as stored, and whether it had been stored before. */
  async #store(session: S, event: JsonObject, ifSeen: boolean): Promise<{ stored: JsonObject; replayed: boolean }> {
    const path = paths.session({ ...session, sessionId: session.id });
    let headers: Record<string, string> = {};
    if (this.#leases !== undefined) {
      const invocationId = event["invocationId"];
      if (typeof invocationId === "string" && invocationId !== "") {
        await this.#takeTurn(this.#leases, session, path, invocationId);
      }
      headers = this.#leases.headers(session);
    }
    if (ifSeen) {
      const seen = this.#seen.get(session);
      if (seen === undefined) {
        throw new StaleSessionError(`Session ${session.id} was not read through this service; get it first.`);
      }
      headers["if-match"] = `"${seen}"`;
    }
    const reply = await this.#http.send("POST", `${path}/events`, { body: event, headers });
    const stored = success(this.#checked(session, event, reply));
    const seen = this.#seen.get(session);
    // A gap means that others appended events which this object has not seen. Then it stays stale.
    if (seen !== undefined && stored["sequence"] === seen + 1) this.#seen.set(session, seen + 1);
    return { stored, replayed: reply.headers["idempotent-replayed"] === "true" };
  }

  /** Returns the answer to an append, unless it is an error that has a class of its own. */
  #checked(session: S, event: JsonObject, reply: Reply): Reply {
    const said = details(reply);
    switch (codeOf(reply)) {
      case "session_not_found":
        throw new SessionNotFoundError(`Session ${session.id} not found.`, said);
      case "revision_mismatch":
        throw new StaleSessionError(
          `Session ${session.id} has been changed by others, or a precondition does not hold; read it again.`,
          said,
        );
      case "fenced":
        throw (
          this.#leases?.fenced(session, reply) ??
          new StaleSessionError(`Session ${session.id} is another turn's.`, said)
        );
      case "lease_held":
        throw busy(reply);
      case "event_id_conflict":
        throw new AlreadyExistsError(`Session ${session.id} has another event with the id ${event["id"]}.`, said);
      default:
        return reply;
    }
  }

  /** Takes the lease, and shows in `session` what others have appended until then. */
  async #takeTurn(leases: Leases, session: S, path: string, invocationId: string): Promise<void> {
    let revision = await leases.take(session, path, session.id, invocationId);
    for (;;) {
      const seen = this.#seen.get(session);
      if (seen === undefined || seen >= revision) return;
      const missed = revision - seen;
      const whole = { ...session, sessionId: session.id };
      let stored: JsonObject | undefined;
      let taken = this.#effective;
      if (taken) {
        stored = await this.#read(whole, {});
      } else {
        const reply = await this.#http.send("GET", path, { query: { numRecentEvents: String(missed) } });
        stored = codeOf(reply) === "session_not_found" ? undefined : success(reply);
        taken = stored !== undefined && rewinds(stored);
        if (taken) stored = await this.#read(whole, {});
      }
      if (stored === undefined) throw new SessionNotFoundError(`Session ${session.id} not found.`);
      // Side writers may have appended more meanwhile.
      revision = Number(stored["revision"]);
      if (revision - seen !== missed) continue;
      const state = record(stored["state"] as JsonObject | undefined);
      const old = Object.keys(this.#dialect.state(session)).filter(
        (key) => !key.startsWith("temp:") && !(key in state),
      );
      this.#dialect.assign(session, state, old);
      // Events that the session has may have been taken back, or covered.
      if (taken) session.events.length = 0;
      for (const event of stored["events"] as JsonObject[]) session.events.push(eventFromWire(this.#dialect, event));
      session.lastUpdateTime = fromSeconds(Number(stored["lastUpdateTime"]), this.#dialect.ticks);
      this.#seen.set(session, revision);
    }
  }

  async #inTurn<R>(session: S, step: () => Promise<R>): Promise<R> {
    const before = this.#last.get(session);
    const mine = before === undefined ? step() : before.then(step, step);
    this.#last.set(
      session,
      mine.catch(() => {}),
    );
    return await mine;
  }
}

/** Whether something is taken back by the events of a session. */
function rewinds(stored: JsonObject): boolean {
  return ((stored["events"] ?? []) as JsonObject[]).some(
    ({ actions }) => isObject(actions) && typeof actions["rewindBeforeInvocationId"] === "string",
  );
}

/** Shows the summaries of compactions as contents, each where what it covers ended. */
function summarized(events: JsonObject[]): JsonObject[] {
  const placed = events.map((event) => {
    const summary = compaction(event);
    if (summary === undefined) return { at: Number(event["timestamp"]), event };
    const end = Number(summary["endTimestamp"]);
    const content = summary["compactedContent"] as JsonObject;
    return { at: end >= YEAR_10000 ? end / 1000 : end, event: { ...event, content } };
  });
  return placed.sort((one, other) => one.at - other.at).map(({ event }) => event);
}

/** Returns the compaction of an event, if it is one. */
function compaction({ actions }: JsonObject): JsonObject | undefined {
  const said = isObject(actions) ? actions["compaction"] : undefined;
  return isObject(said) && isObject(said["compactedContent"]) ? said : undefined;
}

/** Whole microseconds, by which the server compares times. */
function micros(seconds: number): number {
  return Math.round(seconds * 1e6);
}

const paths = {
  sessions(appName: string, userId: string): string {
    return `/v1/apps${segments(appName)}/users${segments(userId)}/sessions`;
  },
  session({ appName, userId, sessionId }: Key): string {
    if (sessionId === "") throw new SessiondInputError("The id of the session is empty.");
    return paths.sessions(appName, userId) + segments(sessionId);
  },
};
