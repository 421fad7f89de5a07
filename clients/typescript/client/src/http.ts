import * as http from "node:http";
import * as https from "node:https";
import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import {
  AccessError,
  BusyError,
  ConflictError,
  type Details,
  GoneError,
  InputError,
  NotFoundError,
  SessiondError,
  StaleError,
} from "./errors.js";
import { fromJson, isObject, type JsonObject, toJson } from "./json.js";
import { Bearer, type Token } from "./token.js";
import { VERSION } from "./version.js";

/** What a single call may say. Times are milliseconds. */
export interface CallOptions {
  /**
   * For how long one attempt may take until its answer is read, or, while the bytes of a file are sent or read, for how long
   * none may come or go: 15,000 by default.
   */
  timeoutMs?: number | undefined;
  /**
   * For how long a request may take with all its attempts: 30,000 by default. 0 tries once.
   */
  retryForMs?: number | undefined;
  /** Ends the call at once: it throws the signal's reason. Whether a write was applied is then not known. */
  signal?: AbortSignal | undefined;
}

/** What all requests have in common. Times are milliseconds. */
export interface HttpOptions extends Omit<CallOptions, "signal"> {
  /**
   * Where sessiond is: `http://HOST:PORT`, `https://HOST`, or the same as `sessiond://HOST:PORT` (without a port: 8080)
   * and `sessiond+https://HOST`; with a path, if a proxy puts it under one. Without a user, a query and a fragment. By default that
   * of the variable `SESSIOND_URL`, or `http://127.0.0.1:8080`.
   */
  url?: string | undefined;
  /**
   * The credential, sent as `Authorization: Bearer TOKEN`; by default that of the variable `SESSIOND_TOKEN`, which is read
   * when the client is made. `""` is none. Or a function that returns it: its token is kept, and it is asked again, once
   * for all requests that wait, when the server refuses that token.
   */
  token?: Token | undefined;
  /** Sent with every request; an `Authorization` among them takes the place of `token`. */
  headers?: Record<string, string> | undefined;
  /** For how long to wait for a connection: 2,000 by default. */
  connectTimeoutMs?: number | undefined;
  /** After how long without a byte a watch gives its connection up: 45,000 by default; the server sends one each 15,000. */
  watchSilenceMs?: number | undefined;
  /** Told when a request is tried again or a watch comes back: method, URL and why, never a credential or a body. */
  log?: ((message: string) => void) | undefined;
}

/** An answer that is final: a success, or an error that sending the request again would not change. */
export interface Reply {
  status: number;
  headers: http.IncomingHttpHeaders;
  /** The JSON of the answer; undefined if it has none. */
  body: unknown;
  /** The bytes of a file, which are the caller's to read, or to destroy; if they were asked for, and there are some. */
  file?: http.IncomingMessage | undefined;
  /** What it answers, for people: method, URL, and how often and for how long it was tried. */
  to?: string | undefined;
}

/** The bytes of a file: whole, from a function that begins anew for each attempt, or once, and then there is one attempt. */
export type Bytes = Uint8Array | AsyncIterable<Uint8Array> | (() => AsyncIterable<Uint8Array>);

/** A request. */
export interface Request extends CallOptions {
  body?: unknown;
  /** The bytes of a file, which are sent instead of a `body`. */
  file?: { bytes: Bytes; mimeType: string | undefined };
  /** Whether a success is the bytes of a file, and not JSON. */
  wantsFile?: boolean;
  query?: Record<string, string> | undefined;
  headers?: Record<string, string> | undefined;
  /** Milliseconds for which the server is asked to hold the answer back, on top of the time for attempts. */
  patienceMs?: number;
}

/** Statuses that another attempt may change. */
export const RETRIED: ReadonlySet<number> = new Set([408, 429, 502, 503, 504]);

// The pause before the second attempt, four times as long before each further one up to the second number, and never longer than half of
// the time that is left: so all of it is used, and the last attempts have some.
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 8_000;

const OPTIONS: ReadonlySet<string> = new Set([
  ...["body", "file", "wantsFile", "query", "headers", "patienceMs"],
  ...["timeoutMs", "retryForMs", "signal"],
]);

const URL_RULE =
  "The URL of sessiond is http://HOST:PORT, https://HOST, sessiond://HOST:PORT or sessiond+https://HOST, without a " +
  "user, a query and a fragment. A credential is given as `token`, or in the variable SESSIOND_TOKEN.";

/** Sends requests that may be sent twice, and does so if an answer does not come. */
export class Http {
  readonly #url: string;
  readonly #base: URL;
  readonly #headers: Record<string, string>;
  readonly #bearer: Bearer | undefined;
  readonly #connectTimeoutMs: number;
  readonly #timeoutMs: number;
  readonly #retryForMs: number;
  readonly #silenceMs: number;
  readonly #log: (message: string) => void;
  #agent: http.Agent;

  /** Opens no connection yet. Throws `TypeError` if the URL, the token or a header cannot be used; it shows none of them. */
  constructor(options: HttpOptions) {
    this.#url = httpUrl(options.url ?? process.env["SESSIOND_URL"] ?? "http://127.0.0.1:8080");
    this.#base = new URL(this.#url);
    this.#headers = { "user-agent": `sessiond-typescript/${VERSION}` };
    for (const [name, value] of Object.entries(options.headers ?? {})) {
      if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(name) || !/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(value)) {
        throw new TypeError(`The header ${JSON.stringify(name)} cannot be sent.`);
      }
      this.#headers[name.toLowerCase()] = value;
    }
    const own = this.#headers["authorization"] !== undefined;
    if (own && options.token)
      throw new TypeError("There are two credentials: `token`, and `Authorization` in `headers`.");
    const token = own ? "" : (options.token ?? process.env["SESSIOND_TOKEN"] ?? "");
    this.#bearer = token === "" ? undefined : new Bearer(token);
    this.#connectTimeoutMs = options.connectTimeoutMs ?? 2_000;
    this.#timeoutMs = options.timeoutMs ?? 15_000;
    this.#retryForMs = options.retryForMs ?? 30_000;
    this.#silenceMs = options.watchSilenceMs ?? 45_000;
    this.#log = options.log ?? (() => {});
    this.#agent = this.#newAgent();
  }

  /**
   * Sends a request until there is a final answer, or no time left for another attempt.
   *
   * Each attempt is a request that has the same effect when it is sent twice.
   *
   * @throws AccessError if there is no credential, it was refused, or it does not allow the request.
   * @throws InputError if the body cannot be written as JSON, or an option is none.
   * @throws SessiondError if there was no final answer in time. It says what the last attempt met, the method and URL, how
   *   many attempts there were, and how long they took together.
   */
  async send(method: string, path: string, request: Request = {}): Promise<Reply> {
    const { file, wantsFile = false, signal } = request;
    // What no call has taken for itself is not one of its options.
    const unknown = Object.keys(request).find((name) => !OPTIONS.has(name));
    if (unknown !== undefined)
      throw new InputError(`There is no option \`${unknown}\` here.`, { outcome: "not_applied" });
    const content = file?.bytes ?? (request.body === undefined ? undefined : toJson(request.body));
    const once = typeof content === "object" && Symbol.asyncIterator in content;
    const headers = { ...request.headers };
    const type = file === undefined ? "application/json" : file.mimeType;
    if (content !== undefined && type !== undefined) headers["content-type"] = type;
    const patience = request.patienceMs ?? 0;
    const target = withQuery(path, request.query);
    const began = performance.now();
    const deadline = began + (request.retryForMs ?? this.#retryForMs) + patience;
    let inDoubt = false;
    for (let attempt = 1; ; attempt += 1) {
      signal?.throwIfAborted();
      let asked = 0;
      let status: number | undefined;
      let body: unknown;
      let cause: unknown;
      let said: string;
      try {
        const rest = attempt === 1 ? Number.POSITIVE_INFINITY : deadline - performance.now();
        const timeoutMs = Math.min((request.timeoutMs ?? this.#timeoutMs) + patience, rest);
        // What is sent once must not meet a connection that the server is about to close.
        const agent = patience === 0 && !once ? this.#agent : false;
        const transfers = file !== undefined || wantsFile;
        const sent = { method, path: target, headers, content, once };
        const reply = await this.#authorised({ ...sent, timeoutMs, transfers, wantsFile, agent, signal });
        status = reply.status;
        body = reply.body;
        if (status === 401 || status === 403) {
          const to = this.#tried(method, path, attempt, began);
          throw this.#failure(method, inDoubt, `${said_(status, body, to)}${this.#hint(status)}`, status, body);
        }
        const isUnknown = text(body, "outcome") === "unknown";
        if (!RETRIED.has(status) && !isUnknown) return { ...reply, to: this.#tried(method, path, attempt, began) };
        inDoubt ||= text(body, "outcome") !== "not_applied";
        said = said_(status, body);
        asked = retryAfterMs(reply.headers);
      } catch (error) {
        signal?.throwIfAborted();
        if (error instanceof AccessError && error.status === undefined && method !== "GET") {
          // There is no token. It speaks of this attempt; those before may have been applied.
          throw new AccessError(error.message, { outcome: inDoubt ? "unknown" : "not_applied", cause: error.cause });
        }
        if (error instanceof SessiondError) throw error;
        inDoubt ||= !(error instanceof NoConnection);
        cause = error instanceof NoConnection ? error.cause : error;
        said = notReached(error);
      }
      const left = deadline - performance.now();
      const drawn = Math.min(FIRST_PAUSE_MS * 4 ** (attempt - 1), LONGEST_PAUSE_MS) * (0.75 + Math.random() / 2);
      const pause = Math.max(Math.min(drawn, left / 2), asked);
      let isLast = once || left < FIRST_PAUSE_MS || pause > left;
      if (!isLast) {
        this.#log(
          `${method} ${this.#url}${path}: attempt ${attempt} failed, trying again in ${(pause / 1000).toFixed(1)} s: ${said}`,
        );
        await sleep(pause, undefined, signal ? { signal } : {}).catch(() => {});
        // On a busy machine a pause takes longer. An attempt without time would only put the outcome in doubt.
        isLast = performance.now() >= deadline;
      }
      if (isLast) {
        const message = `${said} Gave up ${this.#tried(method, path, attempt, began)}.`;
        throw this.#failure(method, inDoubt, message, status, body, cause);
      }
    }
  }

  /** Sends a request and returns the body of its success. */
  async get(path: string, query?: Record<string, string>): Promise<JsonObject> {
    return success(await this.send("GET", path, { query }));
  }

  /**
   * Opens a stream, once, with a connection of its own. The body is the caller's to read; it ends with an error after a
   * silence, or when the signal aborts.
   */
  async stream(
    path: string,
    query: Record<string, string>,
    signal: AbortSignal | undefined,
  ): Promise<http.IncomingMessage> {
    const headers = { accept: "text/event-stream" };
    const target = withQuery(path, query);
    const open = async (authorization: Record<string, string>): Promise<http.IncomingMessage> => {
      const { request, answer } = await this.#open("GET", target, { ...headers, ...authorization }, false, signal);
      const timer = setTimeout(() => request.destroy(late(this.#timeoutMs)), this.#timeoutMs);
      request.end();
      try {
        const response = await answer;
        request.setTimeout(this.#silenceMs, () => request.destroy(late(this.#silenceMs)));
        return response;
      } finally {
        clearTimeout(timer);
      }
    };
    if (this.#bearer === undefined) return await open({});
    const shown = await this.#bearer.laterThan(0);
    const response = await open({ authorization: shown.header });
    if (response.statusCode !== 401 || !this.#bearer.renews) return response;
    response.destroy();
    return await open({ authorization: (await this.#bearer.laterThan(shown.version)).header });
  }

  /** Reads an answer that is no stream. Throws `AccessError` if the credential was refused. */
  async read(path: string, response: http.IncomingMessage): Promise<Reply> {
    const reply = { ...(await whole(response)), to: `GET ${this.#url}${path}` };
    const { status, body } = reply;
    if (status === 401 || status === 403) {
      throw this.#failure("GET", false, said_(status, body, reply.to) + this.#hint(status), status, body);
    }
    return reply;
  }

  /** Returns the URL of a path. */
  url(path: string): string {
    return this.#url + path;
  }

  /** Tells the log. */
  note(message: string): void {
    this.#log(message);
  }

  /** Closes the connections. The next request opens new ones. */
  close(): void {
    this.#agent.destroy();
    this.#agent = this.#newAgent();
  }

  #tried(method: string, path: string, attempts: number, began: number): string {
    const tries = attempts === 1 ? "1 attempt" : `${attempts} attempts`;
    return `${method} ${this.#url}${path} after ${tries} in ${((performance.now() - began) / 1000).toFixed(1)} s`;
  }

  async #authorised(attempt: Attempt): Promise<Reply> {
    if (this.#bearer === undefined) return await this.#once(attempt);
    const shown = await this.#bearer.laterThan(0);
    const reply = await this.#once(withHeader(attempt, shown.header));
    if (reply.status !== 401 || !this.#bearer.renews || attempt.once) return reply;
    return await this.#once(withHeader(attempt, (await this.#bearer.laterThan(shown.version)).header));
  }

  async #once(attempt: Attempt): Promise<Reply> {
    const { method, path, headers, content, timeoutMs, transfers, wantsFile, agent, signal } = attempt;
    const { request, answer } = await this.#open(method, path, headers, agent, signal);
    const end = (): unknown => request.destroy(late(timeoutMs));
    // How long a file takes depends on its size: there it is silence that ends an attempt.
    const timer = transfers ? undefined : setTimeout(end, timeoutMs);
    if (transfers) request.setTimeout(timeoutMs, end);
    try {
      if (content === undefined || typeof content === "string" || content instanceof Uint8Array) {
        request.end(content);
      } else {
        send(content, request);
      }
      const response = await answer;
      const { statusCode: status = 0, headers: said } = response;
      if (wantsFile && (status === 200 || status === 206)) {
        return { status, headers: said, body: undefined, file: response };
      }
      return await whole(response);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Makes a request, whose answer fails with `NoConnection` if there is no connection in time. */
  async #open(
    method: string,
    path: string,
    headers: Record<string, string>,
    agent: http.Agent | false,
    signal: AbortSignal | undefined,
  ): Promise<{ request: http.ClientRequest; answer: Promise<http.IncomingMessage> }> {
    const { protocol, hostname, port, pathname } = this.#base;
    const secure = protocol === "https:";
    const traced: Record<string, string> = {};
    (await tracing)?.(traced);
    const request = (secure ? https : http).request({
      method,
      // `URL` has resolved nothing in `path`, which may have segments like `%2E%2E`.
      path: (pathname === "/" ? "" : pathname) + path,
      hostname: hostname.replace(/^\[(.*)\]$/, "$1"),
      port: port || (secure ? 443 : 80),
      headers: { ...traced, ...this.#headers, ...headers },
      agent,
      ...(signal ? { signal } : {}),
    });
    let connected = false;
    const answer = new Promise<http.IncomingMessage>((resolve, reject) => {
      // Never removed: an error without a listener would end the process.
      request.on("error", (error) => reject(connected ? error : new NoConnection(error)));
      request.on("response", resolve);
    });
    request.once("socket", (socket) => {
      connected = !socket.connecting;
      if (connected) return;
      const timer = setTimeout(() => request.destroy(late(this.#connectTimeoutMs)), this.#connectTimeoutMs);
      socket.once("close", () => clearTimeout(timer));
      socket.once(secure ? "secureConnect" : "connect", () => {
        clearTimeout(timer);
        connected = true;
      });
    });
    return { request, answer };
  }

  #newAgent(): http.Agent {
    // Kept for less than the 75 s after which sessiond closes a connection that nobody uses.
    const options = { keepAlive: true, maxSockets: 100, timeout: 60_000 } as const;
    return this.#base.protocol === "https:" ? new https.Agent(options) : new http.Agent(options);
  }

  #hint(status: number): string {
    const none = this.#bearer === undefined && this.#headers["authorization"] === undefined;
    return status === 401 && none ? " No token was sent: give `token`, or set SESSIOND_TOKEN." : "";
  }

  #failure(
    method: string,
    inDoubt: boolean,
    said: string,
    status?: number,
    body?: unknown,
    cause?: unknown,
  ): SessiondError {
    // What came last speaks of that attempt; those before may have been applied.
    const outcome = method === "GET" ? undefined : inDoubt ? "unknown" : "not_applied";
    return failure(said, status, body, { outcome, cause });
  }
}

interface Attempt {
  method: string;
  path: string;
  headers: Record<string, string>;
  content: string | Bytes | undefined;
  /** Whether the content can be read only once. */
  once: boolean;
  timeoutMs: number;
  /** Whether a file is sent or read. */
  transfers: boolean;
  wantsFile: boolean;
  agent: http.Agent | false;
  signal: AbortSignal | undefined;
}

/** The request never left this process, so it did not happen. */
class NoConnection extends Error {
  constructor(cause: Error) {
    super(cause.message, { cause });
  }
}

/** Puts the current trace into headers; undefined if the program has no OpenTelemetry. */
const tracing: Promise<((headers: Record<string, string>) => void) | undefined> = import("@opentelemetry/api").then(
  ({ context, propagation }) =>
    (headers) =>
      propagation.inject(context.active(), headers),
  () => undefined,
);

/** Returns the object of an answer that is a success, and throws what an error says. */
export function success(reply: Reply): JsonObject {
  if (reply.status === 204) return {};
  if (reply.status !== 200 && reply.status !== 201) throw refusal(reply);
  if (!isObject(reply.body)) {
    throw new SessiondError(`The answer with status ${reply.status} is not sessiond's.`, { status: reply.status });
  }
  return reply.body;
}

/** sessiond's word for the error; undefined for a success, and for an error that is not sessiond's. */
export function codeOf(reply: Reply): string | undefined {
  return reply.status >= 400 ? text(reply.body, "code") : undefined;
}

/** Returns what an answer that is an error says. */
export function refusal(reply: Reply): SessiondError {
  return failure(said_(reply.status, reply.body, reply.to), reply.status, reply.body);
}

/** Returns the fields of the error that an answer is. */
export function details({ status, body }: { status?: number | undefined; body: unknown }): Details {
  const number = (field: string): number | undefined => {
    const value = isObject(body) ? body[field] : undefined;
    return typeof value === "number" ? value : undefined;
  };
  const expires = number("expireTime");
  return {
    status,
    code: text(body, "code"),
    outcome: text(body, "outcome"),
    requestId: text(body, "requestId"),
    revision: number("revision"),
    baseRevision: number("baseRevision"),
    owner: text(body, "owner"),
    expireTime: expires === undefined ? undefined : new Date(expires * 1000),
  };
}

/** Returns a name as a segment of a path, with its slash before it, percent-encoded. Throws as `nameOf` does. */
export function segment(what: string, name: unknown): string {
  return `/${encodeURIComponent(nameOf(what, name))}`;
}

/**
 * Returns a name. Throws `InputError` if it is no text: `undefined` would be the name of one user whom all share that have none; and,
 * unless it may be any text, if it is empty, `.` or `..`: a path with it would be that of something else.
 */
export function nameOf(what: string, name: unknown, mayBeAnyText = false): string {
  const why = faultOf(name, mayBeAnyText);
  if (why === undefined) return name as string;
  throw new InputError(`The ${what} ${why}.`, { code: "invalid_argument", outcome: "not_applied" });
}

function faultOf(name: unknown, mayBeAnyText: boolean): string | undefined {
  if (typeof name !== "string") {
    const isNone = name === null || name === undefined;
    const given = isNone ? String(name) : Array.isArray(name) ? "a list" : `of type ${typeof name}`;
    return `is ${given}: it has to be a text`;
  }
  if (/\p{Surrogate}/u.test(name)) return "has half of a character: a surrogate without its partner";
  if (mayBeAnyText) return undefined;
  if (name === "") return "is empty";
  return name === "." || name === ".." ? `is "${name}", which would address another path` : undefined;
}

function withQuery(path: string, query: Record<string, string> | undefined): string {
  const search = new URLSearchParams(query).toString();
  return search === "" ? path : `${path}?${search}`;
}

/** Says that there was no answer. */
export function notReached(error: unknown): string {
  const { code, message } =
    error instanceof Error ? (error as NodeJS.ErrnoException) : { code: "", message: String(error) };
  const cause = error instanceof NoConnection ? (error.cause as NodeJS.ErrnoException) : undefined;
  const kind = cause?.code ?? code;
  return `sessiond cannot be reached: ${[kind, message].filter(Boolean).join(": ").replace(/\.$/, "")}.`;
}

/** Returns the milliseconds that an answer asks to wait for, which proxies may say as a date; 0 if it does not. */
export function retryAfterMs(headers: http.IncomingHttpHeaders): number {
  const value = headers["retry-after"] ?? "";
  const ms = /^\d+(\.\d+)?$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : 0;
}

function httpUrl(given: string): string {
  const [, scheme = "", rest = ""] = /^(https?|sessiond(?:\+https?)?):\/\/(.*)$/s.exec(given) ?? [];
  const secure = scheme === "https" || scheme === "sessiond+https";
  let url: URL;
  try {
    url = new URL(`${secure ? "https" : "http"}://${rest}`);
  } catch {
    throw new TypeError(URL_RULE);
  }
  if (scheme === "" || /[?#@\s]/.test(rest) || url.hostname === "") throw new TypeError(URL_RULE);
  // `URL` drops a port that is the default of its scheme, and 8080 is none.
  if (scheme === "sessiond" && !/:\d+$/.test(rest.split("/")[0] ?? "")) url.port = "8080";
  return url.href.replace(/\/+$/, "");
}

function withHeader(attempt: Attempt, authorization: string): Attempt {
  return { ...attempt, headers: { ...attempt.headers, authorization } };
}

function late(ms: number): Error {
  return Object.assign(new Error(`nothing came within ${ms / 1000} s`), { code: "ETIMEDOUT" });
}

/** Sends bytes as they come. What fails there ends the request, whose answer then fails with it. */
function send(bytes: Bytes, request: http.ClientRequest): void {
  const source = Readable.from(typeof bytes === "function" ? bytes() : bytes);
  source.on("error", (error) => request.destroy(error));
  request.on("close", () => source.destroy());
  source.pipe(request);
}

async function whole(response: http.IncomingMessage): Promise<Reply> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  if (!response.complete) throw new Error("the answer was cut");
  const body = fromJson(Buffer.concat(chunks).toString("utf8"));
  return { status: response.statusCode ?? 0, headers: response.headers, body };
}

function text(body: unknown, field: string): string | undefined {
  const value = isObject(body) ? body[field] : undefined;
  return typeof value === "string" ? value : undefined;
}

function said_(status: number, body: unknown, to?: string): string {
  const code = text(body, "code");
  const detail = text(body, "detail") ?? text(body, "title") ?? "the answer is not sessiond's";
  const asked = to === undefined ? "" : ` It answers ${to}.`;
  return `sessiond answered ${status}${code === undefined ? "" : ` ${code}`}: ${detail.replace(/\.$/, "")}.${asked}`;
}

// What is there under an id already, and another thing than was sent.
const CONFLICTS: ReadonlySet<string> = new Set([
  "session_already_exists",
  "event_id_conflict",
  "artifact_version_exists",
  "erasure_conflict",
]);

function kindOf(status = 0, code = ""): typeof SessiondError {
  if (code === "lease_held") return BusyError;
  if (code === "fenced" || status === 412) return StaleError;
  if (CONFLICTS.has(code)) return ConflictError;
  // A path that there is not is no thing that there is not.
  if (code.endsWith("_not_found")) return NotFoundError;
  if (status === 410) return GoneError;
  if (status === 401 || status === 403) return AccessError;
  if ([400, 413, 414, 415, 422].includes(status)) return InputError;
  return SessiondError;
}

function failure(message: string, status: number | undefined, body: unknown, more: Details = {}): SessiondError {
  const said = details({ status, body });
  return new (kindOf(status, said.code))(message, {
    ...said,
    outcome: more.outcome ?? said.outcome,
    cause: more.cause,
  });
}
