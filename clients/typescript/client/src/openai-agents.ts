/**
 * Keeps the conversations of the OpenAI Agents SDK in sessiond, so that any machine goes on with what another one began.
 *
 * ```ts
 * const session = new SessiondSession("s1", { app: "cafe", user: "ada" });
 * const result = await run(agent, "A green tea, please.", { session });
 * ```
 */
import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { Sessiond } from "./client.js";
import { conversation, resultText } from "./conversation.js";
import { ConflictError, InputError, NotFoundError, StaleError } from "./errors.js";
import type { NewEvent, Part, StoredEvent } from "./events.js";
import { isObject, type JsonObject, toExtendedJson } from "./json.js";
import { said as saidIn, withFiles } from "./kept.js";
import { told, type Words } from "./others.js";
import { all, pages } from "./pages.js";
import { sessionPath } from "./paths.js";
import type { Session } from "./session.js";
import {
  again,
  authorOf,
  clientOf,
  digest,
  idOf,
  objectOf,
  packed,
  rewind,
  shown,
  textPart,
  unlessAbsent,
  unpacked,
  type Where,
} from "./verbatim.js";

// biome-ignore lint/suspicious/noExplicitAny: the SDK's `AgentInputItem`, of which this module needs no field
type Item = any;

/** How a conversation is kept. */
export interface SessiondSessionOptions {
  /** The app in sessiond. */
  app: string;
  /** The user in sessiond. */
  user: string;
  /** Where sessiond is: by default at the variable `SESSIOND_URL`, or `http://127.0.0.1:8080`. */
  client?: Where | undefined;
  /**
   * The author of what is not the user's: `assistant` by default. An ADK agent of this name takes the answers for its own; one of
   * another name quotes them as another agent's.
   */
  author?: string | undefined;
  /**
   * What `clearSession` does: `rewind` (default), after which the log still has what was said; `trim`, which removes it for good and takes
   * the role `operator`; `delete`, which removes the session with its state and files.
   */
  clear?: "rewind" | "trim" | "delete" | undefined;
  /** Whether `getItems()` also has what agents of other frameworks and their users have said in the session, in its place. */
  others?: boolean | undefined;
  /** With `others`: whether the agent has a tool of this name. Calls of all else are told as text. By default it has all. */
  hasTool?: ((name: string) => boolean) | undefined;
}

/** A change of the history that is made once for its `operationId`. */
export interface HistoryTransactionArgs {
  operationId: string;
  transaction:
    | { type: "append_items"; items: Item[] }
    | { type: "replace_suffix"; expectedSuffix: Item[]; replacement: Item[] };
}

/** A function call takes the place of the one with this id. */
export interface HistoryMutation {
  type: "replace_function_call";
  callId: string;
  replacement: Item;
}

/** Of what tokens there were so many, as cached ones. */
type Details = Record<string, number>[] | undefined;

/** What runs have spent. */
export interface RunUsage {
  requests: number;
  inputTokens: number;
  outputTokens: number;
  totalTokens: number;
}

/** A result of the SDK's runner, as far as it is read here. */
export interface RunResult {
  runContext: { usage: RunUsage & { inputTokensDetails?: Details; outputTokensDetails?: Details } };
}

/** A session that began with what another one had. */
export interface Branch {
  /** The id of its session. */
  id: string;
  name: string;
  /** In Unix seconds. */
  createTime: number;
}

/** The end of a history, latest first, with what others have written, and the revision at which it was read. */
interface Tail {
  events: StoredEvent[];
  items: { id: string; at: number; item: Item; group: string }[];
  revision: number;
}

const FEW = 20;

// Beside the item in the metadata of an event: of which change of the history it is.
const OPERATION = "openaiOperation";

// State of a session: what its runs have spent, by these names; they are those of the SDK in Python, as its adapter counts, too.
const USAGE = "oai/usage/";
const COUNTERS = {
  requests: "requests",
  inputTokens: "input_tokens",
  outputTokens: "output_tokens",
  totalTokens: "total_tokens",
} as const;
const TURNS = "total_turns";

// What the names of the files begin with that are items which are too large for an event.
const FILES = "oai/";

// The label of a branch: its name.
const BRANCH = "oai.branch";

/**
 * A session of the OpenAI Agents SDK on sessiond: an item is an event with the item as it is, and with what was said as the content of
 * the event, so that the console and agents of other frameworks read it.
 *
 * Each call is one transaction, stored once, also if its answer gets lost. What is taken back stays in the log. Items are JSON: bytes are
 * given in base64, and what JSON does not have, but for numbers, is an `InputError`. An item that is too large for an event is a file of the
 * session, which the event names.
 */
export class SessiondSession {
  readonly #client: Sessiond;
  readonly #options: SessiondSessionOptions;
  readonly #id: string;
  readonly #session: Session;
  #turn: string | undefined;
  /** The group of what was added last. */
  #group: string | undefined;

  /** Opens no connection yet. Throws `InputError` for a name that is no text, and for an id with white space at an end. */
  constructor(id: string, options: SessiondSessionOptions) {
    this.#client = clientOf(options.client);
    this.#options = { ...options, client: this.#client, author: authorOf(options.author) };
    this.#session = this.#client.session(options.app, options.user, idOf(id));
    this.#id = this.#session.id;
  }

  /**
   * Returns the session for a streamed run that may run again after a crash: what is added first in it, which is the input, is stored
   * once for this key. Another input under the same key is a `ConflictError`. What the model says is not part of it: it differs each
   * time. Until it is added, an input that an earlier run has left is not shown. A run that is not streamed needs no key: it stores
   * nothing before it ends.
   */
  turn(key: string): SessiondSession {
    const session = new SessiondSession(this.#id, this.#options);
    session.#turn = `turn:${digest(key)}`;
    return session;
  }

  /** Returns the id of the session. */
  async getSessionId(): Promise<string> {
    return this.#id;
  }

  /** Returns the items in order, or the last `limit` of them. With `others`, a limit is of the items of this adapter alone. */
  async getItems(limit?: number): Promise<Item[]> {
    if (limit !== undefined && limit <= 0) return [];
    const { items } = await this.#tail(limit, false, this.#turn);
    items.reverse();
    const others = this.#options.others && limit === undefined ? await this.#told() : [];
    if (others.length > 0) tie(items);
    return [...items, ...others].sort((one, other) => one.at - other.at).map(({ item }) => item);
  }

  /** Returns what others have said as items, and the numbers behind which they are. */
  async #told(): Promise<{ at: number; item: Item }[]> {
    const events = (await unlessAbsent(all(this.#session.events({ effective: true, pageSize: 1000 })))) ?? [];
    const { author, hasTool } = this.#options;
    const words = told(conversation(events.filter((event) => !isOwn(event))), {
      author,
      hasTool,
      takesFile: () => false,
    });
    return words.flatMap((each) => itemsOf(each).map((item) => ({ at: each.at, item })));
  }

  /** Adds items at the end, all or none. */
  async addItems(items: Item[]): Promise<void> {
    if (items.length === 0) return;
    const key = this.#turn;
    this.#turn = undefined;
    this.#group = key ?? `oai-${randomUUID()}`;
    await this.#append(this.#events(items, this.#group, key !== undefined));
  }

  /** Takes the last item back and returns it; undefined if there is none. Two callers at once get two items. */
  async popItem(): Promise<Item | undefined> {
    return await this.#again(async () => {
      const tail = await this.#tail(1, true);
      const last = tail.items[0];
      if (last !== undefined) await this.#replace(tail, 1, [], `oai-${randomUUID()}`);
      return last?.item;
    });
  }

  /** Takes all back from the first item on, also what others have written behind it; see `clear`. */
  async clearSession(): Promise<void> {
    const { clear = "rewind" } = this.#options;
    if (clear === "delete") await this.#session.delete();
    else if (clear === "trim") await unlessAbsent(this.#trim());
    else await this.replaceHistoryWithCompaction([]);
  }

  async #trim(): Promise<void> {
    const { artifacts } = this.#session;
    // Those that the events name which are trimmed: there may be one of an event that is still to come.
    const { revision } = await this.#session.get({ last: 0 });
    const files = await all(artifacts.list({ prefix: FILES, at: revision }));
    await this.#session.trim({ keepLast: 0 });
    for (const { name } of files) await artifacts.delete(name);
  }

  /** Takes all back from the first item on and adds others, in one transaction. */
  async replaceHistoryWithCompaction(items: Item[]): Promise<void> {
    const key = `oai-${randomUUID()}`;
    const first = await this.#first();
    const events = [...(first === undefined ? [] : [rewind(`${key}:r`, first)]), ...this.#events(items, key)];
    if (events.length > 0) await this.#append(events);
  }

  /** Replaces function calls where they are, in one transaction. */
  async applyHistoryMutations({ mutations }: { mutations: HistoryMutation[] }): Promise<void> {
    await this.#again(async () => {
      const tail = await this.#tail();
      const items = tail.items.map(({ item }) => item).reverse();
      const isCall = (item: Item, callId: string): boolean => item.type === "function_call" && item.callId === callId;
      let changed = items;
      for (const { callId, replacement } of mutations) {
        const at = changed.findIndex((item) => isCall(item, callId));
        if (at < 0) continue;
        const rest = changed.slice(at + 1).filter((item) => !isCall(item, callId));
        changed = [...changed.slice(0, at), replacement, ...rest];
      }
      const from = changed.findIndex((item, at) => item !== items[at]);
      if (from < 0 && changed.length === items.length) return;
      const kept = from < 0 ? changed.length : from;
      await this.#replace(tail, items.length - kept, changed.slice(kept), `oai-${randomUUID()}`);
    });
  }

  /**
   * Makes a change of the history once for its `operationId`, all or nothing.
   *
   * @throws ConflictError if this operation was another change.
   * @throws StaleError if the history does not end with `expectedSuffix`.
   */
  async applyHistoryTransaction({ operationId, transaction }: HistoryTransactionArgs): Promise<void> {
    if (typeof operationId !== "string" || operationId.trim() === "") {
      throw new InputError("The `operationId` of a change of the history is a text that is not empty.");
    }
    const key = `op:${digest(operationId)}`;
    const mark = digest(toExtendedJson(plain(transaction)));
    if (transaction.type === "append_items") {
      await this.#append(marked(this.#events(transaction.items, key), key, mark));
      return;
    }
    const { expectedSuffix, replacement } = transaction;
    const expected = expectedSuffix.map(plain);
    await this.#again(async () => {
      const tail = await this.#tail(expected.length, true);
      const suffix = tail.items.slice(0, expected.length).map(({ item }) => item);
      if (isDeepStrictEqual(suffix.reverse(), expected)) {
        try {
          await this.#replace(tail, expected.length, replacement, key, mark);
          return;
        } catch (error) {
          if (!(error instanceof ConflictError)) throw error;
        }
      }
      const made = await unlessAbsent(this.#session.event(`${key}:0`));
      if (made === undefined) {
        throw new StaleError("The history of the session does not end with the expected items any more.");
      }
      if (made.customMetadata?.[OPERATION] !== mark) {
        throw new ConflictError(`The operation ${operationId} was another change of the history.`);
      }
    });
  }

  /**
   * Returns a new session that begins with what this one has, or had before the turn of the key `beforeTurn`. Its name, by default its
   * id, is the label `oai.branch`.
   *
   * @throws NotFoundError if there is no such session or turn.
   * @throws ConflictError if there is a session of the id of the branch.
   */
  async branch(
    id?: string,
    { beforeTurn, name }: { beforeTurn?: string | undefined; name?: string | undefined } = {},
  ): Promise<SessiondSession> {
    const first = beforeTurn === undefined ? undefined : await this.#session.event(`turn:${digest(beforeTurn)}:0`);
    const fork = await this.#session.fork({ id, at: first && first.sequence - 1 });
    const { labels } = await fork.get({ last: 0 });
    await fork.update({ labels: { ...labels, [BRANCH]: name ?? fork.id } });
    return new SessiondSession(fork.id, this.#options);
  }

  /** Returns the branches of this session, oldest first. */
  async listBranches(): Promise<Branch[]> {
    const { app, user } = this.#options;
    const forks = this.#client.sessions(app, user, { forkedFrom: this.#id, orderBy: "createTime" });
    const branches: Branch[] = [];
    for await (const { id, labels, createTime } of forks) {
      const name = labels?.[BRANCH];
      if (name !== undefined) branches.push({ id, name, createTime });
    }
    return branches;
  }

  /**
   * Adds what a run has spent to the counters of the session, when it has ended. It is one event, by the group of the items that this
   * object has added last: called again, it counts nothing twice. What is taken back later has been spent all the same.
   */
  async storeRunUsage({ runContext: { usage } }: RunResult): Promise<void> {
    const spent = Object.entries(COUNTERS).map(([ours, name]): [string, number] => [
      name,
      usage[ours as keyof RunUsage],
    ]);
    const counted: [string, number][] = [...spent, [TURNS, 1]];
    const group = this.#group ?? `oai-${randomUUID()}`;
    const stateOps = counted.map(([name, value]) => ({ op: "increment" as const, key: USAGE + name, value }));
    await this.#append([
      {
        id: `usage:${group}`,
        invocationId: group,
        author: this.#options.author ?? "assistant",
        actions: { stateOps },
        customMetadata: {
          openai_usage: {
            ...Object.fromEntries(spent),
            input_tokens_details: summed(usage.inputTokensDetails),
            output_tokens_details: summed(usage.outputTokensDetails),
          },
        },
      },
    ]);
  }

  /** Returns what all runs have spent, and how many they were; undefined if nothing was stored. A branch begins with what its source had. */
  async getSessionUsage(): Promise<(RunUsage & { totalTurns: number }) | undefined> {
    const keys = [...Object.values(COUNTERS), TURNS].map((name) => USAGE + name);
    const state = await unlessAbsent(this.#session.state({ keys }));
    if (state?.[USAGE + TURNS] === undefined) return undefined;
    const usage = Object.entries(COUNTERS).map(([ours, name]) => [ours, Number(state[USAGE + name])]);
    return { ...(Object.fromEntries(usage) as RunUsage), totalTurns: Number(state[USAGE + TURNS]) };
  }

  /** Closes the connections of its client, which can be used again. */
  close(): void {
    this.#client.close();
  }

  /**
   * Takes the last `count` items back, which `tail` has with the beginning of their group, and adds others, if nobody was faster. A rewind
   * takes back all behind it: what stays of the group is added again, each item as a group of its own, and so is what others have written.
   */
  async #replace(tail: Tail, count: number, replacement: Item[], key: string, mark?: string): Promise<void> {
    const group = tail.items[count - 1]?.group;
    const events: NewEvent[] = [];
    if (group !== undefined) {
      events.push(rewind(`${key}:r`, group));
      const taken = new Set(tail.items.slice(0, count).map(({ id }) => id));
      const own = new Set(tail.items.map(({ id }) => id));
      const first = tail.events.findLastIndex(({ id, invocationId }) => own.has(id) && invocationId === group);
      const stay = tail.events.slice(0, first + 1).filter(({ id }) => !taken.has(id));
      for (const [n, event] of stay.reverse().entries()) {
        const copy = again(event, `${key}:k${n}`);
        events.push(own.has(event.id) ? { ...copy, invocationId: `${key}:k${n}` } : copy);
      }
    }
    events.push(...this.#events(replacement, key));
    await this.#append(mark === undefined ? events : marked(events, key, mark), tail.revision);
  }

  /** Reads the last `count` items, and, if `whole`, on to the beginning of the first one's group. One group may be left out. */
  async #tail(count = Number.POSITIVE_INFINITY, whole = false, hidden?: string): Promise<Tail> {
    const tail: Tail = { events: [], items: [], revision: 0 };
    const pageSize = Math.max(whole ? 2 : 1, Math.min(count + (whole ? 1 : 0), 1000));
    const query = { excludeRewound: true, order: "desc", pageSize };
    const enough = (): boolean => {
      const [last, next] = [tail.items[count - 1], tail.items.at(-1)];
      if (!whole) return tail.items.length >= count;
      return count === 0 || (last !== undefined && next?.group !== last.group);
    };
    try {
      const { app, user } = this.#options;
      let first = true;
      for await (const page of pages(this.#client.http, `${sessionPath(app, user, this.#id)}/events`, query)) {
        // The later pages are about what was there at the first one.
        if (first) tail.revision = Number(page["revision"]);
        first = false;
        for (const event of page["events"] as StoredEvent[]) {
          const { id, sequence: at, invocationId: group = "" } = event;
          if (group === hidden) continue;
          const item = await this.#itemOf(event);
          tail.events.push(event);
          if (item !== undefined) tail.items.push({ id, at, item, group });
          if (enough()) return tail;
        }
      }
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
    }
    return tail;
  }

  /** Returns the group of the first item; undefined if there is none. */
  async #first(): Promise<string | undefined> {
    try {
      for await (const event of this.#session.events({ excludeRewound: true, pageSize: FEW })) {
        if ((await this.#itemOf(event)) !== undefined) return event.invocationId;
      }
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
    }
    return undefined;
  }

  async #append(events: NewEvent[], ifRevision?: number): Promise<void> {
    const stored = await withFiles(this.#client, this.#session, events, FILES);
    await this.#session.append(stored, { ifRevision, create: true });
  }

  /** Returns the item of an event; undefined if it has none, or one that its author cannot have said. */
  async #itemOf(event: StoredEvent): Promise<Item | undefined> {
    return await saidIn(this.#session, event, "openai", "item", isPrompt);
  }

  /** Makes a change again, from its beginning, as long as others are faster. */
  async #again<T>(change: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await change();
      } catch (error) {
        // Without a status it is not the server's word about a revision.
        if (!(error instanceof StaleError) || error.status === undefined) throw error;
      }
    }
  }

  /** Returns the events of items, which are one group. */
  #events(items: Item[], key: string, sealed = false): NewEvent[] {
    const { author = "assistant" } = this.#options;
    // What tells a batch from a longer one that begins in the same way.
    const batch = sealed ? { batch: digest(toExtendedJson(items.map(plain))) } : {};
    return items.map((item, n) => ({
      id: `${key}:${n}`,
      invocationId: key,
      ...said(item, author),
      customMetadata: { openai: packed(item, "item", batch) },
    }));
  }
}

/** Returns the sums of numbers by their names. */
function summed(details: Details = []): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const [name, count] of details.flatMap(Object.entries<number>)) sums[name] = (sums[name] ?? 0) + count;
  return sums;
}

/** Returns events that say of which change they are; the first one has the id by which it is found. */
function marked(events: NewEvent[], key: string, mark: string): NewEvent[] {
  const nothing: NewEvent = { author: "user", invocationId: key };
  return (events.length === 0 ? [nothing] : events).map((event, n) => ({
    ...event,
    id: `${key}:${n}`,
    customMetadata: { ...event.customMetadata, [OPERATION]: mark },
  }));
}

/** Whether this adapter has written an event, in this or another language. */
function isOwn({ customMetadata }: StoredEvent): boolean {
  return isObject(customMetadata) && ("openai" in customMetadata || "openai_usage" in customMetadata);
}

/** Returns words of others as items: calls, and then their results. */
function itemsOf({ role, text, calls }: Words): Item[] {
  const status = "completed";
  const message =
    role === "user"
      ? { type: "message", role, content: text }
      : { type: "message", role: "assistant", status, content: [{ type: "output_text", text }] };
  return [
    ...(text === "" ? [] : [message]),
    ...calls.map(({ id: callId, name, args }) => ({
      type: "function_call",
      callId,
      name,
      status,
      arguments: JSON.stringify(args),
    })),
    ...calls.map(({ id: callId, name, result }) => ({
      type: "function_call_result",
      callId,
      name,
      status,
      output: resultText(result),
    })),
  ];
}

/** Moves items, so that words of others are before a call that has its result later, or may still get it, and before its thoughts. */
function tie(items: { at: number; item: Item }[]): void {
  // Models refuse a thought without what came of it.
  const joined = items.map(({ item }, n) => item.type === "reasoning" && n < items.length - 1);
  const open = new Map<string, number>();
  for (const [n, { item }] of items.entries()) {
    // Items of Python have `call_id`.
    const [type, id] = [String(item.type), String(item.callId ?? item.call_id)];
    if (type.endsWith("_call")) open.set(id, n);
    else if (/_call_(?:result|output)$/.test(type) && open.has(id)) {
      joined.fill(true, open.get(id), n);
      open.delete(id);
    }
  }
  const waiting = new Set(open.values());
  for (let n = items.length - 1; waiting.has(n); n -= 1) joined[n] = true;
  for (const [n, one] of [...items.entries()].reverse()) {
    if (joined[n]) one.at = items[n + 1]?.at ?? Number.MAX_SAFE_INTEGER;
  }
}

/** Whether a user can have said an item. */
function isPrompt(item: unknown): boolean {
  const { type = "message", role } = isObject(item) ? item : {};
  return type === "message" && role === "user";
}

/** Returns a value as it is after it was stored. */
function plain(value: unknown): unknown {
  return unpacked(packed(value, "value"), "value");
}

/** Returns who said an item, and what, as other readers know it. */
function said(item: Item, author: string): Pick<NewEvent, "author" | "content"> {
  const one = item as JsonObject;
  switch (one["type"]) {
    case undefined:
    case "message": {
      const { role, content } = one;
      const parts = typeof content === "string" ? [textPart(content)] : partsOf(content);
      const who = role === "user" || role === "system" ? role : author;
      return { author: who, content: shown(who === author ? "model" : "user", parts) };
    }
    case "function_call": {
      const { callId: id, name, arguments: args } = one as { [field: string]: string };
      const given = objectOf(args);
      const functionCall = { id, name, args: "result" in given ? {} : given } as NonNullable<Part["functionCall"]>;
      return { author, content: shown("model", [{ functionCall }]) };
    }
    case "function_call_result": {
      const { callId: id, name, output } = one as { [field: string]: string };
      const functionResponse = { id, name, response: objectOf(output) } as NonNullable<Part["functionResponse"]>;
      return { author, content: shown("user", [{ functionResponse }]) };
    }
    case "reasoning": {
      const parts = partsOf(one["content"]).map((part) => ({ ...part, thought: true }));
      return { author, content: shown("model", parts) };
    }
    default:
      return { author };
  }
}

function partsOf(content: unknown): Part[] {
  const list = Array.isArray(content) ? content : [];
  return list.filter(isObject).map(({ type, text, refusal }) => {
    const words = text ?? refusal;
    // Bytes are in the item.
    return textPart(typeof words === "string" ? words : `[${String(type)}]`);
  });
}
