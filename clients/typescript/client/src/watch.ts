import { setTimeout as sleep } from "node:timers/promises";
import { SessiondError } from "./errors.js";
import type { StoredEvent } from "./events.js";
import { type Http, notReached, RETRIED, refusal, retryAfterMs } from "./http.js";
import { fromJson, isObject, type JsonObject } from "./json.js";
import { type Frame, Parser } from "./sse.js";

// The pause before the first attempt to come back, doubled for each further one up to the second number.
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;

/** Where a watch is: one with `after: cursor` goes on behind what was yielded so far. */
interface Place {
  cursor: string;
}

/** What a watch yields: the frames of the stream, as the server says them. Times are Unix seconds. */
export type WatchItem = Place &
  (
    | {
        /** An event of the session. Each comes once, in the order of the log. */
        type: "event";
        event: StoredEvent;
      }
    | {
        /**
         * All that was stored when the connection was made has been yielded; what follows is new. It comes again after each
         * reconnect, and after a burst of more than a page.
         */
        type: "caught_up";
        /** The number of the last event. */
        revision: number;
      }
    | {
        /**
         * With `includeState`: the whole merged `state` just before `caught_up`, later what is `set` and `removed` in app and
         * user state. The state of the session itself follows from the `stateDelta` of its events.
         */
        type: "state";
        state?: JsonObject;
        set?: JsonObject;
        removed?: string[];
        /** The revisions of session, user state and app state, and the session's incarnation, as in the ETag. */
        revisions: string;
      }
    | {
        /** The metadata of the session: once before `caught_up`, then when it has changed. */
        type: "metadata";
        displayName: string | null;
        labels: Record<string, string>;
        expireTime: number | null;
      }
    | {
        /** An event was redacted; this is what is left of it. */
        type: "redacted";
        event: StoredEvent;
      }
    | {
        /** The log begins behind this event: what was before is trimmed. */
        type: "trimmed";
        baseRevision: number;
      }
    | {
        /** The session is gone, or was deleted and made anew. The watch ends. */
        type: "deleted";
        /** `deleted`, `expired`, `retention` or `erased`; other words may come. */
        reason: string;
      }
  );

/** How to watch. */
export interface WatchOptions {
  /** Begin behind this place: a `cursor`, the number of an event, or `"now"`. By default the whole log is yielded. */
  after?: string | number | undefined;
  /** Yield the state, too. */
  includeState?: boolean | undefined;
  /** Ends the watch at once: it throws the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** Yields what happens to the session at `path`. */
export async function* watch(
  http: Http,
  path: string,
  { after, includeState, signal }: WatchOptions,
): AsyncGenerator<WatchItem, void, undefined> {
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
          const reply = await http.read(path, response);
          if (!RETRIED.has(reply.status)) throw refusal(reply);
          why = refusal(reply).message;
          atLeast = retryAfterMs(reply.headers);
        } else if (!/^text\/event-stream\b/i.test(response.headers["content-type"] ?? "")) {
          throw new SessiondError("The answer to a watch is not sessiond's.", { status: 200 });
        } else {
          for await (const chunk of response) {
            for (const frame of parser.feed(chunk as Buffer)) {
              if (frame.name === "bye") why = `sessiond ended the stream: ${said(frame)["reason"]}`;
              const item = itemOf(frame);
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

/** Returns what a frame says; undefined if it is of a kind that this version does not know. */
function itemOf(frame: Frame): WatchItem | undefined {
  const { name, id: cursor } = frame;
  switch (name) {
    case "event":
    case "redacted":
      return { type: name, cursor, event: said(frame) as StoredEvent };
    case "caught_up":
    case "state":
    case "metadata":
    case "trimmed":
    case "deleted":
      return { ...said(frame), type: name, cursor } as WatchItem;
    default:
      return undefined;
  }
}

function said(frame: Frame): JsonObject {
  const value = fromJson(frame.data);
  if (!isObject(value)) throw new SessiondError(`The stream has a frame ${frame.name} that is not sessiond's.`);
  return value;
}
