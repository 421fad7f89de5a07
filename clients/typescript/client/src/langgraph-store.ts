// LangGraph's long-term memory in sessiond, as the adapter in Python keeps it: the items of a namespace's root are state of one session.
import { isDeepStrictEqual } from "node:util";
import {
  BaseStore,
  type Item,
  type MatchCondition,
  type Operation,
  type OperationResults,
} from "@langchain/langgraph-checkpoint";
import type { Sessiond } from "./client.js";
import { InputError, NotFoundError } from "./errors.js";
import type { NewEvent } from "./events.js";
import { nameOf as textOf } from "./http.js";
import { isObject, type JsonObject } from "./json.js";
import { batches } from "./kept.js";
import type { Session } from "./session.js";
import { clientOf, packed, unpacked, type Where } from "./verbatim.js";

/** How items are kept. */
export interface SessiondStoreOptions {
  /** The app in sessiond. */
  app: string;
  /**
   * The user in sessiond, `langgraph` by default; or how the first label of a namespace names it. With a function, what lies below no first
   * label, `search([])` say, reads what all users of the app have.
   */
  user?: string | ((root: string) => string) | undefined;
  /** Where sessiond is: by default at the variable `SESSIOND_URL`, or `http://127.0.0.1:8080`. */
  client?: Where | undefined;
}

const SESSIONS = "store/";
const KEYS = "lg/store/";
const AUTHOR = "langgraph.store";
const CREATED = ";created";

// What separates, control characters and white space: the same in all languages.
const ESCAPED = /[\0- %,/;\x7f-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/g;

// Characters of the query of a read; of longer ones all items that begin alike are read.
const QUERY = 4000;

type Namespace = readonly string[];

/** What a batch reads of the session of a root: the keys of items, and what such keys begin with. */
interface Wanted {
  keys: Set<string>;
  prefixes: Set<string>;
}

interface Stored {
  item: Item;
  /** In Unix seconds, finer than a `Date`: what was put last is first. */
  updated: number;
}

/**
 * What LangGraph's agents remember across threads. The items below the first label of a namespace are state of one session. The adapter in
 * Python keeps the same.
 *
 * What a call has stored is on disk when it is fulfilled, and every process reads it from then on; after a lost answer nothing is stored
 * twice. `batch` reads before it writes, and asks once for each first label, whatever the number of operations; what it writes below one is
 * stored all or none, as far as it fits into one request of 4 MiB and 500 items. `search` returns what was put last first. There are no
 * vectors: as without an index in LangGraph's own stores, `index` and `query` have no effect. An item never expires: a `ttl` is an
 * `InputError`.
 *
 * A label and a key have at most some 240 and 500 bytes, and each of the other labels adds to those of the key.
 */
export class SessiondStore extends BaseStore {
  readonly #client: Sessiond;
  readonly #app: string;
  readonly #user: string | ((root: string) => string);

  /** Opens no connection yet. */
  constructor({ app, user = "langgraph", client }: SessiondStoreOptions) {
    super();
    this.#client = clientOf(client);
    this.#app = app;
    this.#user = user;
  }

  /** Executes operations, and returns what each of them is answered. */
  async batch<Operations extends Operation[]>(operations: Operations): Promise<OperationResults<Operations>> {
    const wanted = new Map<string | undefined, Wanted>();
    const changes = new Map<string, Map<string, NewEvent>>();
    const of = (root: string | undefined): Wanted =>
      had(wanted, root, () => ({ keys: new Set(), prefixes: new Set() }));
    for (const operation of operations) {
      if ("namespacePrefix" in operation) {
        const [root, ...labels] = operation.namespacePrefix;
        of(root).prefixes.add(prefixOf(labels));
      } else if (!("namespace" in operation)) of(rootIn(operation.matchConditions)).prefixes.add(KEYS);
      else {
        const [root, key] = [rootOf(operation.namespace), keyOf(operation.namespace, operation.key)];
        if (!("value" in operation)) of(root).keys.add(key);
        else had(changes, root, () => new Map<string, NewEvent>()).set(key, eventOf(key, operation));
      }
    }
    const items = await this.#read(wanted);
    const results = operations.map((operation) => {
      if ("namespacePrefix" in operation) {
        const { namespacePrefix, filter, limit = 10, offset = 0 } = operation;
        return found(items, namespacePrefix, filter).slice(offset, offset + limit);
      }
      if (!("namespace" in operation)) {
        const { matchConditions = [], maxDepth, limit = 100, offset = 0 } = operation;
        return namespaces(items, matchConditions, maxDepth).slice(offset, offset + limit);
      }
      if ("value" in operation) return undefined;
      return items.get(nameOf(operation.namespace, operation.key))?.item ?? null;
    });
    for (const [root, events] of changes) {
      for (const some of batches(events.values(), (event) => event)) {
        await this.#session(root).append(some, { create: true, answer: "minimal" });
      }
    }
    return results as OperationResults<Operations>;
  }

  /** Closes the connections of its client, which can be used again. */
  override stop(): void {
    this.#client.close();
  }

  /** Returns at least the items that are wanted of each root, by one request each; of no root are all of all. */
  async #read(wanted: Map<string | undefined, Wanted>): Promise<Map<string, Stored>> {
    const items = new Map<string, Stored>();
    if (wanted.has(undefined)) {
      const options = { idPrefix: SESSIONS, includeState: true } as const;
      const sessions =
        typeof this.#user === "string"
          ? this.#client.sessions(this.#app, this.#user, options)
          : this.#client.sessions(this.#app, options);
      for await (const { id, userId, state } of sessions) {
        const root = unescaped(id.slice(SESSIONS.length));
        if (userId === this.#userOf(root)) addItems(items, root, state);
      }
      return items;
    }
    for (const [root, what] of wanted) {
      if (root === undefined) continue;
      try {
        addItems(items, root, await this.#session(root).state(queryOf(what)));
      } catch (error) {
        if (!(error instanceof NotFoundError && error.code === "session_not_found")) throw error;
      }
    }
    return items;
  }

  #userOf(root: string): string {
    return typeof this.#user === "string" ? this.#user : this.#user(root);
  }

  #session(root: string): Session {
    return this.#client.session(this.#app, this.#userOf(root), SESSIONS + escaped(root));
  }
}

/** Returns what a map has, or gets. */
function had<Key, Value>(map: Map<Key, Value>, key: Key, made: () => Value): Value {
  const value = map.get(key) ?? made();
  map.set(key, value);
  return value;
}

/** Returns a label of a namespace, or a key, as a part of a name in sessiond. */
function escaped(label: string): string {
  return textOf("label or key", label, true).replace(ESCAPED, encodeURIComponent);
}

function unescaped(part: string): string {
  return part.replace(/(?:%[\da-f]{2})+/gi, (bytes) => Buffer.from(bytes.replaceAll("%", ""), "hex").toString("utf8"));
}

/** Returns what the keys of all items below a namespace begin with, of which the root is left out. */
function prefixOf(labels: Namespace): string {
  return KEYS + labels.map((label) => `${escaped(label)}/`).join("");
}

/** Returns the key of an item in the session of its root. */
function keyOf([, ...labels]: Namespace, key: string): string {
  return prefixOf(labels) + escaped(key);
}

function nameOf(namespace: Namespace, key: string): string {
  return JSON.stringify([...namespace, key]);
}

function rootOf([root]: Namespace): string {
  if (root === undefined) throw refused("An item has no namespace.");
  return root;
}

/** Returns the root of all namespaces that meet conditions; undefined if there may be several. */
function rootIn(conditions: MatchCondition[] = []): string | undefined {
  return conditions.find(({ matchType, path: [root = "*"] }) => matchType === "prefix" && root !== "*")?.path[0];
}

function refused(message: string): InputError {
  return new InputError(message, { outcome: "not_applied" });
}

let latest = 0;

/** Returns the time in Unix seconds, and of a process never the same twice. */
function now(): number {
  latest = Math.max(Date.now() / 1000, latest + 1e-6);
  return latest;
}

/** Returns the event that puts an item, or deletes it. */
function eventOf(key: string, { value, ...rest }: { value: unknown }): NewEvent {
  if ((rest as { ttl?: unknown }).ttl != null) {
    throw refused("An item of sessiond does not expire: put it without a `ttl`.");
  }
  const created = key + CREATED;
  if (value === null) {
    const stateOps = [key, created].map((each) => ({ op: "remove" as const, key: each }));
    return { author: AUTHOR, actions: { stateOps } };
  }
  if (!isObject(value)) throw refused("The value of an item is an object.");
  const updated = now();
  // The first time stays.
  const stateOps = [{ op: "min" as const, key: created, value: updated }];
  return { author: AUTHOR, actions: { stateDelta: { [key]: packed(value, "value", { updated }) }, stateOps } };
}

/** Returns what one read of state asks for, so that all of it is there. */
function queryOf({ keys, prefixes }: Wanted): { keys: string[] } | { prefix: string } {
  const each = [...keys].flatMap((key) => [key, key + CREATED]);
  if (prefixes.size === 0 && encodeURIComponent(each.join()).length <= QUERY) return { keys: each };
  const [first = KEYS, ...others] = [...keys, ...prefixes];
  let prefix = first;
  while (!others.every((other) => other.startsWith(prefix))) prefix = prefix.slice(0, -1);
  // No half of a character.
  return { prefix: prefix.replace(/[\ud800-\udbff]$/, "") };
}

/** Adds the items that the state of the session of a root has. */
function addItems(items: Map<string, Stored>, root: string, state: JsonObject): void {
  for (const [stateKey, entry] of Object.entries(state)) {
    if (!stateKey.startsWith(KEYS) || stateKey.includes(";") || !isObject(entry)) continue;
    const value = unpacked(entry, "value");
    if (!isObject(value)) continue;
    const labels = stateKey.slice(KEYS.length).split("/").map(unescaped);
    const [key = "", namespace] = [labels.pop(), [root, ...labels]];
    const [created, updated] = [state[stateKey + CREATED] ?? entry["updated"], entry["updated"]];
    items.set(nameOf(namespace, key), {
      item: { namespace, key, value, createdAt: dateOf(created), updatedAt: dateOf(updated) },
      updated: Number(updated),
    });
  }
}

function dateOf(seconds: unknown): Date {
  return new Date(Number(seconds) * 1000);
}

/** Returns the items below a namespace that match a filter, those that were put last first. */
function found(items: Map<string, Stored>, below: Namespace, filter: JsonObject = {}): Item[] {
  return [...items.values()]
    .filter(({ item: { namespace } }) => below.every((label, n) => namespace[n] === label))
    .filter(({ item: { value } }) => matches(value, filter))
    .sort((one, other) => other.updated - one.updated)
    .map(({ item }) => item);
}

/** Whether a value is what a filter asks for. Throws `InputError` for an unknown operator. */
function matches(value: unknown, condition: unknown): boolean {
  if (Array.isArray(condition)) {
    return (
      Array.isArray(value) && value.length === condition.length && condition.every((each, n) => matches(value[n], each))
    );
  }
  if (!isObject(condition)) return isEqual(value, condition);
  const asked = Object.entries(condition);
  if (asked.some(([name]) => name.startsWith("$"))) return asked.every(([name, other]) => holds(value, name, other));
  return (
    isObject(value) && asked.every(([name, each]) => matches(Object.hasOwn(value, name) ? value[name] : null, each))
  );
}

function holds(value: unknown, operator: string, other: unknown): boolean {
  if (operator === "$eq" || operator === "$ne") return isEqual(value, other) === (operator === "$eq");
  const compared: Record<string, (one: number, two: number) => boolean> = {
    $gt: (one, two) => one > two,
    $gte: (one, two) => one >= two,
    $lt: (one, two) => one < two,
    $lte: (one, two) => one <= two,
  };
  const compares = Object.hasOwn(compared, operator) ? compared[operator] : undefined;
  if (compares === undefined) {
    throw refused(`A filter has no operator ${operator}: there are $eq, $ne, $gt, $gte, $lt and $lte.`);
  }
  return (
    typeof value === typeof other &&
    ["string", "number"].includes(typeof value) &&
    compares(value as number, other as number)
  );
}

/** Whether values are the same, as JSON has them. */
function isEqual(one: unknown, other: unknown): boolean {
  return one === other || isDeepStrictEqual(one ?? null, other ?? null);
}

/** Returns the namespaces that have items and meet all conditions, cut to a depth, in order. */
function namespaces(
  items: Map<string, Stored>,
  conditions: MatchCondition[],
  maxDepth: number | undefined,
): string[][] {
  const there = [...items.values()]
    .map(({ item }) => item.namespace)
    .filter((each) => conditions.every((one) => meets(each, one)));
  const cut = new Map(there.map((each) => each.slice(0, maxDepth)).map((each) => [each.join("\0"), each]));
  return [...cut]
    .sort(([one], [other]) => Buffer.compare(Buffer.from(one), Buffer.from(other)))
    .map(([, each]) => each);
}

function meets(namespace: string[], { matchType, path }: MatchCondition): boolean {
  if (matchType !== "prefix" && matchType !== "suffix") {
    throw refused(`Namespaces are matched by prefix or suffix, not by ${String(matchType)}.`);
  }
  const from = matchType === "prefix" ? 0 : namespace.length - path.length;
  return path.length <= namespace.length && path.every((wanted, n) => wanted === "*" || namespace[from + n] === wanted);
}
