import { SessiondError, type StoredEvent, type WatchItem as Told } from "@sessiond/client";
import { record } from "@sessiond/client/internal";

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

/** Yields what a watch tells, with the framework's events. */
export async function* shown<E>(
  told: AsyncIterable<Told>,
  toEvent: (stored: StoredEvent) => E,
  sessionId: string,
): AsyncGenerator<WatchItem<E>, void, undefined> {
  for await (const item of told) {
    const shown = itemOf(item, (stored) => understood(toEvent, stored, sessionId));
    if (shown !== undefined) yield shown;
  }
}

/** Returns undefined for what no framework knows: that the log was trimmed, that an event was redacted. */
function itemOf<E>(item: Told, toEvent: (stored: StoredEvent) => E): WatchItem<E> | undefined {
  const { cursor } = item;
  switch (item.type) {
    case "event": {
      const { sequence, commitTime } = item.event;
      return { type: "event", cursor, event: toEvent(item.event), sequence, commitTime: dateOf(commitTime) };
    }
    case "caught_up":
      return { type: "caughtUp", cursor, revision: item.revision };
    case "state": {
      const { state, set, removed = [], revisions } = item;
      return {
        type: "state",
        cursor,
        ...(state ? { state: record(state) } : {}),
        set: record(set),
        removed,
        revisions,
      };
    }
    case "metadata": {
      const { displayName, labels, expireTime } = item;
      return {
        type: "metadata",
        cursor,
        displayName: displayName ?? undefined,
        labels: record(labels) as Record<string, string>,
        expireTime: expireTime === null ? undefined : dateOf(expireTime),
      };
    }
    case "deleted":
      return { type: "deleted", cursor, reason: item.reason };
    default:
      return undefined;
  }
}

/** Makes an event; what fails here would fail again with the next connection. */
function understood<E>(toEvent: (stored: StoredEvent) => E, stored: StoredEvent, sessionId: string): E {
  try {
    return toEvent(stored);
  } catch (cause) {
    throw new SessiondError(`Session ${sessionId} has an event that the framework refuses: ${stored.id}.`, { cause });
  }
}

function dateOf(seconds: number): Date {
  return new Date(seconds * 1000);
}
