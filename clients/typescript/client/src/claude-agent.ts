/**
 * Keeps the transcripts of the Claude Agent SDK in sessiond, so that any machine resumes what another one began.
 *
 * ```ts
 * const sessionStore = new SessiondStore({ app: "cafe" });
 * for await (const message of query({ prompt, options: { sessionStore, resume: sessionId } })) { … }
 * ```
 */
import { createHash, randomUUID } from "node:crypto";
import type { Sessiond } from "./client.js";
import { conversation } from "./conversation.js";
import { ConflictError, InputError, NotFoundError, StaleError } from "./errors.js";
import type { Content, NewEvent, Part, StoredEvent } from "./events.js";
import { isObject, type JsonObject } from "./json.js";
import { batches, said, withFiles } from "./kept.js";
import { told } from "./others.js";
import { all } from "./pages.js";
import type { Session } from "./session.js";
import { clientOf, digest, idOf, objectOf, packed, readable, shown, textPart, type Where } from "./verbatim.js";

/** Which transcript: the main one of a session, or, with a subpath, one of a subagent. */
export interface SessionKey {
  projectKey: string;
  sessionId: string;
  subpath?: string;
}

/** A line of a transcript. */
export interface SessionStoreEntry {
  type: string;
  uuid?: string;
  timestamp?: string;
  [field: string]: unknown;
}

/** What a list of sessions shows of one. */
export interface SessionSummaryEntry {
  sessionId: string;
  mtime: number;
  data: Record<string, unknown>;
}

/** Of the SDK: takes entries into a summary. */
export type FoldSessionSummary = (
  prev: SessionSummaryEntry | undefined,
  key: SessionKey,
  entries: SessionStoreEntry[],
) => SessionSummaryEntry;

/** How transcripts are kept. */
export interface SessiondStoreOptions {
  /** The app in sessiond. */
  app: string;
  /** Where sessiond is: by default at the variable `SESSIOND_URL`, or `http://127.0.0.1:8080`. */
  client?: Where | undefined;
  /** The user in sessiond of a project: by default the key of the project. */
  user?: ((projectKey: string) => string) | undefined;
  /**
   * Whether a transcript that is empty begins with what agents of other frameworks and their users have said in the session by then, as one
   * message. What they say later is not told.
   */
  others?: boolean | undefined;
  /** The SDK's `foldSessionSummary`: by default that of the package `@anthropic-ai/claude-agent-sdk`. */
  foldSessionSummary?: FoldSessionSummary | undefined;
}

/** What this process knows of a session. */
interface Known {
  summary: JsonObject | undefined;
  revision: number;
}

const SUMMARY = "claude/summary";
const SUB = "claude/sub/";
const MAIN = "main";
// What the names of the files begin with that are entries which are too large for an event.
const FILES = "claude/";
const MOST_KNOWN = 1000;
// Characters of a text of a summary: it is written with each call.
const LONG = 10_000;

/**
 * A session store of the Claude Agent SDK on sessiond. A session there is one here, an entry is an event with the entry as it is, and
 * with what was said as the content of the event, so that the console and other agents read it.
 *
 * An entry with a `uuid` is stored once, whoever appends it again; without one, it is stored once for each call. When `append` is
 * fulfilled, the entries are on disk.
 */
export class SessiondStore {
  readonly #client: Sessiond;
  readonly #app: string;
  readonly #user: (projectKey: string) => string;
  readonly #others: boolean;
  #fold: FoldSessionSummary | undefined;
  // The last append to a session, after which the next one may begin: entries are stored in the order of the calls.
  readonly #last = new Map<string, Promise<void>>();
  readonly #known = new Map<string, Known>();
  // Of entries without a `uuid`: the SDK appends the same objects again after a failure.
  readonly #drawn = new WeakMap<SessionStoreEntry, string>();

  /** Opens no connection yet. */
  constructor(options: SessiondStoreOptions) {
    this.#client = clientOf(options.client);
    this.#app = options.app;
    this.#user = options.user ?? ((projectKey) => projectKey);
    this.#others = options.others ?? false;
    this.#fold = options.foldSessionSummary;
  }

  /**
   * Stores entries, in order, and with those of the main transcript the summary of the session. More than 500 of them, or 4 MiB, are several
   * transactions. An entry that is too large for an event is a file of the session, which the event names.
   *
   * @throws InputError if entries were refused: it says which. All others are stored.
   */
  async append(key: SessionKey, entries: SessionStoreEntry[]): Promise<void> {
    const name = JSON.stringify([key.projectKey, key.sessionId]);
    const before = this.#last.get(name) ?? Promise.resolve();
    const mine = before.then(() => this.#append(name, key, entries));
    const settled = mine.catch(() => {});
    this.#last.set(name, settled);
    try {
      await mine;
    } finally {
      if (this.#last.get(name) === settled) this.#last.delete(name);
    }
  }

  async #append(name: string, key: SessionKey, entries: SessionStoreEntry[]): Promise<void> {
    const session = this.#session(key);
    const refused: [SessionStoreEntry, InputError][] = [];
    const ready: [SessionStoreEntry, NewEvent][] = [];
    const firstId = firstIdOf(session.id);
    for (const entry of entries) {
      if (entry.uuid === firstId) continue;
      try {
        const events = await withFiles(this.#client, session, [this.#event(key, entry)], FILES);
        for (const event of events) ready.push([entry, event]);
      } catch (error) {
        if (!(error instanceof InputError)) throw error;
        refused.push([entry, error]);
      }
    }
    for (const batch of batches(ready, ([, event]) => event))
      refused.push(...(await this.#store(name, session, key, batch)));
    const [first] = refused;
    if (first === undefined) return;
    // The SDK drops what it cannot store, and goes on: what it can is here by then.
    const which = refused.map(([{ type, uuid = "without uuid" }, error]) => `${type} ${uuid}: ${error.message}`);
    const message = `${refused.length} of ${entries.length} entries are not stored, the others are: ${which.join("; ")}`;
    const { status, code, outcome, requestId } = first[1];
    throw new InputError(message, { status, code, outcome, requestId, cause: first[1] });
  }

  /** Stores entries, at once or, if that is refused, one by one; returns those that are refused. */
  async #store(
    name: string,
    session: Session,
    key: SessionKey,
    batch: [SessionStoreEntry, NewEvent][],
  ): Promise<[SessionStoreEntry, InputError][]> {
    try {
      if (key.subpath === undefined) await this.#withSummary(name, session, key, batch);
      else
        await stored(
          session,
          batch.map(([, event]) => event),
        );
      return [];
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      const [[entry] = []] = batch;
      if (batch.length === 1 && entry !== undefined) return [[entry, error]];
    }
    const refused: [SessionStoreEntry, InputError][] = [];
    for (const one of batch) refused.push(...(await this.#store(name, session, key, [one])));
    return refused;
  }

  /** Stores a batch, and the summary in the same transaction: so two processes lose none of each other's. */
  async #withSummary(
    name: string,
    session: Session,
    key: SessionKey,
    batch: [SessionStoreEntry, NewEvent][],
  ): Promise<void> {
    const [entries, events] = [batch.map(([entry]) => entry), batch.map(([, event]) => event)];
    this.#fold ??= await sdksFold();
    for (;;) {
      const known = this.#known.get(name) ?? (await read(session));
      const { projectKey, sessionId } = key;
      const prev = known.summary && { sessionId, mtime: 0, data: known.summary };
      const folded = Object.entries(this.#fold(prev, { projectKey, sessionId }, entries).data);
      const short = folded.map(([field, value]) => [field, typeof value === "string" ? value.slice(0, LONG) : value]);
      const data = readable(Object.fromEntries(short)) as JsonObject;
      // An event of its own, so that those of the entries are the same whenever they are appended.
      const summary = { id: randomUUID(), author: "claude", actions: { stateDelta: { [SUMMARY]: data } } };
      try {
        await stored(session, [...events, summary], known.revision);
      } catch (error) {
        this.#known.delete(name);
        if (error instanceof StaleError) continue;
        throw error;
      }
      this.#known.delete(name);
      this.#known.set(name, { summary: data, revision: session.revision ?? 0 });
      for (const [oldest] of this.#known) {
        if (this.#known.size <= MOST_KNOWN) break;
        this.#known.delete(oldest);
      }
      return;
    }
  }

  /** Returns the entries of a transcript in order; null if there is none. */
  async load(key: SessionKey): Promise<SessionStoreEntry[] | null> {
    let entries: SessionStoreEntry[] = [];
    let before: number | undefined;
    const session = this.#session(key);
    try {
      for await (const event of session.events({ branch: key.subpath ?? MAIN })) {
        const { claude } = isObject(event.customMetadata) ? event.customMetadata : {};
        const entry = await said(session, event, "claude", "entry", isUsersOwn);
        if (event.author !== "user" && isObject(claude) && claude["deleted"] === true) entries = [];
        else if (entry !== undefined) {
          entries.push(entry as SessionStoreEntry);
          before ??= event.sequence;
        }
      }
      const [first] = entries;
      const begins = first === undefined || first["parentUuid"] === firstIdOf(session.id);
      if (this.#others && begins && key.subpath === undefined) {
        const events = await all(session.events({ effective: true, before, pageSize: 1000 }));
        entries = [...firstEntry(session.id, events), ...entries];
      }
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
    }
    return entries.length === 0 ? null : entries;
  }

  /** Returns the sessions of a project that have a main transcript, and when they were last changed, in milliseconds. */
  async listSessions(projectKey: string): Promise<{ sessionId: string; mtime: number }[]> {
    return (await this.listSessionSummaries(projectKey)).map(({ sessionId, mtime }) => ({ sessionId, mtime }));
  }

  /** Returns the summaries of the sessions of a project. */
  async listSessionSummaries(projectKey: string): Promise<SessionSummaryEntry[]> {
    const found: SessionSummaryEntry[] = [];
    const options = { includeState: true } as const;
    for await (const session of this.#client.sessions(this.#app, this.#user(projectKey), options)) {
      const data = session.state[SUMMARY];
      if (!isObject(data)) continue;
      found.push({ sessionId: session.id, mtime: Math.floor(session.lastUpdateTime * 1000), data });
    }
    return found;
  }

  /**
   * Deletes a session with all its transcripts, or the transcript of a subagent, whose entries stay in the log and are not read any
   * more, nor stored again under the same `uuid`.
   */
  async delete(key: SessionKey): Promise<void> {
    const session = this.#session(key);
    const { subpath } = key;
    if (subpath === undefined) {
      await session.delete();
      return;
    }
    const operation = { op: "remove", key: SUB + subpath } as const;
    const event = { author: "claude", branch: subpath, customMetadata: { claude: { deleted: true } } };
    await session.append({ ...event, actions: { stateOps: [operation] } }).catch((error: unknown) => {
      if (!(error instanceof NotFoundError)) throw error;
    });
  }

  /** Returns the subpaths of a session. */
  async listSubkeys(key: { projectKey: string; sessionId: string }): Promise<string[]> {
    const state = await this.#session(key)
      .state({ scope: "session" })
      .catch((error: unknown) => {
        if (error instanceof NotFoundError) return {};
        throw error;
      });
    return Object.keys(state).flatMap((name) => (name.startsWith(SUB) ? [name.slice(SUB.length)] : []));
  }

  /** Closes the connections of its client, which can be used again. */
  close(): void {
    this.#client.close();
  }

  #session({ projectKey, sessionId }: SessionKey): Session {
    return this.#client.session(this.#app, this.#user(projectKey), idOf(sessionId));
  }

  /** Returns the event of an entry, the same for the same entry. */
  #event({ subpath }: SessionKey, entry: SessionStoreEntry): NewEvent {
    let id = entry.uuid ?? this.#drawn.get(entry);
    if (id === undefined) {
      id = randomUUID();
      this.#drawn.set(entry, id);
    }
    return {
      id: subpath === undefined ? id : `${id}/${digest(subpath)}`,
      author: isUsersOwn(entry) ? "user" : "claude",
      branch: subpath ?? MAIN,
      content: contentOf(entry),
      customMetadata: { claude: packed(entry, "entry") },
      ...(subpath === undefined ? {} : { actions: { stateDelta: { [SUB + subpath]: true } } }),
    };
  }
}

/** Stores events, which make the session if there is none. Of those that are there already with another content, nothing changes. */
async function stored(session: Session, events: NewEvent[], ifRevision?: number): Promise<void> {
  try {
    await session.append(events, { ifRevision, create: true });
  } catch (error) {
    if (!(error instanceof ConflictError)) throw error;
    for (const event of events) {
      await session.append(event, { create: true }).catch((other: unknown) => {
        if (!(other instanceof ConflictError)) throw other;
      });
    }
  }
}

async function read(session: Session): Promise<Known> {
  try {
    const summary = await session.state(SUMMARY);
    return { summary: isObject(summary) ? summary : undefined, revision: session.revision ?? 0 };
  } catch (error) {
    if (error instanceof NotFoundError) return { summary: undefined, revision: 0 };
    throw error;
  }
}

/**
 * Returns the `uuid` of the entry that has what others have said before a transcript began. It is not stored: the entry behind it names it as
 * its parent. It is the same in Python: a UUID of version 5, of the name `sessiond:ID` as a URL.
 */
function firstIdOf(sessionId: string): string {
  const hash = createHash("sha1")
    .update("6ba7b8119dad11d180b400c04fd430c8", "hex")
    .update(`sessiond:${sessionId}`)
    .digest();
  hash.writeUInt8((hash.readUInt8(6) & 0x0f) | 0x50, 6);
  hash.writeUInt8((hash.readUInt8(8) & 0x3f) | 0x80, 8);
  return hash.toString("hex", 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/**
 * Returns that entry; none if others have said nothing. It is a message of the user, with a line for each that was said: what begins a line is
 * who said it.
 */
function firstEntry(sessionId: string, events: StoredEvent[]): SessionStoreEntry[] {
  const others = events.filter((event) => !isOwn(event));
  const words = told(conversation(others), { hasTool: () => false, takesFile: () => false });
  const last = others.at(-1);
  if (words.length === 0 || last === undefined) return [];
  const lines = words.map(({ role, text }) => (role === "user" ? "user: " : "") + text.replaceAll("\n", "\n  "));
  const text = `What was said in this conversation before:\n\n${lines.join("\n")}`;
  return [
    {
      type: "user",
      uuid: firstIdOf(sessionId),
      parentUuid: null,
      sessionId,
      isSidechain: false,
      timestamp: new Date(last.timestamp * 1000).toISOString(),
      message: { role: "user", content: [{ type: "text", text }] },
    },
  ];
}

function isOwn({ author, customMetadata }: StoredEvent): boolean {
  return author === "claude" || (isObject(customMetadata) && "claude" in customMetadata);
}

/** Whether the user says an entry: a prompt. What a tool answers, the SDK has as an entry of the user, and others as one of the agent. */
function isUsersOwn(entry: unknown): boolean {
  if (!isObject(entry) || entry["type"] !== "user" || "toolUseResult" in entry || !isObject(entry["message"]))
    return false;
  const { role, content } = entry["message"];
  const isPrompt = (block: unknown): boolean =>
    isObject(block) && ["text", "image", "document"].includes(String(block["type"]));
  return role === "user" && (typeof content === "string" || (Array.isArray(content) && content.every(isPrompt)));
}

/** Returns what an entry says as a content that other readers know; undefined if it says nothing. */
function contentOf({ type, message }: SessionStoreEntry): Content | undefined {
  if ((type !== "user" && type !== "assistant") || !isObject(message)) return undefined;
  const { content } = message;
  const blocks =
    typeof content === "string" ? [{ type: "text", text: content }] : Array.isArray(content) ? content : [];
  const parts = blocks.flatMap((block: unknown) => (isObject(block) ? [partOf(block)] : []));
  return shown(type === "user" ? "user" : "model", parts);
}

function partOf(block: JsonObject): Part {
  const said = (field: string): string => (typeof block[field] === "string" ? block[field] : "");
  switch (block["type"]) {
    case "text":
      return textPart(said("text"));
    case "thinking":
      return { ...textPart(said("thinking")), thought: true };
    case "tool_use":
      return { functionCall: { id: said("id"), name: said("name"), args: objectOf(block["input"]) } };
    case "tool_result":
      return { functionResponse: { id: said("tool_use_id"), response: objectOf(block["content"]) } };
    default:
      // Bytes are in the entry.
      return textPart(`[${said("type")}]`);
  }
}

async function sdksFold(): Promise<FoldSessionSummary> {
  // Not a word for the compiler: the package is there where the store is used, and nowhere else.
  const sdk: string = "@anthropic-ai/claude-agent-sdk";
  return ((await import(sdk)) as { foldSessionSummary: FoldSessionSummary }).foldSessionSummary;
}
