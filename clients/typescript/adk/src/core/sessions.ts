import { randomUUID } from "node:crypto";
import {
  type HttpOptions,
  type JsonObject,
  type MintedToken,
  NotFoundError,
  type Operation,
  type Precondition,
  type Session,
  Sessiond,
  type SessionInfo,
  type StoredEvent,
  type StoredSession,
} from "@sessiond/client";
import { isObject, made, pages, record, refusal, sessionPath, success, trimmedId } from "@sessiond/client/internal";
import { AlreadyExistsError, SessionNotFoundError, StaleSessionError } from "./errors.js";
import { Leases } from "./lease.js";
import type { Dialect, EventShape, SessionShape } from "./session.js";
import { shown, type WatchItem, type WatchRequest } from "./watch.js";
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

/** The session objects that were made of what sessiond has. */
export const loaded: WeakSet<object> = new WeakSet<object>();

/**
 * The sessions of one framework in one sessiond: what the session services of all frameworks have in common. A framework's
 * service translates its methods to these, and nothing else.
 */
export class Sessions<S extends SessionShape<E>, E extends EventShape> {
  readonly #dialect: Dialect<S, E>;
  readonly #client: Sessiond;
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
    this.#client = new Sessiond(given);
    this.#ifSeen = concurrency === "session";
    this.#effective = history === "effective";
    const waitMs = lease === "wait" ? leaseWaitMs : 0;
    this.#leases = concurrency === "lease" ? new Leases(this.#client.http, waitMs, leaseTtlMs) : undefined;
  }

  /** Creates a session, once, also if the first answer gets lost. */
  async create(appName: string, userId: string, state?: JsonObject, sessionId?: string): Promise<S> {
    const initial = stateToWire(state ?? {});
    const name = trimmedId(sessionId ?? "");
    if (name === "") {
      // Nobody else knows this id: what a get-or-create gets can only be what an attempt before has created.
      return await this.getOrCreate(appName, userId, state, randomUUID());
    }
    return this.#session(await this.#client.session(appName, userId, name).create({ state: initial }));
  }

  /** How the framework has its sessions and events. */
  get dialect(): Dialect<S, E> {
    return this.#dialect;
  }

  /** Returns a session, with its events, after creating it if there is none: of several callers at once, one creates it. */
  async getOrCreate(appName: string, userId: string, state: JsonObject | undefined, sessionId: string): Promise<S> {
    const key = { appName, userId, sessionId: trimmedId(sessionId) };
    const stored = await this.#handle(key).create({ state: stateToWire(state ?? {}), existOk: true });
    const isPart = this.#effective ? stored.events.length > 0 : rewinds(stored);
    return this.#session((isPart && (await this.#read(key, {}))) || stored);
  }

  /** Returns a session with its merged state and its events, as of one moment; undefined if there is none. */
  async get(key: Key, filter: Filter = {}): Promise<S | undefined> {
    const stored = await this.#read(key, filter);
    return stored && this.#session(stored);
  }

  /** Returns the sessions of a user, or of all users, by last update, without events. */
  async list(appName: string, userId: string | undefined, order: "asc" | "desc", includeState: boolean): Promise<S[]> {
    const found = new Map<string, S>();
    const options = { order, includeState };
    const listed =
      userId === undefined ? this.#client.sessions(appName, options) : this.#client.sessions(appName, userId, options);
    for await (const stored of listed) {
      const name = JSON.stringify([stored.userId, stored.id]);
      // One that was updated between two pages is on both.
      found.delete(name);
      found.set(name, this.#session(stored));
    }
    return [...found.values()];
  }

  /** Deletes a session with its events and its own state, if there is one. App and user state stay. */
  async delete(key: Key): Promise<void> {
    if (trimmedId(key.sessionId) !== "") await this.#handle(key).delete();
  }

  /** Appends an event, in the store and then in the session object. Those of one object take turns. */
  async append(session: S, event: E): Promise<E> {
    if (event.partial) return event;
    event.id ||= randomUUID();
    await this.#inTurn(session, async () => {
      const temp = temporary(event.actions?.stateDelta ?? {});
      const seen = this.#seen.get(session) ?? 0;
      const { stored, replayed } = await this.#store(
        session,
        eventToWire(this.#dialect, event),
        { answer: "minimal" },
        this.#ifSeen,
      );
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
      const { stored, replayed } = await this.#store(session, event, {}, false).catch(async (error: unknown) => {
        if (once === undefined || !(error instanceof AlreadyExistsError)) throw error;
        const path = pathOf({ ...session, sessionId: session.id });
        return { stored: await made(this.#client.http, path, once, event.actions, error), replayed: true };
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

  /** Follows a session. */
  watch(request: WatchRequest): AsyncGenerator<WatchItem<E>, void, undefined> {
    const told = this.#handle(request).watch(request);
    return shown(told, (stored) => eventFromWire(this.#dialect, stored), request.sessionId);
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
    const { forks: _forks, revision: _revision, ...event } = await this.#handle(key).redact(eventId, options);
    return eventFromWire(this.#dialect, event);
  }

  /** Returns the state of a user in an app, keys without `user:`. */
  async userState(appName: string, userId: string): Promise<JsonObject> {
    return record(await this.#client.user(appName, userId).state());
  }

  /** Makes a token for one user of one app. */
  async mintToken(app: string, user: string, role?: string, ttlMs?: number): Promise<MintedToken> {
    return await this.#client.mintToken(app, user, { role, ttlMs });
  }

  /** Runs what `begin` begins as one turn, whose lease ends with it. */
  turn<T>(begin: () => AsyncIterable<T>): AsyncIterable<T> {
    return this.#leases === undefined ? begin() : this.#leases.run(begin);
  }

  /** Releases the leases and closes the connections. The service can be used again. */
  async close(): Promise<void> {
    await this.#leases?.release();
    this.#client.close();
  }

  async #read(key: Key, filter: Filter): Promise<StoredSession | undefined> {
    if (trimmedId(key.sessionId) === "") return undefined;
    const last = filter.numRecentEvents;
    const since = filter.afterTimestamp && toSeconds(filter.afterTimestamp, this.#dialect.ticks);
    for (;;) {
      let stored: StoredSession;
      try {
        stored = await this.#handle(key).get({ last, since, effective: this.#effective });
      } catch (error) {
        if (error instanceof NotFoundError) return undefined;
        throw error;
      }
      // What was taken back comes before what took it back. So if that is not here, neither is the former.
      if (this.#effective) {
        const limited = last !== undefined || since !== undefined;
        return { ...stored, events: await this.#left(key, stored, limited) };
      }
      if (!rewinds(stored)) return stored;
      const { events, revision } = await this.#visible(key, last, since);
      if (revision === stored.revision) return { ...stored, events };
    }
  }

  /** Returns the events of a session without what was taken back, first the last `recent`, of these those since `after`. */
  async #visible(
    key: Key,
    recent = Number.POSITIVE_INFINITY,
    after = Number.NEGATIVE_INFINITY,
  ): Promise<Pick<StoredSession, "events" | "revision">> {
    const bounded = recent < Number.POSITIVE_INFINITY || after === Number.NEGATIVE_INFINITY;
    const query = {
      excludeRewound: true,
      order: "desc",
      pageSize: Math.max(1, Math.min(recent, 1000)),
      afterTimestamp: bounded ? undefined : after,
    };
    const events: StoredEvent[] = [];
    // The later pages are about what was there at the first one.
    let revision: number | undefined;
    for await (const page of pages(this.#client.http, `${pathOf(key)}/events`, query)) {
      revision ??= page["revision"] as number;
      events.push(...(page["events"] as StoredEvent[]).slice(0, recent - events.length));
      if (events.length >= recent) break;
    }
    const kept = events.reverse().filter(({ timestamp }) => micros(timestamp) >= micros(after));
    return { revision: Number(revision), events: kept };
  }

  /** Returns the events of an effective history as the framework reads them. */
  async #left(key: Key, { events, revision }: StoredSession, limited: boolean): Promise<StoredEvent[]> {
    if (!events.some(compaction)) return events;
    if (!this.#dialect.compacts) return summarized(events);
    if (limited || events.filter(({ sequence }) => sequence > revision - LAST).length === Math.min(LAST, revision)) {
      return events;
    }
    const query = { excludeRewound: true, order: "desc", beforeSequence: revision + 1, pageSize: LAST };
    const { value: page } = await pages(this.#client.http, `${pathOf(key)}/events`, query).next();
    // A prompt is the same with what a compaction covers, as long as the compaction is there.
    const last = page === undefined || Number(page["revision"]) < revision ? [] : (page["events"] as StoredEvent[]);
    const all = new Map([...last, ...events].map((event) => [event.sequence, event]));
    return [...all].sort(([one], [other]) => one - other).map(([, event]) => event);
  }

  #session(stored: SessionInfo & Partial<StoredSession>): S {
    const session = this.#dialect.session({
      id: stored.id,
      appName: stored.appName,
      userId: stored.userId,
      state: record(stored.state),
      events: (stored.events ?? []).map((event) => eventFromWire(this.#dialect, event)),
      lastUpdateTime: fromSeconds(stored.lastUpdateTime, this.#dialect.ticks),
    });
    loaded.add(session);
    this.#seen.set(session, stored.revision);
    return session;
  }

  /** Stores an event; returns of it as stored what the query asks for, and whether it had been stored before. */
  async #store(
    session: S,
    event: JsonObject,
    query: Record<string, string>,
    ifSeen: boolean,
  ): Promise<{ stored: JsonObject; replayed: boolean }> {
    const path = pathOf({ ...session, sessionId: session.id });
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
    const reply = await this.#client.http.send("POST", `${path}/events`, { body: event, query, headers });
    if (reply.status >= 400) {
      const error = refusal(reply);
      throw error.code === "fenced" && error instanceof StaleSessionError && this.#leases
        ? this.#leases.fenced(session, error)
        : error;
    }
    const stored = success(reply);
    const seen = this.#seen.get(session);
    // A gap means that others appended events which this object has not seen. Then it stays stale.
    if (seen !== undefined && stored["sequence"] === seen + 1) this.#seen.set(session, seen + 1);
    return { stored, replayed: reply.headers["idempotent-replayed"] === "true" };
  }

  /** Takes the lease, and shows in `session` what others have appended until then. */
  async #takeTurn(leases: Leases, session: S, path: string, invocationId: string): Promise<void> {
    let revision = await leases.take(session, path, session.id, invocationId);
    for (;;) {
      const seen = this.#seen.get(session);
      if (seen === undefined || seen >= revision) return;
      const missed = revision - seen;
      const key = { ...session, sessionId: session.id };
      let stored = this.#effective ? await this.#read(key, {}) : await this.#handle(key).get({ last: missed });
      const taken = this.#effective || (stored !== undefined && rewinds(stored));
      if (taken && !this.#effective) stored = await this.#read(key, {});
      if (stored === undefined) throw new SessionNotFoundError(`Session ${session.id} not found.`);
      // Side writers may have appended more meanwhile.
      revision = stored.revision;
      if (revision - seen !== missed) continue;
      const state = record(stored.state);
      const old = Object.keys(this.#dialect.state(session)).filter(
        (key) => !key.startsWith("temp:") && !(key in state),
      );
      this.#dialect.assign(session, state, old);
      // Events that the session has may have been taken back, or covered.
      if (taken) session.events.length = 0;
      for (const event of stored.events) session.events.push(eventFromWire(this.#dialect, event));
      session.lastUpdateTime = fromSeconds(stored.lastUpdateTime, this.#dialect.ticks);
      this.#seen.set(session, revision);
    }
  }

  #handle({ appName, userId, sessionId }: Key): Session {
    return this.#client.session(appName, userId, sessionId);
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
function rewinds({ events = [] }: Partial<StoredSession>): boolean {
  return events.some(({ actions }) => isObject(actions) && typeof actions["rewindBeforeInvocationId"] === "string");
}

/** Shows the summaries of compactions as contents, each where what it covers ended. */
function summarized(events: StoredEvent[]): StoredEvent[] {
  const placed = events.map((event) => {
    const summary = compaction(event);
    if (summary === undefined) return { at: event.timestamp, event };
    const end = Number(summary["endTimestamp"]);
    const content = summary["compactedContent"] as JsonObject;
    return { at: end >= YEAR_10000 ? end / 1000 : end, event: { ...event, content } };
  });
  return placed.sort((one, other) => one.at - other.at).map(({ event }) => event);
}

/** Returns the compaction of an event, if it is one. */
function compaction({ actions }: StoredEvent): JsonObject | undefined {
  const said = isObject(actions) ? actions["compaction"] : undefined;
  return isObject(said) && isObject(said["compactedContent"]) ? said : undefined;
}

/** Whole microseconds, by which the server compares times. */
function micros(seconds: number): number {
  return Math.round(seconds * 1e6);
}

function pathOf({ appName, userId, sessionId }: Key): string {
  return sessionPath(appName, userId, sessionId);
}
