import { AsyncLocalStorage } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { SessionBusyError, SessionNotFoundError, StaleSessionError } from "./errors.js";
import { codeOf, details, type Http, type Reply, success } from "./http.js";
import { isObject } from "./json.js";

// For how long one request waits for the lease, so that a wait survives what closes idle connections.
const ONE_WAIT_S = 30;

/** An invocation that runs on a session object. */
interface Turn {
  path: string;
  sessionId: string;
  invocationId: string;
  /** Names the turn, not just the process: two turns of one process with one invocation id exclude each other, too. */
  owner: string;
  epoch: number;
  incarnation: string;
  /** The revision of the session when this turn got the lease. */
  revision: number;
  /** Nobody needs it any more, or the server has been told so. */
  released: boolean;
  /** What the server said when another turn had taken over. */
  superseded?: Reply;
}

/** The leases of a service's turns: taken with the first event of an invocation, released when its turn ends. */
export class Leases {
  readonly #http: Http;
  readonly #waitMs: number;
  readonly #ttlMs: number;
  readonly #turns = new WeakMap<object, Turn>();
  readonly #held = new Set<Turn>();
  // The turns that began in the run that is under way, see `run`.
  readonly #scope = new AsyncLocalStorage<Set<Turn>>();
  // Where nobody says when a turn ends, it ends when nobody has its session object any more.
  readonly #gone = new FinalizationRegistry<Turn>((turn) => void this.#release(turn));

  /** Takes for how long to wait for a turn of others, and after how long a silent turn may be superseded. */
  constructor(http: Http, waitMs: number, ttlMs: number) {
    this.#http = http;
    this.#waitMs = waitMs;
    this.#ttlMs = ttlMs;
  }

  /**
   * Takes the lease of the session at `path`, unless this turn has it. Returns the session's revision at that moment.
   *
   * @throws SessionBusyError if another turn holds it, also after the wait.
   */
  async take(session: object, path: string, sessionId: string, invocationId: string): Promise<number> {
    const before = this.#turns.get(session);
    if (before?.invocationId === invocationId) return before.revision;
    if (before !== undefined) await this.#release(before);
    const owner = `${hostname().slice(0, 64)}/${process.pid}/${randomUUID().slice(0, 13)}`;
    const granted = await this.#granted(path, sessionId, { owner, invocationId, ttl: this.#ttlMs / 1000 });
    const turn: Turn = {
      path,
      sessionId,
      invocationId,
      owner,
      epoch: Number(granted["epoch"]),
      incarnation: String(granted["incarnation"]),
      revision: Number(granted["revision"]),
      released: false,
    };
    this.#turns.set(session, turn);
    this.#held.add(turn);
    this.#scope.getStore()?.add(turn);
    this.#gone.register(session, turn);
    return turn.revision;
  }

  /** Returns what the writes of this turn carry. Throws `StaleSessionError` if it has been superseded. */
  headers(session: object): Record<string, string> {
    const turn = this.#turns.get(session);
    if (turn === undefined) return {};
    if (turn.superseded !== undefined) throw stale(turn, turn.superseded);
    return { "sessiond-lease": `${turn.epoch}-${turn.incarnation}` };
  }

  /** Notes that the turn was superseded, and returns what it is told, now and at each further write. */
  fenced(session: object, reply: Reply): StaleSessionError | undefined {
    const turn = this.#turns.get(session);
    if (turn === undefined) return undefined;
    turn.superseded = reply;
    this.#held.delete(turn);
    return stale(turn, reply);
  }

  /** Runs what `begin` begins, and ends its turns at its end, also if it fails or the caller stops to iterate. */
  async *run<T>(begin: () => AsyncIterable<T>): AsyncGenerator<T, void, undefined> {
    const turns = new Set<Turn>();
    const within = <R>(step: () => R): R => this.#scope.run(turns, step);
    try {
      const iterator = within(() => begin()[Symbol.asyncIterator]());
      let whole = false;
      try {
        for (;;) {
          const { done, value } = await within(() => iterator.next());
          if (done) {
            whole = true;
            return;
          }
          yield value;
        }
      } finally {
        if (!whole) await within(() => iterator.return?.());
      }
    } finally {
      await Promise.all([...turns].map((turn) => this.#release(turn)));
    }
  }

  /** Releases all leases. A turn that goes on may do so until another one takes the lease: then it is superseded. */
  async release(): Promise<void> {
    await Promise.all([...this.#held].map((turn) => this.#release(turn)));
  }

  async #granted(path: string, sessionId: string, asked: object): Promise<Record<string, unknown>> {
    const deadline = performance.now() + this.#waitMs;
    for (let waitS = 0; ; ) {
      const query = waitS === 0 ? undefined : { wait: String(waitS) };
      const reply = await this.#http.send("POST", `${path}/lease`, { body: asked, query, patienceMs: waitS * 1000 });
      if (codeOf(reply) === "session_not_found") {
        throw new SessionNotFoundError(`Session ${sessionId} not found.`, details(reply));
      }
      if (codeOf(reply) !== "lease_held") return success(reply);
      const left = deadline - performance.now();
      if (left <= 0) throw busy(reply);
      // The server may end a wait early.
      if (waitS > 0) await sleep(Math.min(left, 200 + Math.random() * 300));
      waitS = Math.max(1, Math.min(ONE_WAIT_S, Math.floor(left / 1000)));
    }
  }

  async #release(turn: Turn): Promise<void> {
    this.#held.delete(turn);
    if (turn.released || turn.superseded !== undefined) return;
    turn.released = true;
    try {
      const query = { epoch: String(turn.epoch), incarnation: turn.incarnation };
      const reply = await this.#http.send("DELETE", `${turn.path}/lease`, { query });
      if (codeOf(reply) !== "session_not_found") success(reply);
    } catch (error) {
      // It expires.
      this.#http.note(`The lease of a turn was not released: ${(error as Error).message}`);
    }
  }
}

/** Returns the error of a write that another turn excludes. */
export function busy(reply: Reply): SessionBusyError {
  const { owner, expireTime } = isObject(reply.body) ? reply.body : {};
  return new SessionBusyError(
    typeof owner === "string" ? owner : undefined,
    typeof expireTime === "number" ? new Date(expireTime * 1000) : undefined,
    details(reply),
  );
}

function stale(turn: Turn, reply: Reply): StaleSessionError {
  return new StaleSessionError(
    `The invocation ${turn.invocationId} of session ${turn.sessionId} was superseded: another turn has taken its lease. ` +
      "Read the session again.",
    details(reply),
  );
}
