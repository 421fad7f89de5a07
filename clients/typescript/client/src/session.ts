import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { Artifacts } from "./artifacts.js";
import { conversation, type Message } from "./conversation.js";
import { ConflictError, InputError, type SessiondError } from "./errors.js";
import {
  type Actions,
  checkEvent,
  type EventPlace,
  type NewEvent,
  type Operation,
  type StoredEvent,
} from "./events.js";
import { type CallOptions, type Http, nameOf, type Reply, type Request, segment, success } from "./http.js";
import { fromJson, isFields, isObject, type JsonObject, toJson } from "./json.js";
import { type KeyChange, keyHistory, type StateHistoryOptions } from "./key-history.js";
import { type Grant, newOwner, release, renew, shown, take } from "./lease.js";
import { checkChange, type OperatorOptions, Operators } from "./operators.js";
import { all, items, pages, texts } from "./pages.js";
import { sessionPath, sessionsPath, trimmedId } from "./paths.js";
import { type WatchItem, type WatchOptions, watch } from "./watch.js";

/** What a session is known by, without its events and its state. Times are Unix seconds. */
export interface SessionInfo {
  id: string;
  appName: string;
  userId: string;
  /** The number of its last event; 0 if it has none. */
  revision: number;
  createTime: number;
  /** The timestamp of the last event. */
  lastUpdateTime: number;
  displayName?: string;
  labels?: Record<string, string>;
  expireTime?: number;
  forkedFrom?: { sessionId: string; revision: number };
  /** The number of the last event that was trimmed; absent if none was. */
  baseRevision?: number;
}

/** A session as of one moment. */
export interface StoredSession extends SessionInfo {
  /** The merged state: its own, and that of its app and its user, with their prefixes. */
  state: JsonObject;
  events: StoredEvent[];
}

/** Metadata of a session; null removes a field. */
export interface Metadata {
  displayName?: string | null | undefined;
  /** Up to 64 pairs. */
  labels?: Record<string, string> | null | undefined;
  /** After how long the session expires, in milliseconds. */
  ttlMs?: number | undefined;
  /** When it expires, in Unix seconds; null for never. */
  expireTime?: number | null | undefined;
}

/** How a session is created. */
export interface CreateOptions extends CallOptions, Metadata {
  /** Its initial state: `app:` and `user:` keys go to the state of app and user, `temp:` keys nowhere. */
  state?: JsonObject | undefined;
  /** Its first events, in the same transaction. */
  events?: readonly NewEvent[] | undefined;
  /** Returns a session that is there already as it is; else that is a `ConflictError`. */
  existOk?: boolean | undefined;
}

/** Which events of a session are read with it. */
export interface GetOptions extends CallOptions {
  /** Only the last ones; 0 for none. */
  last?: number | undefined;
  /** Only those with a timestamp at or after this one, in Unix seconds. */
  since?: number | undefined;
  /** Without what was rewound, and what compactions cover. */
  effective?: boolean | undefined;
}

/** Which events are read. */
export interface EventsOptions extends GetOptions {
  /** Only those after this number. */
  after?: number | undefined;
  /** Only those before this number. */
  before?: number | undefined;
  author?: string | undefined;
  invocationId?: string | undefined;
  branch?: string | undefined;
  /** Only those with all of these words in what was said, called or answered. */
  text?: string | undefined;
  /** Without what was rewound, and the rewinds. */
  excludeRewound?: boolean | undefined;
  /** By number: ascending by default. */
  order?: "asc" | "desc" | undefined;
  /** How many events come with one request: 1,000 by default, the most. */
  pageSize?: number | undefined;
}

/** Which part of a conversation is read. */
export interface ConversationOptions extends CallOptions {
  /** Only what events behind this number say: a result of an earlier call is told as text. */
  after?: number | undefined;
}

/** Which state is read. */
export interface StateOptions extends CallOptions {
  /** As it was when the event with this number had been stored; 0 for the initial state. */
  at?: number | undefined;
  /** Only these keys. */
  keys?: readonly string[] | undefined;
  /** Only the keys that begin so; not together with `keys`. */
  prefix?: string | undefined;
  /** Only that of the app, of the user, or of the session itself. */
  scope?: "app" | "user" | "session" | undefined;
}

/** How events are appended. */
export interface AppendOptions extends CallOptions {
  /** Changes of state: the `stateDelta` of the event, which is a single one. */
  delta?: JsonObject | undefined;
  /** Makes the session if there is none, in the same transaction. After a deletion, a late retry makes it anew. */
  create?: boolean | undefined;
  /** If this is not the revision, nothing is written, and it rejects with `StaleError`. */
  ifRevision?: number | undefined;
  /** If the event is a final answer, its text becomes the value of this key, too. */
  outputKey?: string | undefined;
  /** `minimal`: of each event only its {@link EventPlace} is returned. */
  answer?: "full" | "minimal" | undefined;
}

/** How operators are applied to a session. */
export interface ApplyOptions extends OperatorOptions {
  /** Makes the session if there is none, in the same transaction. */
  create?: boolean | undefined;
  /** The author of the event that changes the state: `user` by default. */
  author?: string | undefined;
  /** The invocation that the event is part of. */
  invocationId?: string | undefined;
}

/** How the lease of a session is taken. */
export interface LeaseOptions extends CallOptions {
  /** What names the turn to others: 1 to 256 bytes, no secret. By default host, process and a random number. */
  owner?: string | undefined;
  /** How long a turn that is not renewed excludes others: 60,000 by default, 1,000 to 900,000. */
  ttlMs?: number | undefined;
  /** For how long to wait for the turn of others: 0 by default. */
  waitMs?: number | undefined;
  invocationId?: string | undefined;
  /** What it excludes: the turns of others (`turn`, the default), or `all` writes without it. */
  exclusive?: "turn" | "all" | undefined;
  /** Takes it from who has it. */
  steal?: boolean | undefined;
}

/**
 * A session: its events, state and files. To make one costs no request, and says nothing of whether there is such a session.
 *
 * Every write has an id before its first attempt, and is sent until it is answered: applied once, or not at all. Reads and writes of
 * a session that is not there reject with `NotFoundError`.
 */
export class Session extends Operators<ApplyOptions> {
  readonly app: string;
  readonly user: string;
  readonly id: string;
  /** The session's files. */
  readonly artifacts: Artifacts;
  readonly #http: Http;
  readonly #path: string;
  readonly #lease: Record<string, string>;
  #revision: number | undefined;

  /** @internal */
  constructor(http: Http, app: string, user: string, id: string, lease: Record<string, string> = {}) {
    super();
    this.#path = sessionPath(app, user, id);
    this.app = app;
    this.user = user;
    this.id = trimmedId(id);
    this.#http = http;
    this.#lease = lease;
    this.artifacts = new Artifacts(http, this.#path, true, lease);
  }

  /** The revision in the last answer about this session that came to this object; undefined before the first one. */
  get revision(): number | undefined {
    return this.#revision;
  }

  /** Creates the session, and returns it; see `existOk`. */
  async create(options: CreateOptions = {}): Promise<StoredSession> {
    const { state, events, existOk = false, displayName, labels, ttlMs, expireTime, ...call } = options;
    const body = { state, events: events?.map(named), ...metadata({ displayName, labels, ttlMs, expireTime }) };
    const reply = existOk
      ? await this.#send("PUT", "", { ...call, body })
      : success_(
          "POST",
          await this.#http.send("POST", sessionsPath(this.app, this.user), {
            ...call,
            body: { sessionId: this.id, ...body },
            // By which sessiond knows what an attempt before has created.
            headers: { "idempotency-key": randomUUID() },
          }),
        );
    this.#note(reply);
    return reply.body as StoredSession;
  }

  /** Returns the session with its merged state and its events, as of one moment. */
  async get(options: GetOptions = {}): Promise<StoredSession> {
    const { last, since, effective, ...call } = options;
    const query = texts({ numRecentEvents: last, afterTimestamp: since, history: effective ? "effective" : undefined });
    return (await this.#send("GET", "", { ...call, query })).body as StoredSession;
  }

  /** Changes metadata; what is not named stays. */
  async update(changes: Metadata & CallOptions): Promise<StoredSession> {
    const { displayName, labels, ttlMs, expireTime, ...call } = changes;
    const body = metadata({ displayName, labels, ttlMs, expireTime });
    return (await this.#write("PATCH", "", { ...call, body })).body as StoredSession;
  }

  /** Appends an event, and returns where it is. */
  async append(event: NewEvent, options: AppendOptions & { answer: "minimal" }): Promise<EventPlace>;
  /** Appends up to 1,000 events, all or none, and returns where they are. */
  async append(events: readonly NewEvent[], options: AppendOptions & { answer: "minimal" }): Promise<EventPlace[]>;
  /** Appends an event, and returns it as it is stored; a partial one as it was given. */
  async append(event: NewEvent, options?: AppendOptions): Promise<StoredEvent>;
  /** Appends up to 1,000 events, all or none. */
  async append(events: readonly NewEvent[], options?: AppendOptions): Promise<StoredEvent[]>;
  async append(given: NewEvent | readonly NewEvent[], options: AppendOptions = {}): Promise<unknown> {
    return (await this.#append(given, options)).body;
  }

  async #append(given: NewEvent | readonly NewEvent[], options: AppendOptions): Promise<Reply> {
    const { delta, create, ifRevision, outputKey, answer, ...call } = options;
    const query = texts({ create: create ? true : undefined, outputKey, answer });
    if (isList(given)) {
      if (delta !== undefined) throw new InputError("`delta` is of a single event.");
      return await this.#write("POST", "/events", { ...call, body: given.map(named), query }, ifRevision);
    }
    let event = named(given);
    if (delta != null) {
      if (!isFields(delta)) throw new InputError("`delta` is an object of keys and their values.");
      event = { ...event, actions: { ...event.actions, stateDelta: { ...event.actions?.stateDelta, ...delta } } };
    }
    return await this.#write("POST", "/events", { ...call, body: event, query }, ifRevision);
  }

  /** Returns the merged state. */
  async state(options?: StateOptions): Promise<JsonObject>;
  /** Returns the value of a key; undefined if there is none. */
  async state(key: string, options?: Pick<StateOptions, "at"> & CallOptions): Promise<unknown>;
  async state(first?: string | StateOptions, second?: StateOptions): Promise<unknown> {
    if (first !== undefined && !isObject(first as unknown)) nameOf("key", first, true);
    const key = typeof first === "string" ? first : undefined;
    const { at, keys, prefix, scope, ...call } = (typeof first === "string" ? second : first) ?? {};
    for (const one of keys ?? []) nameOf("key", one, true);
    const asked = key === undefined ? keys : [key];
    // A list of keys has commas between them; one that has a comma itself is picked here.
    const listed = asked?.every((one) => /^[^\s,]+$/.test(one)) ? asked.join(",") : undefined;
    const query = texts({ atRevision: at, keys: listed, prefix, scope });
    const state = (await this.#send("GET", "/state", { ...call, query })).body as JsonObject;
    if (key !== undefined) return Object.hasOwn(state, key) ? state[key] : undefined;
    return asked ? Object.fromEntries(Object.entries(state).filter(([name]) => asked.includes(name))) : state;
  }

  /**
   * Yields the changes of a key, the latest first, reading page after page: what it was, when, and which event made it so. Of an
   * `app:` or `user:` key those by all sessions.
   *
   * @throws NotFoundError if there never was such a key, as far as is known.
   */
  stateHistory(key: string, options?: StateHistoryOptions): AsyncGenerator<KeyChange, void, undefined> {
    return keyHistory(this.#http, `${this.#path}/state`, key, options);
  }

  /**
   * Applies operators in order, all or none, through one event that is appended. Returns the values of their keys after it; a
   * removed key is absent. Where a change of this id (`once`) was made before, the values are those that it had then.
   */
  override async apply(operations: readonly Operation[], options: ApplyOptions = {}): Promise<JsonObject> {
    const { when, once, author = "user", invocationId, ...append } = options;
    checkChange(operations, options);
    const actions: Actions = { stateOps: operations, ...(when?.length ? { preconditions: when } : {}) };
    const event = { id: once ?? randomUUID(), author, invocationId, actions };
    // What comes of the others, the server alone knows.
    const isKnown = operations.every(({ op }) => op === "set" || op === "remove");
    const answer = isKnown ? "minimal" : "full";
    const stored: StoredEvent = await this.append(event, { ...append, answer }).catch(async (error: unknown) => {
      if (once === undefined || !(error instanceof ConflictError)) throw error;
      return await made(this.#http, this.#path, once, actions, error);
    });
    if (!isKnown) return stored.actions?.stateDelta ?? {};
    const last = new Map(operations.map((operation) => [operation.key, operation]));
    return Object.fromEntries([...last].filter(([, { op }]) => op === "set").map(([key, { value }]) => [key, value]));
  }

  /**
   * Yields events in the order of the log, reading page after page. With `last`, these are read first. What is appended meanwhile comes,
   * too, unless the order is descending.
   */
  async *events(options: EventsOptions = {}): AsyncGenerator<StoredEvent, void, undefined> {
    const { last, order = "asc", ...rest } = options;
    const { since, effective, after, before, author, invocationId, branch, text, excludeRewound, pageSize, ...call } =
      rest;
    const query = {
      order: last === undefined ? order : "desc",
      pageSize: pageSize ?? Math.max(1, Math.min(last ?? 1000, 1000)),
      afterTimestamp: since,
      history: effective ? "effective" : undefined,
      afterSequence: after,
      beforeSequence: before,
      author,
      invocationId,
      branch,
      text,
      excludeRewound,
    };
    const path = `${this.#path}/events`;
    if (last === undefined) {
      yield* items<StoredEvent>(this.#http, path, "events", query, call);
      return;
    }
    const found: StoredEvent[] = [];
    if (last > 0) {
      for await (const page of pages(this.#http, path, query, call)) {
        found.push(...(page["events"] as StoredEvent[]).slice(0, last - found.length));
        if (found.length === last) break;
      }
    }
    yield* order === "asc" ? found.reverse() : found;
  }

  /**
   * Returns what people and models said and did, without a framework, whatever has written it: of the effective history, without what was
   * rewound, and with summaries in the place of what they cover. `conversation` makes it of events.
   */
  async conversation(options: ConversationOptions = {}): Promise<Message[]> {
    return conversation(await all(this.events({ ...options, effective: true })));
  }

  /** Returns an event. */
  async event(id: string, call?: CallOptions): Promise<StoredEvent> {
    return (await this.#send("GET", `/events${segment("id of the event", id)}`, { ...call })).body as StoredEvent;
  }

  /**
   * Follows the session: yields what is there, and then each event as it is stored. It comes back by itself after a break, behind
   * the last item: no event comes twice, none is missing.
   *
   * @throws GoneError if there is nothing to go on from.
   */
  watch(options: WatchOptions = {}): AsyncGenerator<WatchItem, void, undefined> {
    return watch(this.#http, `${this.#path}/watch`, options);
  }

  /**
   * Runs `run` as a turn: of all who take the lease of the session, one at a time. The lease is renewed while it runs and released at
   * its end, also if it fails. What is written through `turn` shows the lease: where another one has taken over, as this process was
   * silent for too long, it rejects with `StaleError`, and nothing is written, whatever the clocks say. `turn.signal` tells the same earlier.
   *
   * @throws BusyError if another turn has the lease, also after `waitMs`.
   */
  async lease<T>(options: LeaseOptions, run: (turn: Turn) => T | Promise<T>): Promise<T> {
    const { owner = newOwner(), ttlMs = 60_000, waitMs = 0, invocationId, exclusive, steal, ...call } = options;
    const asked = { owner, invocationId, ttl: ttlMs / 1000, exclusive, steal };
    const grant = await take(this.#http, this.#path, asked, waitMs, call);
    const [ended, superseded] = [new AbortController(), new AbortController()];
    const turn = new Turn(this.#http, this.app, this.user, this.id, grant, owner, superseded.signal);
    const renewed = renew(this.#http, this.#path, grant, ttlMs, ended.signal, (why) => superseded.abort(why));
    try {
      return await run(turn);
    } finally {
      ended.abort();
      await renewed;
      if (!superseded.signal.aborted) await release(this.#http, this.#path, grant);
    }
  }

  /** Makes a session with the events and the state up to `at` (by default all), and returns it. This one stays as it is. */
  async fork(options: { at?: number | undefined; id?: string | undefined } & CallOptions = {}): Promise<Session> {
    const { at, id, ...call } = options;
    if (id !== undefined) nameOf("id of the session", trimmedId(id));
    const headers = { "idempotency-key": randomUUID() };
    const body = { atRevision: at, sessionId: id };
    const reply = success_("POST", await this.#http.send("POST", `${this.#path}/fork`, { ...call, body, headers }));
    const fork = new Session(this.#http, this.app, this.user, String((reply.body as JsonObject)["id"]));
    fork.#note(reply);
    return fork;
  }

  /**
   * Takes back the events from the first one of an invocation on, or those after the event `to`: appends an event that says so and
   * restores the session's own state. Readers that exclude what was rewound do not see them; the log keeps them. Returns the
   * session.
   */
  async rewind(
    options: ({ beforeInvocation: string } | { to: number }) & { ifRevision?: number | undefined } & CallOptions,
  ): Promise<StoredSession> {
    const { beforeInvocation, to, ifRevision, ...call } = options as {
      beforeInvocation?: string;
      to?: number;
      ifRevision?: number;
    };
    if (to === undefined) nameOf("invocation", beforeInvocation);
    const body = { beforeInvocationId: beforeInvocation, toRevision: to };
    const request = { ...call, body, headers: { "idempotency-key": randomUUID() } };
    return (await this.#write("POST", "/rewind", request, ifRevision)).body as StoredSession;
  }

  /**
   * Removes what an event says from the session and from the forks that hold it, for good; returns what is left of it. `state: "remove"`
   * takes the values that it set, too. Every reader sees the reason. It takes the role `operator`.
   */
  async redact(
    eventId: string,
    options: { reason?: string | undefined; state?: "keep" | "remove" | undefined } & CallOptions = {},
  ): Promise<StoredEvent> {
    const { reason, state, ...call } = options;
    const path = `/events${segment("id of the event", eventId)}/redact`;
    return (await this.#write("POST", path, { ...call, body: { reason, state } })).body as StoredEvent;
  }

  /**
   * Removes the oldest events: those before a number, all but the last ones, or those before a time (Unix seconds). State stays. It
   * takes the role `operator`.
   */
  async trim(
    options: ({ before: number } | { keepLast: number } | { beforeTime: number }) & CallOptions,
  ): Promise<{ baseRevision: number; trimmedEvents: number; revision: number }> {
    const { before, keepLast, beforeTime, ...call } = options as Record<"before" | "keepLast" | "beforeTime", number>;
    const body = { beforeSequence: before, keepLast, beforeTime };
    const reply = await this.#write("POST", "/trim", { ...(call as CallOptions), body });
    return reply.body as { baseRevision: number; trimmedEvents: number; revision: number };
  }

  /** Deletes the session with its events, its own state and its files, if there is one. App and user state stay. */
  async delete(options: { ifRevision?: number | undefined } & CallOptions = {}): Promise<void> {
    const { ifRevision, ...call } = options;
    await this.#write("DELETE", "", call, ifRevision);
    this.#revision = undefined;
  }

  async #write(method: string, path: string, request: Request, ifRevision?: number): Promise<Reply> {
    const headers = { ...request.headers, ...this.#lease };
    if (ifRevision !== undefined) headers["if-match"] = `"${ifRevision}"`;
    return await this.#send(method, path, { ...request, headers });
  }

  async #send(method: string, path: string, request: Request): Promise<Reply> {
    const reply = success_(method, await this.#http.send(method, this.#path + path, request));
    this.#note(reply);
    return reply;
  }

  #note({ headers }: Reply): void {
    const revision = /^"(\d+)\./.exec(headers.etag ?? "")?.[1];
    if (revision !== undefined) this.#revision = Number(revision);
  }

  /** @internal */
  protected seen(revision: number): void {
    this.#revision = revision;
  }
}

/** A session whose writes show a lease. */
export class Turn extends Session {
  /** What names the turn to others. */
  readonly owner: string;
  /** The number of the lease, one more with each grant. */
  readonly epoch: number;
  /** Aborts when another turn has taken over, with the `StaleError` as its reason. */
  readonly signal: AbortSignal;

  /** @internal */
  constructor(http: Http, app: string, user: string, id: string, grant: Grant, owner: string, superseded: AbortSignal) {
    super(http, app, user, id, shown(grant));
    this.owner = owner;
    this.epoch = grant.epoch;
    this.signal = superseded;
    this.seen(grant.revision);
  }
}

/**
 * Returns the event of a change that was made before, by another author or in another invocation. Throws the conflict if the
 * event of that id is another change.
 */
export async function made(
  http: Http,
  path: string,
  id: string,
  actions: Actions,
  conflict: SessiondError,
): Promise<StoredEvent> {
  const stored = success(await http.send("GET", `${path}/events${segment("id of the event", id)}`)) as StoredEvent;
  for (const name of ["stateOps", "preconditions"] as const) {
    // As JSON has it: a field that is undefined is absent.
    const asked = actions[name] === undefined ? undefined : fromJson(toJson(actions[name]));
    if (!isDeepStrictEqual(asked, stored.actions?.[name])) throw conflict;
  }
  return stored;
}

/** Returns an event with an id, by which the session knows it when it is sent again. Throws `InputError` for one that would do nothing. */
function named(event: NewEvent): NewEvent {
  checkEvent(event);
  return event.id ? event : { ...event, id: randomUUID() };
}

function metadata({ ttlMs, ...fields }: Metadata): JsonObject {
  return { ...fields, ttl: ttlMs === undefined ? undefined : ttlMs / 1000 };
}

function isList(given: NewEvent | readonly NewEvent[]): given is readonly NewEvent[] {
  return Array.isArray(given);
}

/** Returns an answer that is a success, and throws what an error says. Only what was sent as a list is answered by one. */
function success_(method: string, reply: Reply): Reply {
  const isBatch = method === "POST" && reply.status < 300 && Array.isArray(reply.body);
  if (!isBatch) success(reply);
  return reply;
}
