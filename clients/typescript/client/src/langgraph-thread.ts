// A thread of LangGraph, which is a session: reading and writing its checkpoints.
import { createHash, randomUUID } from "node:crypto";
import { compareWritesSortKeys } from "@langchain/langgraph-checkpoint";
import type { Sessiond } from "./client.js";
import { AccessError, ConflictError, InputError, NotFoundError, SessiondError, StaleError } from "./errors.js";
import type { Actions, Content, NewEvent, StoredEvent } from "./events.js";
import { success } from "./http.js";
import { isObject, type JsonObject, put } from "./json.js";
import {
  ALL_KEYS,
  branchOf,
  CHECKPOINT,
  type Codec,
  checkChannels,
  DROP,
  digestOf,
  digestsIn,
  type Entry,
  entriesOf,
  type Found,
  fileDigest,
  filesIn,
  floorOf,
  folded,
  groupOf,
  hashed,
  headOf,
  keyOf,
  Packing,
  type Said,
  saidBy,
  WRITES,
  type Written,
} from "./langgraph-format.js";
import { all } from "./pages.js";
import { sessionPath } from "./paths.js";
import type { Session } from "./session.js";

// Events that are asked for at a time, of which each may have values.
const PAGE = 50;

// Changes of a key that are looked through for what a checkpoint has stored.
const CHANGES = 1000;

/** A checkpoint, the values of its channels, and what its tasks have written: task, channel and value. */
export interface Whole {
  found: Found;
  values: Map<string, unknown>;
  writes: [task: string, channel: string, value: unknown][];
}

/** Which checkpoints of a thread are listed. */
export interface Listed {
  /** Of this namespace; else of all. */
  ns?: string | undefined;
  /** Only those that were stored before this one. */
  before?: { ns: string; id: string } | undefined;
  limit?: number | undefined;
  /** Says whether metadata match. */
  matches?: ((metadata: JsonObject) => boolean) | undefined;
}

/** What is new in a checkpoint. */
export interface Put {
  ns: string;
  id: string;
  parent: string | undefined;
  /** Without the values of its channels. */
  checkpoint: JsonObject & { channel_versions: Record<string, unknown> };
  values: Record<string, unknown>;
  metadata: unknown;
  newVersions: Record<string, unknown>;
  content: Content | undefined;
}

/** The digests of a checkpoint, by channel, with the versions that they are of. */
export interface Digests {
  id: string;
  known: Map<string, { version: unknown; digest: string }>;
}

/** What this process knows of threads: a bounded number of things, of which the ones set first are forgotten. */
export class Memory<Value = string | number> {
  readonly #known = new Map<string, Value>();
  readonly #most: number;

  /** Begins empty. */
  constructor(most = 20_000) {
    this.#most = most;
  }

  /** Returns what was set. */
  get(name: string[]): Value | undefined {
    return this.#known.get(JSON.stringify(name));
  }

  /** Sets it; undefined forgets it. Of a thread that is forgotten, later lists read more than they need. */
  set(name: string[], value: Value | undefined): void {
    const key = JSON.stringify(name);
    this.#known.delete(key);
    if (value !== undefined) this.#known.set(key, value);
    for (const [oldest] of this.#known) {
      if (this.#known.size <= this.#most) break;
      this.#known.delete(oldest);
    }
  }
}

/** The checkpoints of a session. A session that is not there has none. */
export class Thread {
  readonly #client: Sessiond;
  readonly #session: Session;
  readonly #codec: Codec;
  readonly #memory: Memory;
  readonly #digests: Memory<Digests>;
  readonly #name: string[];

  /** Sends nothing. `memory` and `digests`, of the checkpoints that were seen last, are the same for all threads of a process. */
  constructor(client: Sessiond, session: Session, codec: Codec, memory: Memory, digests: Memory<Digests>) {
    this.#client = client;
    this.#session = session;
    this.#codec = codec;
    this.#memory = memory;
    this.#digests = digests;
    this.#name = [session.app, session.user, session.id];
  }

  /** Returns a checkpoint of a namespace; the latest, without an id. */
  async get(ns: string, id: string | undefined): Promise<Whole | undefined> {
    const read = await unlessNoThread(this.#read(ns, id));
    return read && (await this.#whole(read.found, read.entries, new Map()));
  }

  async #read(ns: string, id: string | undefined): Promise<{ found: Found; entries: Map<string, Entry> } | undefined> {
    const { found, known } = await this.#find(ns, id);
    if (found === undefined) return undefined;
    const versions = await this.#versions(found.said);
    this.#vouched(ns, found.said.id, versions, digestsIn(found.said));
    const delta = found.event.actions?.stateDelta ?? {};
    const state = { ...known, ...delta };
    const entries = entriesOf(state, ns, versions);
    const missing = Object.keys(versions).filter((channel) => !entries.has(channel));
    if (missing.length > 0) {
      const keys = missing.map((channel) => keyOf(ns, channel));
      const at = found.event.sequence;
      // They are listed in a query, with commas between them.
      const few = keys.join(",").length <= 2000 && keys.every((key) => !/[\s,]/.test(key));
      Object.assign(state, await this.#session.state(few ? { at, keys } : { at, prefix: keyOf(ns) }));
    }
    return { found, entries: await this.#trusted(found.event, versions, entriesOf(state, ns, versions), delta) };
  }

  /** Returns a checkpoint, and what is known of the state at it. */
  async #find(ns: string, asked: string | undefined): Promise<{ found?: Found | undefined; known: JsonObject }> {
    let before: string | undefined;
    for (;;) {
      let [id, known]: [string | undefined, JsonObject] = [asked, {}];
      if (id === undefined) {
        const state = await this.#session.state({ prefix: keyOf(ns) });
        const head = headOf(state, ns);
        if (head.isOwn) known = state;
        id = head.id;
        // One that was dropped meanwhile has given way to another.
        if (id === undefined || id === before) return { known };
      }
      const found = folded(await all(this.#session.events({ invocationId: groupOf(ns, id) })), compareWritesSortKeys);
      if (found !== undefined || asked !== undefined) {
        this.#saw(ns, id, this.#session.revision ?? 0);
        return { found, known };
      }
      before = id;
    }
  }

  /**
   * Stores a checkpoint, and makes it the latest of its namespace. After it the state has all of its values. If its parent is the latest
   * one, they are there but for the new ones.
   */
  async put({ ns, id, parent, checkpoint, values, metadata, newVersions, content }: Put): Promise<void> {
    const versions = { ...checkpoint.channel_versions, ...newVersions };
    checkChannels(versions);
    const said: Said = {
      ns,
      id,
      parent: parent ?? null,
      since: this.#writesSince(ns, id),
      checkpoint: await this.#codec.pack(checkpoint),
      metadata: await this.#codec.pack(metadata),
    };
    const known = parent === undefined ? new Map<string, never>() : await this.#digestsOf(ns, parent);
    const kept: Record<string, string> = {};
    for (const [channel, version] of Object.entries(versions)) {
      const of = known.get(channel);
      if (of !== undefined && of.version === version) put(kept, channel, of.digest);
    }
    const vouches = Object.keys(versions).every(
      (name) => Object.hasOwn(kept, name) || Object.hasOwn(newVersions, name),
    );
    const ways: { eventId: string; whole: boolean }[] = [
      { eventId: hashed(ns, id), whole: true },
      // There is another checkpoint of that id, which this one replaces.
      { eventId: randomUUID(), whole: true },
    ];
    if (parent !== undefined && vouches) ways.unshift({ eventId: hashed(ns, id, "next"), whole: false });
    for (const [n, { eventId, whole }] of ways.entries()) {
      const isLast = n === ways.length - 1;
      const packing = new Packing(this.#codec, ns, content);
      const stateDelta: JsonObject = { [keyOf(ns)]: id };
      const digests = { ...kept };
      for (const [channel, v] of Object.entries(whole ? versions : newVersions)) {
        // Without a parent, what is new is all that there is.
        const has = Object.hasOwn(values, channel) && (parent !== undefined || Object.hasOwn(newVersions, channel));
        const entry = has ? await packing.pack(values[channel], channel, v) : { none: true };
        const stored = { v, ...entry };
        stateDelta[keyOf(ns, channel)] = stored;
        put(digests, channel, digestOf(ns, channel, stored));
      }
      const preconditions = whole ? {} : { preconditions: [{ key: keyOf(ns), equals: parent }] };
      const actions = { stateDelta, ...preconditions };
      try {
        const event = { ...this.#event(CHECKPOINT, ns, id, eventId, { ...said, digests }, actions), content };
        const { sequence, replayed } = await this.#append(event, packing);
        if (replayed && !isLast && !(await this.#isLatest(ns, id, eventId))) continue;
        this.#memory.set([...this.#name, ns, id], undefined);
        this.#saw(ns, id, sequence);
        this.#vouched(ns, id, versions, digests);
        return;
      } catch (error) {
        if (isLast || !(error instanceof StaleError || error instanceof ConflictError)) throw error;
      }
    }
  }

  /** Whether no other checkpoint of that id was stored since. */
  async #isLatest(ns: string, id: string, eventId: string): Promise<boolean> {
    const events = this.#session.events({ invocationId: groupOf(ns, id), author: CHECKPOINT, last: 1 });
    return (await all(events))[0]?.id === eventId;
  }

  /** Stores what a task has written after a checkpoint. */
  async putWrites(
    ns: string,
    id: string,
    task: string,
    path: string,
    writes: [index: number, channel: string, value: unknown][],
  ): Promise<void> {
    if (this.#memory.get([...this.#name, ns]) !== id) this.#writesSince(ns, id);
    const packing = new Packing(this.#codec, ns);
    const written: Written[] = [];
    for (const [index, channel, value] of writes) {
      written.push([index, channel, await packing.pack(value, channel, id)]);
    }
    const eventId = hashed(ns, id, task, path, JSON.stringify(written));
    const event = this.#event(WRITES, ns, id, eventId, { ns, id, task, path, writes: written });
    try {
      this.#memory.set(this.#name, (await this.#append(event, packing)).sequence);
    } catch (error) {
      // The same, of other versions of files that have the same bytes.
      if (!(error instanceof ConflictError)) throw error;
    }
  }

  /** Yields checkpoints, latest first: in the order in which they were stored. */
  async *list(listed: Listed): AsyncGenerator<Whole> {
    try {
      yield* this.#list(listed);
    } catch (error) {
      if (!isNoThread(error)) throw error;
    }
  }

  async *#list({ ns, before, limit, matches }: Listed): AsyncGenerator<Whole> {
    const branch = ns === undefined ? undefined : branchOf(ns);
    const bound = before && (await this.#sequenceOf(before.ns, before.id));
    const dropped = await this.#dropped(branch);
    const oneByOne = bound !== undefined && limit !== undefined && limit <= 10;
    const writes = new Writes(this.#session, branch, oneByOne);
    const most = Math.min(limit ?? PAGE, PAGE);
    const pageSize = Math.max(most, matches === undefined ? 1 : 10);
    const seen = new Set<string>();
    let left = limit ?? Number.POSITIVE_INFINITY;
    let page: StoredEvent[] = [];
    const events = this.#session.events({ author: CHECKPOINT, branch, before: bound, order: "desc", pageSize });
    for (let ended = false; !ended && left > 0; page = []) {
      while (page.length < most && !ended) {
        const { done, value } = await events.next();
        if (done === true) ended = true;
        else page.push(value);
      }
      const wanted: StoredEvent[] = [];
      for (const event of page) {
        const [said, group] = [saidBy(event), event.invocationId ?? ""];
        if (said === undefined || seen.has(group)) continue;
        seen.add(group);
        if ((dropped.get(group) ?? 0) > event.sequence) continue;
        if (before !== undefined && bound === undefined && said.id >= before.id) continue;
        if (matches?.(await this.#codec.unpack(said.metadata ?? {})) === false) continue;
        if (wanted.length < left) wanted.push(event);
      }
      if (wanted.length === 0) continue;
      left -= wanted.length;
      const states = await this.#states(page, wanted, ns === undefined ? ALL_KEYS : keyOf(ns));
      await writes.read(wanted);
      const files = new Map<string, Uint8Array>();
      for (const event of wanted) {
        const found = folded([...writes.of(event, dropped), event], compareWritesSortKeys);
        const entries = states.get(event.sequence);
        if (found !== undefined && entries !== undefined) yield await this.#whole(found, entries, files);
      }
    }
  }

  /** Returns the channels of checkpoints, by their number: from the state at the first, and what those of the page set. */
  async #states(page: StoredEvent[], wanted: StoredEvent[], prefix: string): Promise<Map<number, Map<string, Entry>>> {
    const first = wanted.at(-1)?.sequence ?? 0;
    const state = await this.#session.state({ at: first, prefix });
    const asked = new Set(wanted.map(({ sequence }) => sequence));
    const states = new Map<number, Map<string, Entry>>();
    const told: JsonObject = {};
    for (const event of page.toReversed()) {
      const said = saidBy(event);
      if (event.sequence < first) continue;
      for (const [key, value] of Object.entries(event.actions?.stateDelta ?? {})) put(told, key, value);
      if (said === undefined || !asked.has(event.sequence)) continue;
      const versions = await this.#versions(said);
      const entries = entriesOf({ ...state, ...told }, said.ns, versions);
      states.set(event.sequence, await this.#trusted(event, versions, entries, told));
    }
    return states;
  }

  /**
   * Returns the entries of a checkpoint's channels that a checkpoint has stored, in the place of all others. Who may change the state may
   * be anybody. The author of events is protected: so what these say, in `told`, is believed, and of the rest of the state what has the
   * digest that the checkpoint has of it.
   *
   * @throws SessiondError if somebody else has written a value, and the log does not have the one that was there.
   */
  async #trusted(
    event: StoredEvent,
    versions: Record<string, unknown>,
    entries: Map<string, Entry>,
    told: JsonObject,
  ): Promise<Map<string, Entry>> {
    const said = saidBy(event);
    const trusted = new Map<string, Entry>();
    if (said === undefined) return trusted;
    const digests = digestsIn(said);
    for (const [channel, version] of Object.entries(versions)) {
      const entry = entries.get(channel);
      const key = keyOf(said.ns, channel);
      if (entry === undefined && !Object.hasOwn(digests, channel)) continue;
      const isTold = entry !== undefined && Object.hasOwn(told, key) && told[key] === entry;
      const isVouchedFor = entry !== undefined && digestOf(said.ns, channel, entry) === digests[channel];
      trusted.set(channel, isTold || isVouchedFor ? entry : await this.#logged(event, key, version));
    }
    return trusted;
  }

  /** Returns what a checkpoint, up to this one, has stored under a key. */
  async #logged(event: StoredEvent, key: string, version: unknown): Promise<Entry> {
    let count = 0;
    try {
      for await (const { revision, by, value } of this.#session.stateHistory(key, { pageSize: 100 })) {
        const isOurs = revision <= event.sequence && by?.author === CHECKPOINT;
        if (isOurs && isObject(value) && value["v"] === version) return value;
        count += 1;
        if (count === CHANGES) break;
      }
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
    }
    throw new SessiondError(
      `The key ${key} of the session ${this.#session.id} does not have what LangGraph's checkpoint has stored, and neither ` +
        "does the log: somebody else has written it, or a version of this package without digests.",
    );
  }

  /** Returns what was written for a checkpoint, if there is one: task, channel and value. */
  async writesOf(ns: string, id: string): Promise<Whole["writes"]> {
    const found = folded(await all(this.#session.events({ invocationId: groupOf(ns, id) })), compareWritesSortKeys);
    return found === undefined ? [] : (await this.#whole(found, new Map(), new Map())).writes;
  }

  /** Returns what others have appended since the end of the run before the last one; by what the last one was told, it may be known. */
  async othersSince(): Promise<StoredEvent[]> {
    return (await unlessNoThread(this.#othersSince())) ?? [];
  }

  async #othersSince(): Promise<StoredEvent[]> {
    const events: StoredEvent[] = [];
    let isBefore = false;
    for await (const event of this.#session.events({ effective: true, order: "desc", pageSize: PAGE })) {
      const said = saidBy(event);
      if (event.author === CHECKPOINT && said?.ns === "") {
        if (isBefore) break;
        const { source } = await this.#codec.unpack<JsonObject>(said.metadata ?? {});
        isBefore = source === "input";
      } else if (![CHECKPOINT, WRITES, DROP].includes(event.author)) events.push(event);
    }
    return events.reverse();
  }

  /** Deletes the session, if there is one. */
  async delete(): Promise<void> {
    this.#memory.set(this.#name, undefined);
    await this.#session.delete();
  }

  /** Removes all but the latest checkpoint of each namespace, and what is before them in the log. */
  async prune(): Promise<void> {
    await unlessNoThread(this.#prune());
  }

  async #prune(): Promise<void> {
    const dropped = await this.#dropped(undefined);
    const live = new Map<string, { event: StoredEvent; said: Said }>();
    for await (const event of this.#session.events({ author: CHECKPOINT, order: "desc", pageSize: PAGE })) {
      const [said, group] = [saidBy(event), event.invocationId ?? ""];
      if (said === undefined || live.has(group) || (dropped.get(group) ?? 0) > event.sequence) continue;
      live.set(group, { event, said });
    }
    const kept = new Map<string, StoredEvent>();
    for (const { event, said } of live.values()) if (!kept.has(said.ns)) kept.set(said.ns, event);
    if (kept.size === 0) return;
    for (const event of kept.values()) {
      const metadata = await this.#codec.unpack<JsonObject>(saidBy(event)?.metadata ?? {});
      if (metadata["counters_since_delta_snapshot"] === undefined) continue;
      throw new InputError(
        "The thread has a DeltaChannel, whose values are made of earlier checkpoints: it cannot be pruned.",
        { outcome: "not_applied" },
      );
    }
    const latest = new Set([...kept.values()].map(({ sequence }) => sequence));
    const bound = Math.min(...[...kept.values()].map(floorOf)) + 1;
    const gone = [...live.values()].filter(({ event: { sequence } }) => sequence >= bound && !latest.has(sequence));
    const files = await this.#filesOfOthers(new Set([...kept.values()].map(({ invocationId = "" }) => invocationId)));
    // What lies between is not read again. The heads stay: none of those that are kept.
    const drops = gone.map(({ said: { ns, id } }) => this.#event(DROP, ns, id, randomUUID(), { ns, id }));
    for (let n = 0; n < drops.length; n += 500) await this.#session.append(drops.slice(n, n + 500));
    try {
      if (bound > 1) await this.#session.trim({ before: bound });
    } catch (error) {
      if (error instanceof AccessError) error.message += " To prune a thread takes the role operator.";
      throw error;
    }
    for (const name of files) await this.#session.artifacts.delete(name);
  }

  /** Returns the names of the files that only checkpoints have which are not kept. */
  async #filesOfOthers(groups: Set<string>): Promise<Set<string>> {
    const names = new Set<string>();
    for await (const { name } of this.#session.artifacts.list({ prefix: ALL_KEYS })) names.add(name);
    if (names.size === 0) return names;
    for (const name of filesIn(Object.values(await this.#session.state({ prefix: ALL_KEYS })))) names.delete(name);
    for (const group of groups) {
      for await (const event of this.#session.events({ author: WRITES, invocationId: group })) {
        for (const name of filesIn((saidBy(event)?.writes ?? []).map(([, , entry]) => entry))) names.delete(name);
      }
    }
    return names;
  }

  /** Returns what was dropped last at which number: what is before it is gone. */
  async #dropped(branch: string | undefined): Promise<Map<string, number>> {
    const events = await all(this.#session.events({ author: DROP, branch }));
    return new Map(events.map(({ invocationId = "", sequence }) => [invocationId, sequence]));
  }

  async #sequenceOf(ns: string, id: string): Promise<number | undefined> {
    const events = this.#session.events({ invocationId: groupOf(ns, id), author: CHECKPOINT, last: 1 });
    return (await all(events))[0]?.sequence;
  }

  #event(author: string, ns: string, id: string, eventId: string, said: Said, actions?: Actions): NewEvent {
    const names = { invocationId: groupOf(ns, id), branch: branchOf(ns) };
    return { id: eventId, author, ...names, customMetadata: { langgraph: { ...said } }, actions };
  }

  /** Appends an event; before it, what is too large for it is saved. Says whether the session had it already. */
  async #append(event: NewEvent, packing: Packing): Promise<{ sequence: number; replayed: boolean }> {
    let body = event;
    if (packing.files.size > 0) {
      const artifactDelta: Record<string, number> = {};
      for (const [name, bytes] of packing.files) artifactDelta[name] = await this.#save(name, bytes);
      // By this, a copy of the session has the files, too.
      body = { ...event, actions: { ...event.actions, artifactDelta } };
    }
    const { app, user, id } = this.#session;
    const query = { create: "true" };
    const reply = await this.#client.http.send("POST", `${sessionPath(app, user, id)}/events`, { body, query });
    return {
      sequence: Number(success(reply)["sequence"]),
      replayed: reply.headers["idempotent-replayed"] !== undefined,
    };
  }

  /** Saves a file, if there is none of that name that has these bytes; and returns its version. */
  async #save(name: string, bytes: Uint8Array): Promise<number> {
    const { artifacts } = this.#session;
    const sha256 = sha256Of(bytes);
    for (let times = 0; times < 2; times += 1) {
      try {
        return (await artifacts.save(name, bytes, { event: "none", ifVersion: null })).version;
      } catch (error) {
        if (error instanceof NotFoundError) await this.#session.create({ existOk: true });
        else if (!(error instanceof StaleError)) throw error;
        else {
          for await (const one of artifacts.versions(name)) if (one.sha256 === sha256) return one.version;
          break;
        }
      }
    }
    return (await artifacts.save(name, bytes, { event: "none" })).version;
  }

  async #versions({ checkpoint = {} }: Said): Promise<Record<string, unknown>> {
    return (await this.#codec.unpack<{ channel_versions: Record<string, unknown> }>(checkpoint)).channel_versions;
  }

  async #whole(found: Found, entries: Map<string, Entry>, files: Map<string, Uint8Array>): Promise<Whole> {
    const { ns, id } = found.said;
    const values = new Map<string, unknown>();
    for (const [channel, entry] of entries) {
      if (!("none" in entry)) values.set(channel, await this.#value(entry, files, [ns, channel, entry["v"]]));
    }
    const writes: Whole["writes"] = [];
    for (const [task, channel, entry] of found.writes) {
      writes.push([task, channel, await this.#value(entry, files, [ns, channel, id])]);
    }
    return { found, values, writes };
  }

  /** Returns the value of an entry; a file that it needs is read, and kept in `files`. */
  async #value(
    entry: Entry,
    files: Map<string, Uint8Array>,
    [ns, channel, version]: [ns: string, channel: string, version: unknown],
  ): Promise<unknown> {
    if (!("artifact" in entry)) return await this.#codec.unpack(entry);
    const name = String(entry["artifact"]);
    const fits = (sha256: string): boolean =>
      name.endsWith(`@${fileDigest(ns, channel, version, String(entry["t"]), sha256)}`);
    const bytes = files.get(name) ?? (await this.#file(name, fits));
    files.set(name, bytes);
    return await this.#codec.unpack(entry, bytes);
  }

  /** Returns the bytes of a file: of the latest version that has those of its name, whoever has saved others. */
  async #file(name: string, fits: (sha256: string) => boolean): Promise<Uint8Array> {
    const { artifacts } = this.#session;
    const latest = new Uint8Array(await (await artifacts.get(name)).bytes());
    if (fits(sha256Of(latest))) return latest;
    for await (const { version, sha256 } of artifacts.versions(name)) {
      if (sha256 === undefined || !fits(sha256)) continue;
      const bytes = new Uint8Array(await (await artifacts.get(name, { version })).bytes());
      if (fits(sha256Of(bytes))) return bytes;
    }
    throw new SessiondError(`The file ${name} of the session ${this.#session.id} is not the one that its name says.`);
  }

  /** Remembers the digests of the latest checkpoint, with the versions that they are of. */
  #vouched(ns: string, id: string, versions: Record<string, unknown>, digests: Record<string, string>): void {
    const known: Digests["known"] = new Map();
    for (const [channel, digest] of Object.entries(digests)) {
      if (Object.hasOwn(versions, channel)) known.set(channel, { version: versions[channel], digest });
    }
    this.#digests.set([...this.#name, ns], { id, known });
  }

  /** Returns them; those of a checkpoint that this process has not seen last, from its event. */
  async #digestsOf(ns: string, id: string): Promise<Digests["known"]> {
    const name = [...this.#name, ns];
    if (this.#digests.get(name)?.id !== id) {
      const events = this.#session.events({ invocationId: groupOf(ns, id), author: CHECKPOINT, last: 1 });
      const said = ((await unlessNoThread(all(events))) ?? []).map(saidBy)[0];
      if (said !== undefined) this.#vouched(ns, id, await this.#versions(said), digestsIn(said));
    }
    const seen = this.#digests.get(name);
    return seen?.id === id ? seen.known : new Map();
  }

  // LangGraph stores a checkpoint while its tasks run already: what they write may come before it in the log, by as many events as the
  // server is behind. So the event of a checkpoint says behind which number all is that was written for it: the last one that this
  // process had seen when it sent the first of it.

  #saw(ns: string, id: string, revision: number): void {
    this.#memory.set(this.#name, revision);
    this.#memory.set([...this.#name, ns], id);
  }

  #writesSince(ns: string, id: string): number {
    const name = [...this.#name, ns, id];
    const since = Number(this.#memory.get(name) ?? this.#memory.get(this.#name) ?? 0);
    this.#memory.set(name, since);
    return since;
  }
}

/** What was written for checkpoints, which are asked for in the order of the log, backwards. */
class Writes {
  readonly #session: Session;
  readonly #branch: string | undefined;
  readonly #oneByOne: boolean;
  readonly #of = new Map<string, StoredEvent[]>();
  #behind: number | undefined;

  constructor(session: Session, branch: string | undefined, oneByOne: boolean) {
    this.#session = session;
    this.#branch = branch;
    this.#oneByOne = oneByOne;
  }

  /** Reads those of some checkpoints: one by one, or all since the first of them was stored. */
  async read(checkpoints: StoredEvent[]): Promise<void> {
    if (this.#oneByOne) {
      for (const { invocationId } of checkpoints) await this.#take({ invocationId });
      return;
    }
    const floor = Math.min(...checkpoints.map(floorOf));
    if (this.#behind !== undefined && this.#behind <= floor) return;
    const before = this.#behind === undefined ? undefined : this.#behind + 1;
    await this.#take({ branch: this.#branch, after: floor, before });
    this.#behind = floor;
  }

  async #take(query: {
    invocationId?: string | undefined;
    branch?: string | undefined;
    after?: number;
    before?: number | undefined;
  }): Promise<void> {
    for await (const event of this.#session.events({ ...query, author: WRITES, order: "desc" })) {
      const group = event.invocationId ?? "";
      this.#of.set(group, [...(this.#of.get(group) ?? []), event]);
    }
  }

  /** Returns those of a checkpoint, in the order of the log, and forgets them. */
  of({ invocationId: group = "" }: StoredEvent, dropped: Map<string, number>): StoredEvent[] {
    const events = this.#of.get(group) ?? [];
    this.#of.delete(group);
    return events.filter(({ sequence }) => sequence > (dropped.get(group) ?? 0)).reverse();
  }
}

function sha256Of(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** Whether there is no such session; a file that is gone is something else. */
function isNoThread(error: unknown): boolean {
  return error instanceof NotFoundError && error.code === "session_not_found";
}

async function unlessNoThread<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (isNoThread(error)) return undefined;
    throw error;
  }
}
