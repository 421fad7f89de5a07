/**
 * Keeps the checkpoints of LangGraph in sessiond.
 *
 * ```ts
 * const graph = builder.compile({ checkpointer: new SessiondSaver({ app: "cafe", user: "ada" }) });
 * await graph.invoke(input, { configurable: { thread_id: "s1" } });
 * ```
 */
import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { RunnableConfig } from "@langchain/core/runnables";
import {
  BaseCheckpointSaver,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointPendingWrite,
  type CheckpointTuple,
  compareWritesSortKeys,
  copyCheckpoint,
  getCheckpointId,
  maxChannelVersion,
  type PendingWrite,
  type SerializerProtocol,
  TASKS,
  WRITES_IDX_MAP,
  writesSortKey,
} from "@langchain/langgraph-checkpoint";
import type { Sessiond } from "./client.js";
import { ConflictError, NotFoundError, StaleError } from "./errors.js";
import type { Content, NewEvent, Operation, StoredEvent } from "./events.js";
import { isObject, type JsonObject } from "./json.js";
import { all, pages } from "./pages.js";
import { sessionPath } from "./paths.js";
import type { Session } from "./session.js";
import { clientOf, digest, packed, shown, textPart, unpacked, type Where } from "./verbatim.js";

/** How checkpoints are kept. */
export interface SessiondSaverOptions {
  /** The app in sessiond. */
  app: string;
  /** The user in sessiond, or how the configuration of a run names it. */
  user: string | ((config: RunnableConfig) => string);
  /** Where sessiond is: by default at the variable `SESSIOND_URL`, or `http://127.0.0.1:8080`. */
  client?: Where | undefined;
  /** How values become bytes: LangGraph's own serializer by default. */
  serde?: SerializerProtocol | undefined;
  /** The channel whose last message is shown as the content of a checkpoint: `messages` by default. */
  messages?: string | undefined;
}

const CHECKPOINT = "langgraph.checkpoint";
const WRITES = "langgraph.writes";
const PAGE = 100;

/** A value of a channel, as state keeps it. */
interface Kept extends JsonObject {
  /** Its version. */
  v: number | string;
}

/** What an event says of a checkpoint. */
interface Saved {
  ns: string;
  id: string;
  parent?: string;
  checkpoint: JsonObject;
  metadata: JsonObject;
  /** Whether all values are in this event. Else those that it does not set are those that the state has at it. */
  whole?: boolean;
}

/** What an event says of writes. */
interface Written {
  ns: string;
  id: string;
  task: string;
  path: string;
  writes: [idx: number, channel: string, value: JsonObject][];
}

/**
 * A checkpointer of LangGraph on sessiond. A thread is a session, a checkpoint an event, the values of its channels are state of the
 * session: what a step does not change is not stored again.
 *
 * When `put` or `putWrites` is fulfilled, it is on disk, once, also if its answer gets lost. Of two graphs that run on one thread at
 * once, each reads what it has put; `Session.lease` around a run keeps them apart.
 */
export class SessiondSaver extends BaseCheckpointSaver {
  readonly #client: Sessiond;
  readonly #app: string;
  readonly #user: (config: RunnableConfig) => string;
  readonly #messages: string;

  /** Opens no connection yet. */
  constructor({ app, user, client, serde, messages = "messages" }: SessiondSaverOptions) {
    super(serde);
    this.#client = clientOf(client);
    this.#app = app;
    this.#user = typeof user === "function" ? user : () => user;
    this.#messages = messages;
  }

  /** Returns a checkpoint, by default the last one that was put; undefined if there is none. */
  async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    const { thread_id: thread, checkpoint_ns: ns = "" } = config.configurable ?? {};
    if (thread === undefined) return undefined;
    const session = this.#session(thread, config);
    return await unlessAbsent(async () => {
      const id = getCheckpointId(config) || (await session.state(headOf(ns)));
      if (typeof id !== "string") return undefined;
      const events = await all(session.events({ invocationId: groupOf(ns, id) }));
      // Of one that was put again, the last counts.
      const event = events.findLast(({ author }) => author === CHECKPOINT);
      if (event === undefined) return undefined;
      const values = new Map<string, unknown>(Object.entries(event.actions?.stateDelta ?? {}));
      const saved = savedOf(event);
      if (saved.whole !== true) {
        const { channel_versions: versions } = await this.#loaded<Checkpoint>(saved.checkpoint);
        const keys = Object.keys(versions).map((channel) => keyOf(ns, channel));
        const rest = keys.filter((key) => !values.has(key));
        const state = rest.length === 0 ? {} : await session.state({ at: event.sequence, keys: rest });
        for (const [key, value] of Object.entries(state)) values.set(key, value);
      }
      return await this.#tuple(session, thread, saved, values, events);
    });
  }

  /** Yields checkpoints, latest first. Without a thread in `config`, those of all threads of the user. */
  async *list(config: RunnableConfig, options: CheckpointListOptions = {}): AsyncGenerator<CheckpointTuple> {
    const { thread_id: thread } = config.configurable ?? {};
    let left = options.limit ?? Number.POSITIVE_INFINITY;
    const threads = thread === undefined ? this.#client.sessions(this.#app, this.#user(config)) : [{ id: thread }];
    for await (const { id } of threads) {
      if (left <= 0) return;
      try {
        for await (const tuple of this.#listed(String(id), config, options)) {
          yield tuple;
          left -= 1;
          if (left <= 0) return;
        }
      } catch (error) {
        if (!(error instanceof NotFoundError)) throw error;
      }
    }
  }

  /** Reads pages of checkpoints from the end; of each one in which some are asked for, the state once, and the writes since. */
  async *#listed(
    thread: string,
    config: RunnableConfig,
    { before, filter, limit: most = PAGE }: CheckpointListOptions,
  ): AsyncGenerator<CheckpointTuple> {
    const { checkpoint_ns: ns, checkpoint_id: only } = config.configurable ?? {};
    const limit = before?.configurable?.["checkpoint_id"] as string | undefined;
    const session = this.#session(thread, config);
    const query = {
      author: CHECKPOINT,
      order: "desc",
      branch: ns === undefined ? undefined : branchOf(ns),
      // With a filter, nobody knows how many it takes.
      pageSize: filter === undefined ? Math.max(1, Math.min(PAGE, most)) : PAGE,
    };
    const path = `${sessionPath(this.#app, session.user, session.id)}/events`;
    const seen = new Set<string>();
    const writes = new Map<string, StoredEvent[]>();
    let end: number | undefined;
    for await (const page of pages(this.#client.http, path, query)) {
      const events = page["events"] as StoredEvent[];
      const asked = new Set<number>();
      for (const event of events) {
        const saved = savedOf(event);
        const group = groupOf(saved.ns, saved.id);
        if (seen.has(group)) continue;
        seen.add(group);
        if (only !== undefined && saved.id !== only) continue;
        if (limit !== undefined && saved.id >= limit) continue;
        const metadata = await this.#loaded<JsonObject>(saved.metadata);
        if (Object.entries(filter ?? {}).some(([key, value]) => !isDeepStrictEqual(metadata[key], value))) continue;
        asked.add(event.sequence);
      }
      const [latest, oldest] = [events[0], events.at(-1)];
      if (latest === undefined || oldest === undefined || asked.size === 0) continue;
      // Writes come behind their checkpoint, those of a later page maybe among these.
      for await (const event of session.events({ author: WRITES, after: oldest.sequence, before: end })) {
        const group = event.invocationId ?? "";
        writes.set(group, [...(writes.get(group) ?? []), event]);
      }
      end = oldest.sequence;
      // The values of a checkpoint are those of its parent and its own.
      const valuesOf = new Map<string, Map<string, unknown>>();
      const tuples: Promise<CheckpointTuple>[] = [];
      for (const event of events.reverse()) {
        const saved = savedOf(event);
        const { stateDelta = {}, stateOps = [] } = event.actions ?? {};
        let values = saved.whole ? new Map<string, unknown>() : valuesOf.get(groupOf(saved.ns, saved.parent ?? ""));
        if (values === undefined) {
          if (!asked.has(event.sequence)) continue;
          values = new Map(Object.entries(await session.state({ at: event.sequence, scope: "session" })));
        }
        const own = new Map(values);
        for (const { key } of stateOps) own.delete(key);
        for (const [key, value] of Object.entries(stateDelta)) own.set(key, value);
        valuesOf.set(groupOf(saved.ns, saved.id), own);
        if (!asked.has(event.sequence)) continue;
        tuples.push(this.#tuple(session, thread, saved, own, writes.get(groupOf(saved.ns, saved.id)) ?? []));
      }
      yield* (await Promise.all(tuples)).reverse();
    }
  }

  /** Stores a checkpoint, and of its values those of `newVersions`. */
  async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ): Promise<RunnableConfig> {
    const { thread_id: thread, checkpoint_ns: ns = "", checkpoint_id: parent } = config.configurable ?? {};
    if (thread === undefined) throw new TypeError("A checkpoint is put with a `thread_id` in `configurable`.");
    const session = this.#session(thread, config);
    const { channel_values: values, ...rest } = copyCheckpoint(checkpoint);
    const [keptRest, keptMetadata] = [await this.#dumped(rest), await this.#dumped(metadata)];
    const saved = async (whole: boolean): Promise<NewEvent> => {
      // Without a parent, what is new is all that there is.
      const written = whole && parent !== undefined ? checkpoint.channel_versions : newVersions;
      const versions = whole ? { ...checkpoint.channel_versions, ...newVersions } : newVersions;
      const stateDelta: JsonObject = { [headOf(ns)]: checkpoint.id };
      const stateOps: Operation[] = [];
      for (const [channel, v] of Object.entries(versions)) {
        const key = keyOf(ns, channel);
        if (Object.hasOwn(written, channel) && Object.hasOwn(values, channel)) {
          stateDelta[key] = { v, ...(await this.#dumped(values[channel])) };
        } else {
          stateOps.push({ op: "remove", key });
        }
      }
      const langgraph = { ns, id: checkpoint.id, parent, checkpoint: keptRest, metadata: keptMetadata, whole };
      return {
        id: `lg:${digest(ns, checkpoint.id)}`,
        author: CHECKPOINT,
        branch: branchOf(ns),
        invocationId: groupOf(ns, checkpoint.id),
        content: this.#messages in newVersions ? contentOf(values[this.#messages]) : undefined,
        customMetadata: { langgraph },
        actions: { stateDelta, stateOps },
      };
    };
    const head = { key: headOf(ns), ...(parent === undefined ? { exists: false } : { equals: parent }) };
    try {
      try {
        const event = await saved(parent === undefined);
        await session.append({ ...event, actions: { ...event.actions, preconditions: [head] } }, { create: true });
      } catch (error) {
        if (!(error instanceof StaleError)) throw error;
        // The state is that of another checkpoint than the parent.
        await session.append(await saved(true));
      }
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error;
      // It was put before, with another content.
      await session.append({ ...(await saved(true)), id: randomUUID() });
    }
    return configOf(thread, ns, checkpoint.id);
  }

  /** Stores what a task has written behind a checkpoint. */
  async putWrites(config: RunnableConfig, writes: PendingWrite[], taskId: string, taskPath = ""): Promise<void> {
    const { thread_id: thread, checkpoint_ns: ns = "", checkpoint_id: id } = config.configurable ?? {};
    if (thread === undefined || id === undefined) {
      throw new TypeError("Writes are put with a `thread_id` and a `checkpoint_id` in `configurable`.");
    }
    const written: Written["writes"] = [];
    for (const [at, [channel, value]] of writes.entries()) {
      written.push([WRITES_IDX_MAP[channel as string] ?? at, channel as string, await this.#dumped(value)]);
    }
    const langgraph = { ns, id, task: taskId, path: taskPath, writes: written };
    const event = {
      id: `lw:${digest(ns, id, taskId, taskPath, JSON.stringify(written))}`,
      author: WRITES,
      branch: branchOf(ns),
      invocationId: groupOf(ns, id),
      customMetadata: { langgraph },
    };
    await this.#session(thread, config).append(event, { create: true });
  }

  /** Deletes a thread with all its checkpoints, if there is one. */
  async deleteThread(threadId: string): Promise<void> {
    await this.#session(threadId, { configurable: { thread_id: threadId } }).delete();
  }

  /** Closes the connections of its client, which can be used again. */
  close(): void {
    this.#client.close();
  }

  #session(thread: unknown, config: RunnableConfig): Session {
    return this.#client.session(this.#app, this.#user(config), String(thread));
  }

  async #tuple(
    session: Session,
    thread: string,
    { ns, id, parent, ...saved }: Saved,
    values: Map<string, unknown>,
    behind: StoredEvent[],
  ): Promise<CheckpointTuple> {
    const rest = await this.#loaded<Checkpoint>(saved.checkpoint);
    const checkpoint: Checkpoint = { ...rest, channel_values: {} };
    for (const [channel, version] of Object.entries(rest.channel_versions)) {
      const kept = values.get(keyOf(ns, channel)) as Kept | undefined;
      if (kept?.v === version) checkpoint.channel_values[channel] = await this.#loaded(kept);
    }
    if (checkpoint.v < 4 && parent !== undefined) await this.#migrate(session, checkpoint, ns, parent);
    return {
      config: configOf(thread, ns, id),
      checkpoint,
      metadata: await this.#loaded<CheckpointMetadata>(saved.metadata),
      pendingWrites: await this.#writes(behind),
      ...(parent === undefined ? {} : { parentConfig: configOf(thread, ns, parent) }),
    };
  }

  /** Shows what was sent to tasks as a channel, where checkpoints before version 4 have it. */
  async #migrate(session: Session, checkpoint: Checkpoint, ns: string, parent: string): Promise<void> {
    const behind = await all(session.events({ invocationId: groupOf(ns, parent), author: WRITES }));
    const sends = (await this.#writes(behind)).filter(([, channel]) => channel === TASKS);
    const versions = Object.values(checkpoint.channel_versions);
    checkpoint.channel_values[TASKS] = sends.map(([, , value]) => value);
    checkpoint.channel_versions[TASKS] =
      versions.length === 0 ? this.getNextVersion(undefined) : (maxChannelVersion(...versions) as number);
  }

  /** Returns writes in their order: of one task and place the first, or, where that is negative, the last. */
  async #writes(events: StoredEvent[]): Promise<CheckpointPendingWrite[]> {
    const written = new Map<string, { key: ReturnType<typeof writesSortKey>; channel: string; value: JsonObject }>();
    for (const event of events) {
      if (event.author !== WRITES) continue;
      const { task, path, writes } = event.customMetadata?.["langgraph"] as Written;
      for (const [idx, channel, value] of writes) {
        const name = JSON.stringify([task, idx]);
        if (idx < 0 || !written.has(name)) written.set(name, { key: writesSortKey(path, task, idx), channel, value });
      }
    }
    const sorted = [...written.values()].sort((one, other) => compareWritesSortKeys(one.key, other.key));
    return await Promise.all(
      sorted.map(
        async ({ key: [, task], channel, value }): Promise<CheckpointPendingWrite> => [
          task,
          channel,
          await this.#loaded(value),
        ],
      ),
    );
  }

  /** Returns a value as it is kept: as JSON, if that is what the serializer makes of it, which people can read. */
  async #dumped(value: unknown): Promise<JsonObject> {
    const [t, bytes] = await this.serde.dumpsTyped(value);
    if (t !== "json") return { t, b: Buffer.from(bytes).toString("base64") };
    return packed(JSON.parse(Buffer.from(bytes).toString("utf8")), "value");
  }

  async #loaded<T>(kept: JsonObject): Promise<T> {
    if (typeof kept["b"] === "string") {
      return (await this.serde.loadsTyped(String(kept["t"]), new Uint8Array(Buffer.from(kept["b"], "base64")))) as T;
    }
    return (await this.serde.loadsTyped("json", JSON.stringify(unpacked(kept, "value")))) as T;
  }
}

function savedOf({ customMetadata }: StoredEvent): Saved {
  return customMetadata?.["langgraph"] as unknown as Saved;
}

function configOf(thread: string, ns: string, id: string): RunnableConfig {
  return { configurable: { thread_id: thread, checkpoint_ns: ns, checkpoint_id: id } };
}

function groupOf(ns: string, id: string): string {
  return `${ns}@${id}`;
}

// A filter by an empty branch matches nothing, so that of the root has a name, too.
function branchOf(ns: string): string {
  return `lg:${ns}`;
}

function headOf(ns: string): string {
  return keyOf(ns, "");
}

/** Returns the key of a channel. A namespace that is long is a short text in it. */
function keyOf(ns: string, channel: string): string {
  const name = encodeURIComponent(ns);
  return `lg/${name.length > 180 ? digest(ns) : name}/${channel}`;
}

/** Returns the last of messages as a content that people read. */
function contentOf(messages: unknown): Content | undefined {
  const last: unknown = Array.isArray(messages) ? messages.at(-1) : undefined;
  if (!isObject(last)) return undefined;
  const { text, content, type } = last;
  const said = typeof text === "string" ? text : content;
  if (typeof said !== "string" || said === "") return undefined;
  return shown(type === "human" ? "user" : "model", [textPart(said)]);
}

async function unlessAbsent<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof NotFoundError) return undefined;
    throw error;
  }
}
