import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { type CallOptions, codeOf, type Http, refusal, success } from "./http.js";

// For how long one request waits for the lease, so that a wait survives what closes idle connections.
const ONE_WAIT_S = 30;

/** A lease as the server has granted it. */
export interface Grant {
  epoch: number;
  incarnation: string;
  /** The revision of the session at that moment. */
  revision: number;
}

/** What is asked for. */
export interface Asked {
  owner: string;
  invocationId?: string | undefined;
  /** In seconds. */
  ttl: number;
  exclusive?: "turn" | "all" | undefined;
  steal?: boolean | undefined;
}

/** Returns a name for one turn of this process. */
export function newOwner(): string {
  return `${hostname().slice(0, 64)}/${process.pid}/${randomUUID().slice(0, 13)}`;
}

/**
 * Takes the lease of the session at `path`, after waiting for the turn of others.
 *
 * @throws BusyError if another turn holds it, also after the wait.
 */
export async function take(
  http: Http,
  path: string,
  asked: Asked,
  waitMs: number,
  call: CallOptions = {},
): Promise<Grant> {
  const deadline = performance.now() + waitMs;
  for (let waitS = 0; ; ) {
    const query = waitS === 0 ? undefined : { wait: String(waitS) };
    const reply = await http.send("POST", `${path}/lease`, { ...call, body: asked, query, patienceMs: waitS * 1000 });
    if (codeOf(reply) !== "lease_held") return success(reply) as unknown as Grant;
    const left = deadline - performance.now();
    if (left <= 0) throw refusal(reply);
    // The server may end a wait early.
    if (waitS > 0) await sleep(Math.min(left, 200 + Math.random() * 300), undefined, signalOf(call));
    waitS = Math.max(1, Math.min(ONE_WAIT_S, Math.floor(left / 1000)));
  }
}

/** Releases a lease. Where that fails, the log is told, and it expires. */
export async function release(http: Http, path: string, { epoch, incarnation }: Grant): Promise<void> {
  try {
    const reply = await http.send("DELETE", `${path}/lease`, { query: { epoch: String(epoch), incarnation } });
    if (codeOf(reply) !== "session_not_found") success(reply);
  } catch (error) {
    http.note(`A lease was not released: ${(error as Error).message}`);
  }
}

/** Returns the header of writes that show a lease. */
export function shown({ epoch, incarnation }: Grant): Record<string, string> {
  return { "sessiond-lease": `${epoch}-${incarnation}` };
}

/**
 * Renews a lease until `ended` aborts, or another turn has taken over: then `superseded` is called, with the error that says so.
 */
export async function renew(
  http: Http,
  path: string,
  grant: Grant,
  ttlMs: number,
  ended: AbortSignal,
  superseded: (why: Error) => void,
): Promise<void> {
  const body = { epoch: grant.epoch, incarnation: grant.incarnation, ttl: ttlMs / 1000 };
  for (;;) {
    await sleep(ttlMs / 3, undefined, { signal: ended, ref: false }).catch(() => {});
    if (ended.aborted) return;
    try {
      const reply = await http.send("PUT", `${path}/lease`, { body, signal: ended });
      if (codeOf(reply) === "fenced" || codeOf(reply) === "session_not_found") return superseded(refusal(reply));
      success(reply);
    } catch (error) {
      if (ended.aborted) return;
      // As long as nobody takes over, it can still be renewed, and writes with it pass.
      http.note(`A lease was not renewed: ${(error as Error).message}`);
    }
  }
}

function signalOf({ signal }: CallOptions): { signal?: AbortSignal } {
  return signal ? { signal } : {};
}
