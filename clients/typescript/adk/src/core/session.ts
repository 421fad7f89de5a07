import type { JsonObject } from "@sessiond/client";

/** What a session service needs to know of a framework's events. */
export interface EventShape {
  id?: string | undefined;
  invocationId?: string | undefined;
  timestamp?: number | undefined;
  partial?: boolean | undefined;
  actions?: { stateDelta?: Record<string, unknown> | undefined } | undefined;
}

/** What a session service needs to know of a framework's sessions. */
export interface SessionShape<E> {
  id: string;
  appName: string;
  userId: string;
  events: E[];
  lastUpdateTime?: number | undefined;
}

/** A session as it was stored, of which a framework's session is made. Times are in the framework's unit. */
export interface SessionFields<E> {
  id: string;
  appName: string;
  userId: string;
  /** The merged state. */
  state: JsonObject;
  events: E[];
  lastUpdateTime: number;
}

/** How a framework has its sessions and events. */
export interface Dialect<S extends SessionShape<E>, E extends EventShape> {
  /** The framework's unit of time: 1 for seconds, 1000 for milliseconds. */
  readonly ticks: 1 | 1000;
  /** Whether the framework makes a prompt of compactions (`actions.compaction`), as ADK for Python does. */
  readonly compacts?: boolean;
  /** Returns the framework's session. */
  session(fields: SessionFields<E>): S;
  /** Returns the framework's event of one as stored, with `timestamp` in the framework's unit, and `actions`. */
  event(fields: JsonObject & { actions: JsonObject }): E;
  /**
   * Returns an event as an object of JSON, as it is: neither time nor `temp:` keys are to be converted. `known` says that the
   * event was read from the store.
   */
  written(event: E, known: boolean): JsonObject;
  /** Returns the session's state as it is now, for reading. */
  state(session: S): JsonObject;
  /** Changes the session's state. */
  assign(session: S, set: JsonObject, removed: readonly string[]): void;
  /**
   * Applies an event that was stored to the session, as the framework's base class does, and with it its `temp:` keys, which
   * are not stored: the event loses them.
   */
  applied(session: S, event: E, temporary: JsonObject): void | Promise<void>;
}
