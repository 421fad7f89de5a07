// What the adapters of frameworks share: a framework's object, kept as it is within an event.
import { createHash } from "node:crypto";
import { Sessiond } from "./client.js";
import { InputError, NotFoundError } from "./errors.js";
import type { Content, NewEvent, Part, StoredEvent } from "./events.js";
import { type HttpOptions, nameOf } from "./http.js";
import { fromExtendedJson, isObject, type JsonObject, partsOf, toExtendedJson } from "./json.js";

/** Where an adapter finds sessiond: a client, whose connections it then shares, or what makes one. */
export type Where = Sessiond | HttpOptions | string;

// sessiond takes 64 levels, of which an event uses some for itself.
const DEEPEST = 50;

// Numbers that JSON does not have, or that JavaScript writes as another one.
const UNKEPT = /NaN|Infinity|-0\.0(?!\d)/;

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

/** What was packed: its text, under which name it is in the event, and what is beside it there. */
interface Packed {
  name: string;
  json: string;
  more: JsonObject;
}

const packedOnes = new WeakMap<object, Packed>();

/**
 * Returns an object of a framework as an event keeps it: as it is, or as a text where sessiond or JSON would not keep it, for its depth, half
 * a character, a NUL in the name of a field, a NaN, an infinity or a -0. What is too large for an event is a file: see `withFiles`.
 *
 * @throws InputError if it has what JSON does not have otherwise, such as bytes.
 */
export function packed(value: unknown, field: string, more: JsonObject = {}): JsonObject {
  const json = toExtendedJson(value);
  if (json === undefined) throw new InputError("What is to be kept is no value of JSON.");
  const name = fits(json) ? field : "json";
  const made = { [name]: name === field ? (JSON.parse(json) as unknown) : json, ...more };
  packedOnes.set(made, { name, json, more });
  return made;
}

/** Returns what is known of an object that `packed` returned; undefined of another one. */
export function textOfPacked(made: unknown): Packed | undefined {
  return isObject(made) ? packedOnes.get(made) : undefined;
}

/** Whether sessiond takes a text as a value of an event or of state, and gives JavaScript back what it was. */
export function fits(json: string): boolean {
  if (/\\u(?:d[89a-f]|0000)/.test(json)) return false;
  const outside = partsOf(json).filter((_, n) => n % 2 === 0);
  return depth(outside) <= DEEPEST && !outside.some((part) => UNKEPT.test(part));
}

/** Returns what was packed; undefined if it is not there. Throws `SyntaxError` of a text that is none of ours. */
export function unpacked(kept: unknown, field: string): unknown {
  if (!isObject(kept)) return undefined;
  return field in kept || typeof kept["json"] !== "string" ? kept[field] : parsed(kept["json"]);
}

/** Returns the value of a text that `packed` has written, in this or another language. */
export const parsed = fromExtendedJson;

/** Returns a value as sessiond takes it as state: half of a character becomes a mark, and a number that JSON does not have null. */
export function readable(value: unknown): unknown {
  const json = toExtendedJson(value);
  return fits(json) ? value : (JSON.parse(withoutHalves(JSON.stringify(value))) as unknown);
}

/** Returns a text of JSON with a mark in the place of half of a character, or of a NUL. */
function withoutHalves(json: string): string {
  return json.replace(/\\(?:\\|u(?:d[89a-f][0-9a-f]{2}|0000))/g, (token) => (token === "\\\\" ? token : "\\ufffd"));
}

/** Returns a short text that is the same for the same texts. */
export function digest(...texts: string[]): string {
  return createHash("sha256").update(JSON.stringify(texts)).digest("base64url").slice(0, 22);
}

/** Returns parts as a content; undefined if there are none, or more than go into an event twice. */
export function shown(role: string, parts: Part[]): Content | undefined {
  const json = JSON.stringify(parts);
  if (parts.length === 0 || Buffer.byteLength(json) > MOST_SHOWN) return undefined;
  return { role, parts: fits(json) ? parts : (JSON.parse(withoutHalves(json)) as Part[]) };
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
  const { value: kept, json } = packed(plain, "value");
  return isObject(kept) ? kept : { result: typeof value === "string" ? textPart(value).text : json };
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

function depth(parts: readonly string[]): number {
  let [now, most] = [0, 0];
  for (const part of parts) {
    for (const token of part) {
      if (token === "[" || token === "{") {
        now += 1;
        most = Math.max(most, now);
      } else if (token === "]" || token === "}") now -= 1;
    }
  }
  return most;
}
