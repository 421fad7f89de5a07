// How the checkpoints of LangGraph are kept: names, values, what events say; the same as the adapter in Python keeps them.
import { createHash } from "node:crypto";
import { mapStoredMessageToChatMessage } from "@langchain/core/messages";
import { DeltaSnapshot, JsonPlusSerializer, type SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { InputError } from "./errors.js";
import type { Content, Part, StoredEvent } from "./events.js";
import { isObject, type JsonObject } from "./json.js";
import { unpackMessage } from "./msgpack.js";
import { fits, objectOf, shown, textPart } from "./verbatim.js";

/** The authors: of a checkpoint, of what its tasks have written, and of the mark that it is not to be read any more. */
export const CHECKPOINT = "langgraph.checkpoint";
export const WRITES = "langgraph.writes";
export const DROP = "langgraph.drop";

export const ALL_KEYS = "lg/";

// Bytes of JSON: a larger value is a file, and so is what makes an event larger than the second. Servers take events of 4 MiB by default.
const LARGE = 1 << 20;
const TOGETHER = 3 << 20;

// Of which no one else's is a beginning: the root is the empty one.
const LONGEST_PLACE = 180;

/**
 * A value: `json`, as it is; `text`, as a text of JSON; `t` and `b`, the type and the bytes that the serializer has made, in base64; `t` and
 * `artifact`, the same bytes in a file; or `none`. That of a channel has its version, too: `v`.
 */
export type Entry = JsonObject;

/** What a task has written: the number of the write, the channel and the value. */
export type Written = [index: number, channel: string, entry: Entry];

/** What an event says of LangGraph. */
export interface Said {
  ns: string;
  id: string;
  /** Of a checkpoint. */
  parent?: string | null;
  /** Of a checkpoint: behind which number all is that was written for it. */
  since?: number;
  checkpoint?: Entry;
  metadata?: Entry;
  /** Of a checkpoint: by channel, the digest of its entry. */
  digests?: Record<string, string>;
  /** Of writes. */
  task?: string;
  path?: string;
  writes?: Written[];
}

/** Writes and reads values. */
export class Codec {
  readonly #serde: SerializerProtocol;
  /** Whether plain JSON is kept as such, so that people can read it. A serializer of one's own sees all values. */
  readonly #isShown: boolean;

  constructor(serde: SerializerProtocol) {
    this.#serde = serde;
    this.#isShown = serde.constructor === JsonPlusSerializer;
  }

  /** Returns the entry of a value. */
  async pack(value: unknown): Promise<Entry> {
    return (await this.packed(value)).entry;
  }

  /** Returns the entry of a value, its size in bytes of JSON, and what it is made of. */
  async packed(value: unknown): Promise<{ entry: Entry; size: number; type: string; bytes: Uint8Array }> {
    const [type, bytes] = await this.#serde.dumpsTyped(value);
    if (this.#isShown && type === "json") {
      const json = Buffer.from(bytes).toString("utf8");
      const plain: unknown = JSON.parse(json);
      if (isPlain(plain)) {
        return { entry: fits(json) ? { json: plain } : { text: json }, size: bytes.length, type, bytes };
      }
    }
    const b = Buffer.from(bytes).toString("base64");
    return { entry: { t: type, b }, size: b.length, type, bytes };
  }

  /** Returns the value of an entry; that of a file from its bytes. */
  async unpack<T>(entry: Entry, file?: Uint8Array): Promise<T> {
    if ("json" in entry) return structuredClone(entry["json"]) as T;
    if ("text" in entry) return JSON.parse(String(entry["text"])) as T;
    const [type, bytes] = [String(entry["t"]), file ?? new Uint8Array(Buffer.from(String(entry["b"]), "base64"))];
    if (this.#isShown && type === "msgpack") return unpackMessage(bytes, fromPython) as T;
    if (this.#isShown && type === "bytearray") return bytes as T;
    if (this.#isShown && type === "null") return null as T;
    return (await this.#serde.loadsTyped(type, bytes)) as T;
  }
}

/** The values of one event. Those that are too large for it become files. */
export class Packing {
  /** What is to be saved before the event, by name. */
  readonly files = new Map<string, Uint8Array>();
  readonly #codec: Codec;
  readonly #ns: string;
  #left: number;

  /** Begins without a value. `content` is what the event says besides. */
  constructor(codec: Codec, ns: string, content?: Content) {
    this.#codec = codec;
    this.#ns = ns;
    this.#left = TOGETHER - Buffer.byteLength(JSON.stringify(content ?? null));
  }

  /** Returns the entry of a value of a channel. */
  async pack(value: unknown, channel: string, version: unknown): Promise<Entry> {
    const { entry, size, type, bytes } = await this.#codec.packed(value);
    if (size <= Math.min(LARGE, this.#left)) {
      this.#left -= size;
      return entry;
    }
    const content = createHash("sha256").update(bytes).digest("hex");
    const digest = fileDigest(this.#ns, channel, version, type, content);
    const long = `${keyOf(this.#ns, channel)}@${digest}`;
    const name = Buffer.byteLength(long) > 256 ? `${ALL_KEYS}@${digest}` : long;
    this.files.set(name, bytes);
    return { t: type, artifact: name };
  }
}

/** Whether LangGraph's serializer has put no objects of its own into a value. */
function isPlain(value: unknown): boolean {
  if (Array.isArray(value)) return value.every(isPlain);
  return !isObject(value) || (!Object.hasOwn(value, "lc") && Object.values(value).every(isPlain));
}

/** Returns what the serializer in Python has made of an object: messages as those of LangChain, others as their fields. */
function fromPython(code: number, bytes: Uint8Array): unknown {
  const said = unpackMessage(bytes, fromPython);
  if (code === 7) return new DeltaSnapshot(said);
  // An array of NumPy has no name.
  if (code === 6 || !Array.isArray(said)) return said;
  const [module, name, value] = said as [string, string, unknown];
  if (module === "uuid") return String(value).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  if (module === "builtins" && name.endsWith("set")) return new Set(value as unknown[]);
  if (module === "langgraph.types" && name === "Send") {
    const [node, args] = value as unknown[];
    return { node, args };
  }
  if (!module.startsWith("langchain_core.messages.") || !isObject(value)) return value;
  const fields = Object.fromEntries(Object.entries(value).filter(([, field]) => field !== null));
  const type = String(fields["type"])
    .replace(/MessageChunk$/, "")
    .toLowerCase();
  try {
    return mapStoredMessageToChatMessage({ type: type === "chat" ? "generic" : type, data: fields as never });
  } catch {
    // A kind of message that there is not here.
    return fields;
  }
}

/** Returns what names a namespace in keys: itself, without slashes; a long one by its hash. */
export function place(ns: string): string {
  const said = ns.replaceAll("%", "%25").replaceAll("/", "%2F");
  return Buffer.byteLength(said) <= LONGEST_PLACE ? said : `%h${hashed(ns)}`;
}

/** Returns the key of a channel's value; without a channel, that of the namespace's head. */
export function keyOf(ns: string, channel = ""): string {
  return `${ALL_KEYS}${place(ns)}/${channel}`;
}

/** Returns the branch of a namespace's events. A filter by an empty branch matches nothing, so that of the root has a name, too. */
export function branchOf(ns: string): string {
  return `lg:${place(ns)}`;
}

/** Returns the invocation id of all events of a checkpoint. */
export function groupOf(ns: string, id: string): string {
  return `${place(ns)}@${id}`;
}

/** Returns an id for these texts, the same in every process. */
export function hashed(...texts: string[]): string {
  const joined = texts.map((text) => `${Array.from(text).length}:${text}`).join("");
  return createHash("sha256").update(joined).digest("hex").slice(0, 32);
}

/** Returns the digest that the name of a file ends with. */
export function fileDigest(ns: string, channel: string, version: unknown, type: string, sha256: string): string {
  return hashed(ns, channel, String(version), type, sha256);
}

/** Returns the digest of a channel's entry, by which a checkpoint's event vouches for what is in the state. */
export function digestOf(ns: string, channel: string, { v, ...entry }: Entry): string {
  return hashed(ns, channel, String(v), canonical(entry));
}

/** Returns the one text of a JSON value, in every language (RFC 8785). */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  // In the order of UTF-16.
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(",")}}`;
}

/** Returns the digests of the channels of a checkpoint; of one that an earlier version has stored, none. */
export function digestsIn({ digests }: Said): Record<string, string> {
  return isObject(digests) ? digests : {};
}

/** Returns what an event says of LangGraph; undefined if it was redacted or is another's. */
export function saidBy({ customMetadata }: StoredEvent): Said | undefined {
  const said = isObject(customMetadata) ? customMetadata["langgraph"] : undefined;
  return isObject(said) ? (said as unknown as Said) : undefined;
}

/** Returns the number of an event before all that were written for a checkpoint, from its own event. */
export function floorOf(event: StoredEvent): number {
  const since = saidBy(event)?.since ?? 0;
  // The number is of an earlier thread of that id, if it is not one of an earlier event.
  return since < event.sequence ? since : 0;
}

/** Returns the id of the latest checkpoint, and whether the values in the state are its own. */
export function headOf(state: JsonObject, ns: string): { id: string | undefined; isOwn: boolean } {
  const head = state[keyOf(ns)];
  // An object takes the place of one that was dropped.
  const isOwn = !isObject(head);
  const id = isOwn ? head : head["id"];
  return { id: typeof id === "string" ? id : undefined, isOwn };
}

/** What the log says of a checkpoint. */
export interface Found {
  event: StoredEvent;
  said: Said;
  /** In the order in which LangGraph applies them: task, channel and value. */
  writes: [task: string, channel: string, entry: Entry][];
}

/** Returns what the events of one checkpoint say, in the order of the log; undefined if there is no such checkpoint. */
export function folded(
  events: readonly StoredEvent[],
  compare: (one: readonly [string, string, number], other: readonly [string, string, number]) => number,
): Found | undefined {
  let event: StoredEvent | undefined;
  const writes = new Map<string, { at: [string, string, number]; channel: string; entry: Entry }>();
  for (const one of events) {
    const said = saidBy(one);
    if (one.author === DROP) {
      event = undefined;
      writes.clear();
    } else if (said !== undefined && one.author === CHECKPOINT) event = one;
    else if (said !== undefined && one.author === WRITES) {
      const { task = "", path = "" } = said;
      for (const [index, channel, entry] of said.writes ?? []) {
        const name = JSON.stringify([task, index]);
        // What a task has written stands; of errors, interrupts and answers to them, the last.
        if (index < 0 || !writes.has(name)) writes.set(name, { at: [path, task, index], channel, entry });
      }
    }
  }
  const said = event && saidBy(event);
  if (event === undefined || said === undefined) return undefined;
  const ordered = [...writes.values()].sort((one, other) => compare(one.at, other.at));
  return { event, said, writes: ordered.map(({ at: [, task], channel, entry }) => [task, channel, entry]) };
}

/** Returns the entries that a state has of channels in these versions; also of those that are empty. */
export function entriesOf(state: JsonObject, ns: string, versions: Record<string, unknown>): Map<string, Entry> {
  const entries = new Map<string, Entry>();
  for (const [channel, version] of Object.entries(versions)) {
    const key = keyOf(ns, channel);
    const entry = Object.hasOwn(state, key) ? state[key] : undefined;
    if (isObject(entry) && entry["v"] === version) entries.set(channel, entry);
  }
  return entries;
}

/** Returns the names of the files that entries name. */
export function filesIn(entries: Iterable<unknown>): string[] {
  const names = [...entries].map((entry) => (isObject(entry) ? entry["artifact"] : undefined));
  return names.filter((name) => typeof name === "string");
}

/** Throws `InputError` for a channel without a name, whose key is that of the head. */
export function checkChannels(versions: Record<string, unknown>): void {
  if (Object.hasOwn(versions, "")) throw new InputError("A channel has no name.", { outcome: "not_applied" });
}

/** Returns the last of LangChain's messages as a content for people and other agents; undefined if it says nothing. */
export function contentOf(messages: unknown): Content | undefined {
  const last: unknown = Array.isArray(messages) ? messages.at(-1) : undefined;
  if (!isObject(last)) return undefined;
  const { content, name, tool_calls: calls, tool_call_id: id } = last;
  const kind = last["type"] ?? last["role"];
  const texts = (Array.isArray(content) ? content : [content]).map((block: unknown) =>
    isObject(block) ? block["text"] : block,
  );
  const said = texts.filter((text): text is string => typeof text === "string" && text !== "");
  const isModel = kind === "ai" || kind === "assistant";
  let parts: Part[] = said.map(textPart);
  if (kind === "tool") {
    const response = objectOf({ result: said.join("") });
    parts = [{ functionResponse: { id, name: name ?? "", response } } as Part];
  }
  for (const call of isModel && Array.isArray(calls) ? calls : []) {
    if (isObject(call) && "args" in call) {
      const args = isObject(call["args"]) ? objectOf(call["args"]) : {};
      parts.push({ functionCall: { id: call["id"], name: call["name"], args } } as Part);
    }
  }
  return shown(isModel ? "model" : "user", parts);
}
