/**
 * Keeps the checkpoints of LangGraph in sessiond.
 *
 * ```ts
 * const graph = builder.compile({ checkpointer: new SessiondSaver({ app: "cafe", user: "ada" }) });
 * await graph.invoke(input, { configurable: { thread_id: "s1" } });
 * ```
 */
import { randomBytes } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import {
  BaseCheckpointSaver,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointTuple,
  copyCheckpoint,
  getCheckpointId,
  maxChannelVersion,
  type PendingWrite,
  type SerializerProtocol,
  TASKS,
  WRITES_IDX_MAP,
} from "@langchain/langgraph-checkpoint";
import type { Sessiond } from "./client.js";
import { conversation, resultText } from "./conversation.js";
import { isObject, type JsonObject } from "./json.js";
import { Codec, contentOf } from "./langgraph-format.js";
import { type Digests, Memory, Thread, type Whole } from "./langgraph-thread.js";
import { type File, type Listener, type Words, wordsOf } from "./others.js";
import { clientOf, idOf, type Where } from "./verbatim.js";

export { SessiondStore, type SessiondStoreOptions } from "./langgraph-store.js";

/** How checkpoints are kept. */
export interface SessiondSaverOptions {
  /** The app in sessiond. */
  app: string;
  /**
   * The user in sessiond, `langgraph` by default; or how the configuration of a run names it, which must know it by the `thread_id` alone
   * for `deleteThread` and `prune`.
   */
  user?: string | ((config: RunnableConfig) => string) | undefined;
  /** Where sessiond is: by default at the variable `SESSIOND_URL`, or `http://127.0.0.1:8080`. */
  client?: Where | undefined;
  /**
   * How values become bytes. With LangGraph's own serializer, the default, values that are plain JSON are kept as such, for people to
   * read; any other one, say one that encrypts, sees all values and metadata.
   */
  serde?: SerializerProtocol | undefined;
  /**
   * The channel whose last message is shown as the content of a checkpoint's event: in the console, and to agents of other
   * frameworks. By default none is.
   */
  messages?: string | undefined;
}

// Of channels that a task writes once; no others are there, as what every object has would be.
const INDEXES = new Map(Object.entries(WRITES_IDX_MAP));

/**
 * A checkpointer of LangGraph on sessiond. A thread is a session, a checkpoint an event, the values of its channels are state of the
 * session: what a step does not change is not stored again. The adapter in Python keeps the same.
 *
 * When `put` or `putWrites` is fulfilled, it is on disk, once, also if its answer gets lost. Of two graphs that run on one thread at
 * once, each reads what it has put; `Session.lease` around a run keeps them apart.
 */
export class SessiondSaver extends BaseCheckpointSaver {
  readonly #client: Sessiond;
  readonly #app: string;
  readonly #user: string | ((config: RunnableConfig) => string);
  readonly #messages: string | undefined;
  readonly #memory = new Memory();
  readonly #digests = new Memory<Digests>(1000);

  /** Opens no connection yet. */
  constructor({ app, user = "langgraph", client, serde, messages }: SessiondSaverOptions) {
    super(serde);
    this.#client = clientOf(client);
    this.#app = app;
    this.#user = user;
    this.#messages = messages;
  }

  /** Returns a checkpoint, by default the latest one of its thread and namespace; undefined if there is none. */
  async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    const { thread_id: id, checkpoint_ns: ns = "" } = config.configurable ?? {};
    if (id === undefined) return undefined;
    const thread = this.#thread(id, config);
    const whole = await thread.get(ns, getCheckpointId(config) || undefined);
    return whole && (await this.#tuple(thread, id, whole));
  }

  /**
   * Yields checkpoints, latest first: in the order in which they were stored. Without a thread in `config`, those of all threads of the
   * user, one after the other.
   */
  async *list(config: RunnableConfig, options: CheckpointListOptions = {}): AsyncGenerator<CheckpointTuple> {
    const { thread_id: asked, checkpoint_ns: ns, checkpoint_id: only } = config.configurable ?? {};
    const { filter = {}, before, limit } = options;
    const matches = (metadata: JsonObject): boolean =>
      Object.entries(filter).every(([key, value]) => isDeepStrictEqual(metadata[key], value));
    const bound = before?.configurable?.["checkpoint_id"] as string | undefined;
    let left = limit ?? Number.POSITIVE_INFINITY;
    if (left <= 0) return;
    const threads = asked === undefined ? this.#client.sessions(this.#app, this.#userOf(config)) : [{ id: asked }];
    for await (const { id } of threads) {
      const thread = this.#thread(id, config);
      if (only !== undefined) {
        const whole = await thread.get(ns ?? "", only);
        const tuple = whole && (await this.#tuple(thread, id, whole));
        if (tuple === undefined || !matches({ ...tuple.metadata }) || (bound !== undefined && only >= bound)) continue;
        yield tuple;
        left -= 1;
        if (left <= 0) return;
        continue;
      }
      const boundNs = before?.configurable?.["checkpoint_ns"] ?? ns ?? "";
      const listed = {
        ns,
        before: bound === undefined ? undefined : { ns: boundNs, id: bound },
        limit: Number.isFinite(left) ? left : undefined,
        matches: Object.keys(filter).length === 0 ? undefined : matches,
      };
      for await (const whole of thread.list(listed)) {
        yield await this.#tuple(thread, id, whole);
        left -= 1;
        if (left <= 0) return;
      }
    }
  }

  /** Stores a checkpoint, whose parent is that of the configuration, and returns its own. One of the same id is replaced. */
  async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ): Promise<RunnableConfig> {
    const { thread_id: thread, checkpoint_ns: ns = "", checkpoint_id: parent } = config.configurable ?? {};
    if (thread === undefined) throw new TypeError("A checkpoint is put with a `thread_id` in `configurable`.");
    const { channel_values: values, ...rest } = copyCheckpoint(checkpoint);
    const shown =
      this.#messages !== undefined && Object.hasOwn(newVersions, this.#messages) ? this.#messages : undefined;
    const content = shown === undefined ? undefined : contentOf(values[shown]);
    const put = { ns, id: checkpoint.id, parent, checkpoint: rest, values, metadata, newVersions, content };
    await this.#thread(thread, config).put(put);
    return configOf(thread, ns, checkpoint.id);
  }

  /** Stores what a task has written after a checkpoint, which may be stored later. */
  async putWrites(config: RunnableConfig, writes: PendingWrite[], taskId: string, taskPath = ""): Promise<void> {
    const { thread_id: thread, checkpoint_ns: ns = "", checkpoint_id: id } = config.configurable ?? {};
    if (thread === undefined || id === undefined) {
      throw new TypeError("Writes are put with a `thread_id` and a `checkpoint_id` in `configurable`.");
    }
    if (writes.length === 0) return;
    const indexed = writes.map(([channel, value], at): [number, string, unknown] => [
      INDEXES.get(channel as string) ?? at,
      channel as string,
      value,
    ]);
    await this.#thread(thread, config).putWrites(ns, id, taskId, taskPath, indexed);
  }

  /**
   * Returns what others have said in the thread since its graph ran: messages for the next input, in order, with the name of an agent before
   * what it says. They go before what is new: `{ messages: [...(await saver.others(config)), new HumanMessage(question)] }`.
   *
   * Their ids are made of those of the events, so a message that is given twice is there once (`addMessages`), and one that is among the
   * values of the latest checkpoint is not returned. No checkpoint is changed. `hasTool` says whether the graph has a tool of this name:
   * calls of all else are told as text. By default it has all.
   */
  async others(config: RunnableConfig, { hasTool }: Pick<Listener, "hasTool"> = {}): Promise<BaseMessage[]> {
    const { thread_id: id } = config.configurable ?? {};
    if (id === undefined) throw new TypeError("Words of others are those of a `thread_id` in `configurable`.");
    const thread = this.#thread(id, config);
    const messages = conversation(await thread.othersSince());
    if (messages.length === 0) return [];
    const values = (await thread.get("", undefined))?.values.values() ?? [];
    const known = new Set([...values].flat().map((value) => (isObject(value) ? value["id"] : undefined)));
    const told = messages.flatMap((message) => messagesOf(wordsOf(message, { hasTool, takesFile: isImage })));
    return told.filter((message) => !known.has(message.id));
  }

  /** Deletes the session of a thread, if there is one, with all that is in it. */
  async deleteThread(threadId: string): Promise<void> {
    await this.#thread(threadId).delete();
  }

  /**
   * Removes old checkpoints of threads. `keep_latest` keeps the latest of each namespace, and trims the log of the session to where the
   * oldest of these begins: what others have written before that place is gone, too. What lies between is not read again, and stays
   * in the log. It takes the role `operator`. `delete` deletes the threads.
   *
   * @throws InputError if a kept checkpoint has a `DeltaChannel`, whose values are made of earlier ones.
   */
  async prune(
    threadIds: readonly string[],
    { strategy = "keep_latest" }: { strategy?: "keep_latest" | "delete" | undefined } = {},
  ): Promise<void> {
    if (strategy !== "keep_latest" && strategy !== "delete") {
      throw new TypeError(`There is no strategy ${strategy}: there are keep_latest and delete.`);
    }
    for (const id of threadIds) {
      const thread = this.#thread(id);
      await (strategy === "delete" ? thread.delete() : thread.prune());
    }
  }

  /**
   * Returns a version that is larger than the current one, and that no other writer draws: a text, as in Python. LangGraph compares
   * texts as well as numbers, though its type of a checkpointer says numbers.
   */
  override getNextVersion(current: number | string | undefined): number {
    const number = Number.parseInt(String(current ?? 0), 10) + 1;
    return `${String(number).padStart(32, "0")}.${randomBytes(4).toString("hex")}` as unknown as number;
  }

  /** Closes the connections of its client, which can be used again. */
  close(): void {
    this.#client.close();
  }

  #userOf(config: RunnableConfig): string {
    return typeof this.#user === "string" ? this.#user : this.#user(config);
  }

  #thread(id: unknown, config: RunnableConfig = { configurable: { thread_id: id } }): Thread {
    // LangGraph's own savers take a number for its text.
    const session = this.#client.session(
      this.#app,
      this.#userOf(config),
      idOf(typeof id === "number" ? String(id) : id),
    );
    // Not kept: LangGraph may give a saver another serializer.
    return new Thread(this.#client, session, new Codec(this.serde), this.#memory, this.#digests);
  }

  async #tuple(thread: Thread, threadId: string, { found, values, writes }: Whole): Promise<CheckpointTuple> {
    const { ns, id, parent, checkpoint: kept = {}, metadata = {} } = found.said;
    const codec = new Codec(this.serde);
    const checkpoint: Checkpoint = {
      ...(await codec.unpack<Checkpoint>(kept)),
      channel_values: Object.fromEntries(values),
    };
    const before = parent ?? undefined;
    if (checkpoint.v < 4 && before !== undefined) {
      // What was sent to tasks is a channel, where checkpoints before version 4 have it.
      const sends = (await thread.writesOf(ns, before)).filter(([, channel]) => channel === TASKS);
      const versions = Object.values(checkpoint.channel_versions);
      checkpoint.channel_values[TASKS] = sends.map(([, , value]) => value);
      checkpoint.channel_versions[TASKS] =
        versions.length === 0 ? this.getNextVersion(undefined) : maxChannelVersion(...versions);
    }
    return {
      config: configOf(threadId, ns, id),
      checkpoint,
      metadata: await codec.unpack<CheckpointMetadata>(metadata),
      pendingWrites: writes,
      ...(before === undefined ? {} : { parentConfig: configOf(threadId, ns, before) }),
    };
  }
}

function isImage({ mimeType }: File): boolean {
  return mimeType.startsWith("image/");
}

/** Returns words of others as messages of LangChain: calls, and then their results. */
function messagesOf({ id, role, text, calls, files }: Words): BaseMessage[] {
  if (role === "user") {
    const images = files.map(({ url }) => ({ type: "image_url", image_url: { url } }));
    return [new HumanMessage({ id, content: images.length === 0 ? text : [{ type: "text", text }, ...images] })];
  }
  const called = calls.map(({ id: call, name, args }) => ({ id: call, name, args, type: "tool_call" as const }));
  const answered = calls.map(
    ({ id: call, name, result }, n) =>
      new ToolMessage({ id: `${id}:${n}`, tool_call_id: call, name, content: resultText(result) }),
  );
  return [new AIMessage({ id, content: text, tool_calls: called }), ...answered];
}

function configOf(thread: string, ns: string, id: string): RunnableConfig {
  return { configurable: { thread_id: thread, checkpoint_ns: ns, checkpoint_id: id } };
}
