import type { StoredEvent } from "./events.js";
import { type CallOptions, Http, type HttpOptions, nameOf, refusal, success } from "./http.js";
import { isObject } from "./json.js";
import { items, type Query, texts } from "./pages.js";
import { appPath, sessionsPath, userPath } from "./paths.js";
import { Session, type SessionInfo, type StoredSession } from "./session.js";
import { App, User } from "./shared.js";

/** Which sessions are listed, and how. */
export interface SessionsOptions extends CallOptions {
  /** Only those with these labels. */
  labels?: Record<string, string> | undefined;
  /** Only those whose id begins so. */
  idPrefix?: string | undefined;
  /** Only those of users whose id begins so; in a list of all users. */
  userPrefix?: string | undefined;
  /** Only the forks of this session; in a list of one user. */
  forkedFrom?: string | undefined;
  /** By which time, ascending unless `order` says otherwise: `lastUpdateTime` by default. */
  orderBy?: "lastUpdateTime" | "createTime" | undefined;
  order?: "asc" | "desc" | undefined;
  /** Whether they come with their merged state; events never do. */
  includeState?: boolean | undefined;
}

/** What is searched. */
export interface SearchOptions extends CallOptions {
  /** How many events at most: 10 by default, up to 100. */
  limit?: number | undefined;
  /** Only what was stored at this time or later, in Unix seconds. */
  since?: number | undefined;
  /** Only what was stored before this time. */
  until?: number | undefined;
  author?: string | undefined;
  /** Only this session. */
  session?: string | undefined;
  /** Not this session. */
  exceptSession?: string | undefined;
}

/** An event that a search has found. */
export interface Hit {
  sessionId: string;
  /** That of the session. */
  displayName?: string;
  /** The larger, the better: it counts the words that the event has, rare ones more. */
  score: number;
  event: StoredEvent;
}

/** What a search has found. */
export interface Hits {
  /** The best first. */
  hits: Hit[];
  /**
   * Whether all was looked at: what was said before the index was switched on is taken in by and by, and of very many events only those
   * with the rarest words are looked at.
   */
  complete: boolean;
}

/** A token for one user of one app. */
export interface MintedToken {
  /** What the user sends as `Authorization: Bearer TOKEN`. */
  token: string;
  expireTime: Date;
}

/** One sessiond. Its connections are kept between requests. */
export class Sessiond {
  /** @internal */
  readonly http: Http;

  /**
   * Takes the URL of sessiond, or all options; the URL is by default that of the variable `SESSIOND_URL`, or `http://127.0.0.1:8080`.
   * Opens no connection yet. Throws `TypeError` if an option cannot be used.
   */
  constructor(options: HttpOptions | string = {}) {
    this.http = new Http(typeof options === "string" ? { url: options } : options);
  }

  /** Returns a session, which may exist or not. It costs no request. Throws `InputError` if a name is no text, or blank. */
  session(app: string, user: string, id: string): Session {
    return new Session(this.http, app, user, id);
  }

  /** Returns an app, for its state. It costs no request. */
  app(name: string): App {
    return new App(this.http, name);
  }

  /** Returns a user, for its state and its files. It costs no request. */
  user(app: string, id: string): User {
    return new User(this.http, app, id);
  }

  /** Yields the sessions of all users of the app. A user who is `undefined` is an `InputError`, and not all of them. */
  sessions(
    app: string,
    options: SessionsOptions & { includeState: true },
  ): AsyncGenerator<SessionInfo & Pick<StoredSession, "state">, void, undefined>;
  sessions(app: string, options?: SessionsOptions): AsyncGenerator<SessionInfo, void, undefined>;
  /** Yields the sessions of a user, without events and without state. */
  sessions(
    app: string,
    user: string,
    options: SessionsOptions & { includeState: true },
  ): AsyncGenerator<SessionInfo & Pick<StoredSession, "state">, void, undefined>;
  sessions(app: string, user: string, options?: SessionsOptions): AsyncGenerator<SessionInfo, void, undefined>;
  sessions(
    app: string,
    ...given: [(string | SessionsOptions)?, SessionsOptions?]
  ): AsyncGenerator<SessionInfo, void, undefined> {
    const [first = given.length > 0 ? nameOf("id of the user", undefined) : {}, second = {}] = given;
    const [user, options] = isObject(first)
      ? [undefined, first as SessionsOptions]
      : [nameOf("id of the user", first), second];
    const { labels = {}, idPrefix, userPrefix, forkedFrom, orderBy, order, includeState, ...call } = options;
    const query: Query = { idPrefix, userPrefix, forkedFrom, orderBy, order, includeState };
    for (const [name, value] of Object.entries(labels)) query[`label.${name}`] = nameOf("label", value, true);
    const path = user === undefined ? `${appPath(app)}/sessions` : sessionsPath(app, user);
    return items(this.http, path, "sessions", query, call);
  }

  /** Yields the names of the apps that there are. */
  async *apps(call?: CallOptions): AsyncGenerator<string, void, undefined> {
    for await (const { appName } of items<{ appName: string }>(this.http, "/v1/apps", "apps", {}, call)) yield appName;
  }

  /** Yields the ids of the users of an app. */
  async *users(app: string, call?: CallOptions): AsyncGenerator<string, void, undefined> {
    const path = `${appPath(app)}/users`;
    for await (const { userId } of items<{ userId: string }>(this.http, path, "users", {}, call)) yield userId;
  }

  /**
   * Finds what was said in the sessions of a user: events that have one of the words of `text`, of which the first 32 count, those with most
   * first. Words are whole; case and accents do not count. Nothing is found that was rewound, redacted, trimmed or deleted; an event is
   * found as soon as it is stored.
   *
   * @throws SessiondError of the code `search_off` if the policy of the app has no `search: { index: true }`: it says how an operator sets it.
   * @throws InputError if there is no word in the text.
   */
  async search(app: string, user: string, text: string, options: SearchOptions = {}): Promise<Hits> {
    const { limit, since, until, author, session, exceptSession, ...call } = options;
    const query = texts({
      text: nameOf("text to search for", text, true),
      limit,
      from: since,
      to: until,
      author,
      session,
      exceptSession,
    });
    return success(await this.http.send("GET", `${userPath(app, user)}/search`, { ...call, query })) as unknown as Hits;
  }

  /**
   * Makes a token for one user of one app, of the role `user` by default, never above that of this client's key, for an hour by
   * default.
   */
  async mintToken(
    app: string,
    user: string,
    options: { role?: string | undefined; ttlMs?: number | undefined } & CallOptions = {},
  ): Promise<MintedToken> {
    const { role, ttlMs, ...call } = options;
    const body = {
      app: nameOf("name of the app", app),
      user: nameOf("id of the user", user),
      role,
      ttl: ttlMs === undefined ? undefined : ttlMs / 1000,
    };
    const minted = success(await this.http.send("POST", "/v1/tokens", { ...call, body }));
    return { token: String(minted["token"]), expireTime: new Date(Number(minted["expireTime"]) * 1000) };
  }

  /**
   * Sends what has no method here, and returns the JSON of its success; undefined if it has none. `path` is percent-encoded and begins
   * with `/v1`. It may be sent again: a write is one that has the same effect then, or has an `Idempotency-Key`.
   */
  async request(
    method: string,
    path: string,
    options: { query?: Query; body?: unknown; headers?: Record<string, string> } & CallOptions = {},
  ): Promise<unknown> {
    const { query = {}, ...rest } = options;
    const reply = await this.http.send(method, path, { ...rest, query: texts(query) });
    if (reply.status >= 400) throw refusal(reply);
    return reply.body;
  }

  /** Closes the connections. The client can be used again. */
  close(): void {
    this.http.close();
  }
}
