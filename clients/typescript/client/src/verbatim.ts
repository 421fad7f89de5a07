// What the adapters of frameworks share: a framework's object, kept as it is within an event.
import { createHash } from "node:crypto";
import { Sessiond } from "./client.js";
import { InputError, NotFoundError } from "./errors.js";
import type { Content, NewEvent, Part, StoredEvent } from "./events.js";
import { type HttpOptions, nameOf } from "./http.js";
import { isObject, type JsonObject, toJson } from "./json.js";

/** Where an adapter finds sessiond: a client, whose connections it then shares, or what makes one. */
export type Where = Sessiond | HttpOptions | string;

// sessiond takes 64 levels, of which an event uses some for itself.
const DEEPEST = 50;

// Bytes of what is said beside the object that has it, too: an event has 4 MiB.
const MOST_SHOWN = 1 << 20;

/** Returns a client. By default it is that of the variable `SESSIOND_URL`, or `http://127.0.0.1:8080`. */
export function clientOf(where: Where | undefined): Sessiond {
  if (where instanceof Sessiond) return where;
  return new Sessiond(where);
}

/**
 * Returns an id of a framework as that of a session. Throws `InputError` for one with white space at an end, which sessiond would cut off:
 * two conversations would be one.
 */
export function idOf(id: unknown): string {
  const text = nameOf("id of the session", id);
  if (/^\p{White_Space}|\p{White_Space}$/u.test(text)) {
    throw new InputError("The id of the session has white space at an end.", { outcome: "not_applied" });
  }
  return text;
}

/** Returns the author of what is not the user's. Throws `InputError` for one whose words would be taken for another's. */
export function authorOf(author = "assistant"): string {
  if (author === "user" || author === "system") {
    throw new InputError(`The author of an agent's words is not \`${author}\`.`, { outcome: "not_applied" });
  }
  return nameOf("author", author);
}

/**
 * Whether the author of an event can have said an object of a framework: who is but a user speaks for nobody else. Who may append as `user`
 * could otherwise put words into an agent's mouth.
 */
export function isOwn({ author }: StoredEvent, isUsers: boolean): boolean {
  return author !== "user" || isUsers;
}

/**
 * Returns an object of a framework as an event keeps it: as it is, or as a text of JSON where sessiond would refuse it, for its depth,
 * half a character, or a NUL in the name of a field.
 *
 * @throws InputError if it has what JSON does not have.
 */
export function packed(value: unknown, field: string): JsonObject {
  const json = toJson(value);
  if (json === undefined) throw new InputError("What is to be kept is no value of JSON.");
  return fits(json) ? { [field]: JSON.parse(json) as unknown } : { json };
}

/** Whether sessiond takes a text of JSON as a value of an event or of state. */
export function fits(json: string): boolean {
  return !/\\u(?:d[89a-f]|0000)/.test(json) && depth(json) <= DEEPEST;
}

/** Returns what was packed; undefined if it is not there. */
export function unpacked(kept: unknown, field: string): unknown {
  if (!isObject(kept)) return undefined;
  return typeof kept["json"] === "string" ? (JSON.parse(kept["json"]) as unknown) : kept[field];
}

/** Returns a short text that is the same for the same texts. */
export function digest(...texts: string[]): string {
  return createHash("sha256").update(JSON.stringify(texts)).digest("base64url").slice(0, 22);
}

/** Returns parts as a content; undefined if there are none, or more than go into an event twice. */
export function shown(role: string, parts: Part[]): Content | undefined {
  if (parts.length === 0 || Buffer.byteLength(JSON.stringify(parts)) > MOST_SHOWN) return undefined;
  return { role, parts };
}

/** Returns a text as a part that sessiond takes, whatever it is. */
export function textPart(text: string): Part {
  return { text: text.replace(/\p{Surrogate}/gu, "\ufffd") };
}

/** Returns arguments or a result as the object that a part has. */
export function objectOf(value: unknown): JsonObject {
  let parsed = value;
  if (typeof value === "string") {
    try {
      parsed = JSON.parse(value);
    } catch {
      // A text is a result, too.
    }
  }
  const plain = isObject(parsed) ? parsed : { result: value ?? null };
  const kept = packed(plain, "value");
  return isObject(kept["value"]) ? kept["value"] : { result: "[not shown]" };
}

/** Returns the event that takes back all from the first event of a group on. */
export function rewind(key: string, group: string): NewEvent {
  return { id: key, author: "user", invocationId: `rewind-${key}`, actions: { rewindBeforeInvocationId: group } };
}

/** Returns an event as it is appended once more behind a rewind: it says the same, and changes no state. */
export function again({ sequence: _, commitTime: __, redacted: ___, ...event }: StoredEvent, id: string): NewEvent {
  const { stateDelta: _1, stateOps: _2, preconditions: _3, artifactDelta: _4, ...actions } = event.actions ?? {};
  return { ...event, id, actions, customMetadata: { ...event.customMetadata, rewindCopyOf: event.id } };
}

/** Returns an answer; undefined if what it is about is not there. */
export async function unlessAbsent<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof NotFoundError) return undefined;
    throw error;
  }
}

function depth(json: string): number {
  let [now, most] = [0, 0];
  for (const [token] of json.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{}]/g)) {
    if (token === "[" || token === "{") {
      now += 1;
      most = Math.max(most, now);
    } else if (token === "]" || token === "}") now -= 1;
  }
  return most;
}
