import { setTimeout as sleep } from "node:timers/promises";
import { PositionGoneError, SessiondError, SessionNotFoundError } from "./errors.js";
import { codeOf, details, type Http, notReached, RETRIED, type Reply, refusal, retryAfterMs } from "./http.js";
import { fromJson, isObject, type JsonObject, record } from "./json.js";
import { type Frame, Parser } from "./sse.js";

// The pause before the first attempt to come back, doubled for each further one up to the second number.
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;

/** Where a watch is: one with `after: cursor` goes on behind what was yielded so far. */
interface Place {
  cursor: string;
}

/** What a watch yields. */
export type WatchItem<E> = Place &
  (
    | {
        /** An event of the session. Each comes once, in the order of the log. */
        type: "event";
        event: E;
        /** Its number in the log, from 1 on. */
        sequence: number;
        /** When it was stored, by the server's clock. */
        commitTime: Date;
      }
    | {
        /**
         * All that was stored when the connection was made has been yielded; what follows is new. It comes again after each
         * reconnect, and after a burst of more than a page.
         */
        type: "caughtUp";
        /** The number of the last event. */
        revision: number;
      }
    | {
        /**
         * With `includeState`: the whole merged `state` just before `caughtUp`, later what is `set` and `removed` in app and
         * user state. The state of the session itself follows from the `stateDelta` of its events.
         */
        type: "state";
        state?: Record<string, unknown>;
        set: Record<string, unknown>;
        removed: string[];
        /** The revisions of session, user state and app state, and the session's incarnation, as in the ETag. */
        revisions: string;
      }
    | {
        /** The metadata of the session: once before `caughtUp`, then when it has changed. */
        type: "metadata";
        displayName: string | undefined;
        labels: Record<string, string>;
        expireTime: Date | undefined;
      }
    | {
        /** The session is gone, or was deleted and made anew. The watch ends. */
        type: "deleted";
        /** `deleted`, `expired`, `retention` or `erased`; other words may come. */
        reason: string;
      }
  );

/** What to watch. */
export interface WatchRequest {
  appName: string;
  userId: string;
  sessionId: string;
  /** Begin behind this place: a `cursor`, the number of an event, or `"now"`. By default the whole log is yielded. */
  after?: string | number | undefined;
  /** Yield the state, too. */
  includeState?: boolean | undefined;
  /** Ends the watch at once: it throws the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** Yields what happens to the session at `path`. */
export async function* watch<E>(
  http: Http,
  path: string,
  toEvent: (stored: JsonObject) => E,
  { sessionId, after, includeState, signal }: WatchRequest,
): AsyncGenerator<WatchItem<E>, void, undefined> {
  let cursor = after === undefined ? "" : String(after);
  let asked: number | undefined;
  for (let failures = 0; ; failures = Math.min(failures + 1, 8)) {
    signal?.throwIfAborted();
    const parser = new Parser(cursor);
    let atLeast = 0;
    let why = "the stream ended";
    const query: Record<string, string> = {};
    if (cursor !== "") query["afterSequence"] = cursor;
    if (includeState) query["include"] = "state";
    try {
      const response = await http.stream(path, query, signal);
      try {
        if (response.statusCode !== 200) {
          const reply = await http.read(response);
          if (!RETRIED.has(reply.status)) throw refused(reply, sessionId);
          why = refusal(reply).message;
          atLeast = retryAfterMs(reply.headers);
        } else if (!/^text\/event-stream\b/i.test(response.headers["content-type"] ?? "")) {
          throw new SessiondError("The answer to a watch is not sessiond's.", { status: 200 });
        } else {
          for await (const chunk of response) {
            for (const frame of parser.feed(chunk as Buffer)) {
              if (frame.name === "bye") why = `sessiond ended the stream: ${said(frame)["reason"]}`;
              const item = itemOf(frame, (stored) => understood(toEvent, stored, sessionId));
              if (item === undefined) continue;
              cursor = item.cursor;
              failures = 0;
              yield item;
              signal?.throwIfAborted();
              if (item.type === "deleted") return;
            }
          }
        }
      } finally {
        response.destroy();
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof SessiondError) throw error;
      why = notReached(error);
    }
    asked = parser.retry ?? asked;
    // The server has spread the time for which it asks.
    const first = asked ?? FIRST_PAUSE_MS;
    const limit = Math.min(first * 2 ** failures, Math.max(first, LONGEST_PAUSE_MS));
    const pause = Math.max(atLeast, asked !== undefined && failures === 0 ? limit : Math.random() * limit);
    http.note(`Watch of ${http.url(path)}: coming back in ${(pause / 1000).toFixed(1)} s: ${why}`);
    try {
      await sleep(pause, undefined, signal ? { signal } : {});
    } catch {
      signal?.throwIfAborted();
    }
  }
}

/** Returns what is thrown for an answer that would be the same again. */
function refused(reply: Reply, sessionId: string): SessiondError {
  const code = codeOf(reply);
  if (code === "session_not_found") return new SessionNotFoundError(`Session ${sessionId} not found.`, details(reply));
  if (code === "position_gone" && isObject(reply.body)) {
    const { revision, baseRevision } = reply.body;
    return new PositionGoneError(refusal(reply).message, details(reply), count(revision), count(baseRevision));
  }
  return refusal(reply);
}

/** Returns what a frame says; undefined if it is of a kind that this version does not know. */
function itemOf<E>(frame: Frame, toEvent: (stored: JsonObject) => E): WatchItem<E> | undefined {
  const cursor = frame.id;
  switch (frame.name) {
    case "event": {
      const stored = said(frame);
      const commitTime = dateOf(stored["commitTime"]) ?? new Date(0);
      return { type: "event", cursor, event: toEvent(stored), sequence: Number(stored["sequence"]), commitTime };
    }
    case "caught_up":
      return { type: "caughtUp", cursor, revision: Number(said(frame)["revision"]) };
    case "state": {
      const { state, set, removed, revisions } = said(frame);
      return {
        type: "state",
        cursor,
        ...(isObject(state) ? { state: record(state) } : {}),
        set: record(isObject(set) ? set : {}),
        removed: Array.isArray(removed) ? removed : [],
        revisions: String(revisions),
      };
    }
    case "metadata": {
      const { displayName, labels, expireTime } = said(frame);
      return {
        type: "metadata",
        cursor,
        displayName: typeof displayName === "string" ? displayName : undefined,
        labels: record(isObject(labels) ? labels : {}) as Record<string, string>,
        expireTime: dateOf(expireTime),
      };
    }
    case "deleted":
      return { type: "deleted", cursor, reason: String(said(frame)["reason"]) };
    default:
      return undefined;
  }
}

/** Makes an event; what fails here would fail again with the next connection. */
function understood<E>(toEvent: (stored: JsonObject) => E, stored: JsonObject, sessionId: string): E {
  try {
    return toEvent(stored);
  } catch (cause) {
    throw new SessiondError(`Session ${sessionId} has an event that the framework refuses: ${stored["id"]}.`, {
      cause,
    });
  }
}

function said(frame: Frame): JsonObject {
  const value = fromJson(frame.data);
  if (!isObject(value)) throw new SessiondError(`The stream has a frame ${frame.name} that is not sessiond's.`);
  return value;
}

function count(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

function dateOf(seconds: unknown): Date | undefined {
  return typeof seconds === "number" ? new Date(seconds * 1000) : undefined;
}
