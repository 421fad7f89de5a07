import { AsyncLocalStorage } from "node:async_hooks";
import type { StaleError } from "@sessiond/client";
import { type Grant, type Http, newOwner, release, shown, take } from "@sessiond/client/internal";
import { StaleSessionError } from "./errors.js";

/** An invocation that runs on a session object. */
interface Turn {
  path: string;
  sessionId: string;
  invocationId: string;
  grant: Grant;
  /** Nobody needs it any more, or the server has been told so. */
  released: boolean;
  /** What the server said when another turn had taken over. */
  superseded?: StaleError;
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
    if (before?.invocationId === invocationId) return before.grant.revision;
    if (before !== undefined) await this.#release(before);
    // It names the turn, not just the process: two turns of one process with one invocation id exclude each other, too.
    const asked = { owner: newOwner(), invocationId, ttl: this.#ttlMs / 1000 };
    const grant = await take(this.#http, path, asked, this.#waitMs);
    const turn: Turn = { path, sessionId, invocationId, grant, released: false };
    this.#turns.set(session, turn);
    this.#held.add(turn);
    this.#scope.getStore()?.add(turn);
    this.#gone.register(session, turn);
    return grant.revision;
  }

  /** Returns what the writes of this turn carry. Throws `StaleSessionError` if it has been superseded. */
  headers(session: object): Record<string, string> {
    const turn = this.#turns.get(session);
    if (turn === undefined) return {};
    if (turn.superseded !== undefined) throw stale(turn, turn.superseded);
    return shown(turn.grant);
  }

  /** Notes that the turn was superseded, and returns what it is told, now and at each further write. */
  fenced(session: object, error: StaleError): StaleSessionError {
    const turn = this.#turns.get(session);
    if (turn === undefined) return error;
    turn.superseded = error;
    this.#held.delete(turn);
    return stale(turn, error);
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

  async #release(turn: Turn): Promise<void> {
    this.#held.delete(turn);
    if (turn.released || turn.superseded !== undefined) return;
    turn.released = true;
    await release(this.#http, turn.path, turn.grant);
  }
}

function stale(turn: Turn, error: StaleError): StaleSessionError {
  return new StaleSessionError(
    `The invocation ${turn.invocationId} of session ${turn.sessionId} was superseded: another turn has taken its lease. ` +
      "Read the session again.",
    error,
  );
}
