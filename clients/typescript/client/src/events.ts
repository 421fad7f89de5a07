import type { JsonObject } from "./json.js";

/** A part of a content; fields that are not named here are kept, too. */
export interface Part {
  text?: string;
  /** The text is what a model thought, and no part of its answer. */
  thought?: boolean;
  functionCall?: { id?: string; name?: string; args?: JsonObject };
  functionResponse?: { id?: string; name?: string; response?: JsonObject };
  inlineData?: { mimeType?: string; data?: string };
  fileData?: { fileUri?: string; mimeType?: string };
  [field: string]: unknown;
}

/** What somebody said. */
export interface Content {
  /** `user` or `model`. */
  role?: string;
  parts?: Part[];
  [field: string]: unknown;
}

/** An operator, which the server applies to what is there. */
export interface Operation {
  op: "set" | "remove" | "increment" | "append" | "union" | "max" | "min" | "merge";
  /** The key, with its prefix. */
  key: string;
  /** The operand: of `append` and `union` a list; none of `remove`. */
  value?: unknown;
}

/** What must hold of a key for a change to be made; one of its fields. */
export interface Precondition {
  key: string;
  /** The session (or, of `app:` and `user:` keys, their scope) has not changed this key since it was at this revision. */
  revision?: number;
  exists?: boolean;
  equals?: unknown;
}

/** What an event does. */
export interface Actions {
  /** Keys and their new values: `app:` and `user:` keys go to the state of app and user, `temp:` keys nowhere. */
  stateDelta?: JsonObject;
  /** Operators, applied in order after `stateDelta`. */
  stateOps?: readonly Operation[];
  /** If one does not hold, nothing is written. */
  preconditions?: readonly Precondition[];
  /** Names of files and their versions. */
  artifactDelta?: Record<string, number>;
  /** Takes back the events from the first one of this invocation on. */
  rewindBeforeInvocationId?: string;
  [field: string]: unknown;
}

/** An event to append. Fields that are not named here are kept as they are. */
export interface NewEvent {
  /** By which the session knows an event that it has already; drawn by the client if it is absent. */
  id?: string | undefined;
  author?: string | undefined;
  invocationId?: string | undefined;
  branch?: string | undefined;
  /** Unix seconds; the server's now if it is absent. */
  timestamp?: number | undefined;
  content?: Content | undefined;
  actions?: Actions | undefined;
  /** A part of an event that is still being made: it is not stored. */
  partial?: boolean | undefined;
  customMetadata?: JsonObject | undefined;
  [field: string]: unknown;
}

/** Where an event is in a session. */
export interface EventPlace {
  id: string;
  timestamp: number;
  /** Its number in the log, from 1 on. */
  sequence: number;
  /** When it was stored, by the server's clock, in Unix seconds. */
  commitTime: number;
}

/** An event as the session has it. */
export interface StoredEvent extends NewEvent, EventPlace {
  id: string;
  author: string;
  timestamp: number;
  /** If the event was redacted. */
  redacted?: { time: number; reason?: string };
}

/** Returns a content of texts, one part each. */
export function text(role: "user" | "model", ...texts: string[]): Content {
  return { role, parts: texts.map((one) => ({ text: one })) };
}

/** Returns the texts of an event, joined, without what a model thought; `""` if it has none. */
export function textOf({ content }: Pick<NewEvent, "content">): string {
  const parts = Array.isArray(content?.parts) ? content.parts : [];
  return parts.map((part) => (typeof part?.text === "string" && part.thought !== true ? part.text : "")).join("");
}
