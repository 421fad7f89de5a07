import type { JsonObject } from "@sessiond/client";
import { isObject, record } from "@sessiond/client/internal";
import type { Dialect, EventShape, SessionShape } from "./session.js";

const TEMP = "temp:";

// What some frameworks have in `actions` always, and others only if it is not empty.
const MAPS = ["stateDelta", "artifactDelta", "requestedAuthConfigs", "requestedToolConfirmations"] as const;

// The first second that is no date any more; a time from there on is in milliseconds.
export const YEAR_10000 = 253402300800;

/** What is known of an event that was read. */
interface Read {
  /** The names of the fields that the stored event has, and of those in its `actions`. */
  fields: ReadonlySet<string>;
  actions: ReadonlySet<string>;
  /** The content as it is stored, and as it was shown, in JSON: only if the two are not the same. */
  content?: { stored: unknown; shown: string } | undefined;
}

const read = new WeakMap<object, Read>();

/** Returns a time in the framework's unit for Unix seconds; microseconds survive. */
export function fromSeconds(seconds: number, ticks: 1 | 1000): number {
  return ticks === 1 ? seconds : Math.round(seconds * 1e6) / 1e3;
}

/** Returns Unix seconds for a time in the framework's unit. */
export function toSeconds(time: number, ticks: 1 | 1000): number {
  return ticks === 1 ? time : Math.round(time * 1e3) / 1e6;
}

/** Returns the framework's event for one that sessiond answered, without what the server adds. */
export function eventFromWire<S extends SessionShape<E>, E extends EventShape>(
  dialect: Dialect<S, E>,
  stored: JsonObject,
): E {
  const { sequence: _, commitTime: __, ...fields } = stored;
  const actions = isObject(fields["actions"]) ? fields["actions"] : {};
  const names = { fields: new Set(Object.keys(fields)), actions: new Set(Object.keys(actions)) };
  const { content: raw } = fields;
  const content = readable(raw);
  if (content === undefined) delete fields["content"];
  else fields["content"] = content;
  if ("groundingMetadata" in fields) fields["groundingMetadata"] = withBlob(fields["groundingMetadata"], "base64");
  if (Array.isArray(fields["customMetadata"])) fields["customMetadata"] = metadata(fields["customMetadata"]);
  const event = dialect.event({
    ...fields,
    timestamp: fromSeconds(Number(stored["timestamp"]), dialect.ticks),
    actions: { ...inSeconds(actions), stateDelta: record(actions["stateDelta"] as JsonObject | undefined) },
  });
  const lost = count(content) !== count(raw) || (content === undefined && raw !== undefined && raw !== null);
  read.set(event, lost ? { ...names, content: { stored: raw, shown: JSON.stringify(content) ?? "" } } : names);
  return event;
}

/** How many parts a content has. */
function count(content: unknown): number {
  return isObject(content) && Array.isArray(content["parts"]) ? content["parts"].length : 0;
}

/**
 * Returns a content as the frameworks have it, bytes in the standard alphabet of base64. What other clients have stored and
 * no framework can read costs its part: a part that is no object, a text that is none, bytes that are none.
 */
function readable(content: unknown): JsonObject | undefined {
  if (!isObject(content)) return undefined;
  if (!Array.isArray(content["parts"])) return content;
  return { ...content, parts: content["parts"].map(readablePart).filter((part) => part !== undefined) };
}

function readablePart(part: unknown): JsonObject | undefined {
  if (!isObject(part) || (part["text"] ?? "").constructor !== String) return undefined;
  return withBytes(part, (text) => recoded(text, "base64"));
}

/** Returns a part whose bytes are converted; undefined if some are none. */
function withBytes(part: JsonObject, convert: (text: string) => string | undefined): JsonObject | undefined {
  const changed: JsonObject = { ...part };
  const { thoughtSignature: signature, inlineData: blob, functionResponse: response } = part;
  if (signature !== undefined && signature !== null) {
    changed["thoughtSignature"] = typeof signature === "string" ? convert(signature) : undefined;
    if (changed["thoughtSignature"] === undefined) return undefined;
  }
  if (isObject(blob) && blob["data"] !== undefined && blob["data"] !== null) {
    const data = typeof blob["data"] === "string" ? convert(blob["data"]) : undefined;
    if (data === undefined) return undefined;
    changed["inlineData"] = { ...blob, data };
  }
  if (isObject(response) && Array.isArray(response["parts"])) {
    const parts = response["parts"].map((inner) => (isObject(inner) ? withBytes(inner, convert) : undefined));
    if (parts.includes(undefined)) return undefined;
    changed["functionResponse"] = { ...response, parts };
  }
  return changed;
}

/** Returns bytes that are given in any alphabet of base64, padded or not; undefined if they are none. */
export function bytesOf(text: string): Buffer | undefined {
  const bare = text.replace(/={1,2}$/, "");
  if (!/^(?:[\w-]*|[A-Za-z0-9+/]*)$/.test(bare) || bare.length % 4 === 1) return undefined;
  return Buffer.from(bare, "base64");
}

/** Returns bytes in one alphabet of base64, padded, that are given in any, padded or not; undefined if they are none. */
function recoded(text: string, alphabet: "base64" | "base64url"): string | undefined {
  const again = bytesOf(text)?.toString(alphabet);
  if (again === undefined) return undefined;
  return alphabet === "base64" ? again : again.padEnd(Math.ceil(again.length / 4) * 4, "=");
}

/** Returns a content as it is stored: bytes in the alphabet for URLs, as ADK's own server writes them. */
export function contentToWire(content: unknown): unknown {
  if (!isObject(content) || !Array.isArray(content["parts"])) return content;
  const write = (text: string): string => recoded(text, "base64url") ?? text;
  return { ...content, parts: content["parts"].map((part) => (isObject(part) ? withBytes(part, write) : part)) };
}

/** Returns what grounds an answer, its bytes in one alphabet of base64. */
function withBlob(grounds: unknown, alphabet: "base64" | "base64url"): unknown {
  const point = isObject(grounds) ? grounds["searchEntryPoint"] : undefined;
  if (!isObject(grounds) || !isObject(point) || typeof point["sdkBlob"] !== "string") return grounds;
  const sdkBlob = recoded(point["sdkBlob"], alphabet) ?? point["sdkBlob"];
  return { ...grounds, searchEntryPoint: { ...point, sdkBlob } };
}

/** Returns actions whose compaction counts in seconds, and is readable. */
function inSeconds(actions: JsonObject): JsonObject {
  const { compaction } = actions;
  if (!isObject(compaction)) return actions;
  const shown = { ...compaction };
  for (const name of ["startTimestamp", "endTimestamp"]) {
    const bound = compaction[name];
    if (typeof bound === "number" && bound >= YEAR_10000) shown[name] = bound / 1000;
  }
  const content = readable(compaction["compactedContent"]);
  if (content !== undefined) shown["compactedContent"] = content;
  return { ...actions, compaction: shown };
}

/** Returns custom metadata as an object, which ADK for Java has as a list of entries. */
function metadata(entries: unknown[]): unknown {
  const known = entries.filter((entry) => isObject(entry) && typeof entry["key"] === "string") as JsonObject[];
  if (known.length !== entries.length) return entries;
  return record(
    Object.fromEntries(
      known.map(({ key, stringValue, numericValue, stringListValue: list }) => [
        key,
        stringValue ?? numericValue ?? (isObject(list) ? list["values"] : undefined) ?? null,
      ]),
    ),
  );
}

/** Returns an event as sessiond takes it, without `temp:` keys. The event is left as it is. */
export function eventToWire<S extends SessionShape<E>, E extends EventShape>(
  dialect: Dialect<S, E>,
  event: E,
): JsonObject {
  const known = read.get(event);
  const { actions: given, ...fields } = dialect.written(event, known !== undefined);
  const actions: JsonObject = isObject(given) ? { ...given } : {};
  actions["stateDelta"] = stateToWire((actions["stateDelta"] as JsonObject | undefined) ?? {});
  if (event.timestamp !== undefined) fields["timestamp"] = toSeconds(event.timestamp, dialect.ticks);
  if ("content" in fields || known?.content !== undefined) {
    const unchanged = known?.content?.shown === (JSON.stringify(fields["content"]) ?? "");
    fields["content"] = unchanged ? known?.content?.stored : contentToWire(fields["content"]);
  }
  if ("groundingMetadata" in fields) fields["groundingMetadata"] = withBlob(fields["groundingMetadata"], "base64url");
  if (isObject(actions["compaction"])) {
    const { compactedContent: content } = actions["compaction"];
    actions["compaction"] = { ...actions["compaction"], compactedContent: contentToWire(content) };
  }
  const wire: JsonObject = { ...fields, actions };
  if (known === undefined) {
    // The same from each framework, so that an event is known again that another one of them has written.
    for (const name of MAPS) actions[name] ??= {};
    drop(wire, (name) => name === "longRunningToolIds");
  } else {
    // As it was read, so that the server knows it when it is appended again: without what the framework adds.
    drop(actions, (name) => !known.actions.has(name));
    drop(wire, (name) => !known.fields.has(name));
  }
  return wire;
}

/** Takes the fields away that are empty and that the predicate names. */
function drop(fields: JsonObject, predicate: (name: string) => boolean): void {
  for (const [name, value] of Object.entries(fields)) {
    const parts = typeof value === "object" && value !== null ? Object.values(value) : undefined;
    const empty = value === "" || parts?.every((part) => part === undefined);
    if (empty && predicate(name)) delete fields[name];
  }
}

/** Returns state as JSON, without `temp:` keys. What is undefined is stored as null: JSON has no undefined. */
export function stateToWire(state: JsonObject): JsonObject {
  const kept = Object.entries(state).filter(([key]) => !key.startsWith(TEMP));
  return record(Object.fromEntries(kept.map(([key, value]) => [key, value === undefined ? null : value])));
}

/** Returns the `temp:` keys of a state, and their values. */
export function temporary(state: JsonObject): JsonObject {
  return record(Object.fromEntries(Object.entries(state).filter(([key]) => key.startsWith(TEMP))));
}
