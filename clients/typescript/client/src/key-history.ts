import { type CallOptions, type Http, segment } from "./http.js";
import { items } from "./pages.js";

/** A change of a key of state. */
export interface KeyChange {
  /** The number of the event, or of an `app:` or `user:` key the revision of that state. */
  revision: number;
  /** When it was stored, by the server's clock, in Unix seconds. */
  time: number;
  /** What the key had from then on; absent if it was removed. */
  value?: unknown;
  removed?: true;
  /** This is what the key had where its known past begins: at the creation, or after a trim or a policy. */
  base?: true;
  /** The event that made the change; absent if no event did, or it is not to be told. */
  by?: {
    userId: string;
    sessionId: string;
    eventId: string;
    sequence: number;
    author: string;
    invocationId?: string;
  };
}

/** Which changes of a key are read. */
export interface StateHistoryOptions extends CallOptions {
  /** The latest first (`desc`, the default), or the first one that is known. */
  order?: "asc" | "desc" | undefined;
  /** How many changes come with one request: 1,000 by default, the most. */
  pageSize?: number | undefined;
}

/** Yields the changes of a key of the state at a path. */
export function keyHistory(
  http: Http,
  path: string,
  key: string,
  options: StateHistoryOptions = {},
): AsyncGenerator<KeyChange, void, undefined> {
  const { order, pageSize = 1000, ...call } = options;
  return items<KeyChange>(http, `${path}${segment("key", key)}/history`, "changes", { order, pageSize }, call);
}
