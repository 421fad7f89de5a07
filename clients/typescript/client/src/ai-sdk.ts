/**
 * Keeps the chats of Vercel's AI SDK in sessiond, so that any machine goes on with what another one began.
 *
 * ```ts
 * const chat = new SessiondChat<UIMessage>("s1", { app: "cafe", user: "ada" });
 * const originalMessages = withMessage(await chat.loadMessages(), message);
 * await chat.saveMessages(originalMessages);
 * const result = streamText({ model, messages: await convertToModelMessages(originalMessages) });
 * const onFinish = ({ messages }) => chat.saveMessages(messages);
 * return result.toUIMessageStreamResponse({ originalMessages, generateMessageId: generateId, onFinish });
 * ```
 */
import { randomUUID } from "node:crypto";
import type { Sessiond } from "./client.js";
import { conversation } from "./conversation.js";
import { NotFoundError, StaleError } from "./errors.js";
import type { NewEvent, Part, StoredEvent } from "./events.js";
import { isObject, type JsonObject, toExtendedJson } from "./json.js";
import { said, withFiles } from "./kept.js";
import { type Listener, OTHERS, told, type Words } from "./others.js";
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

/** How a chat is kept. */
export interface SessiondChatOptions {
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
   * Whether the messages that are loaded have what others have said in the session, too: agents of other frameworks, and whom they
   * answered. With true they are messages of the interface (`UIMessage`), with `model` such as models get (`ModelMessage`). No save stores,
   * changes or takes back words of others.
   */
  others?: boolean | "model" | undefined;
  /** With `others`: whether the model has a tool of this name. Calls of all else are told as text. By default it has all. */
  hasTool?: ((name: string) => boolean) | undefined;
}

/** A message, and the history that ends with it, as short texts: equal ones have the same. */
interface Link {
  message: string;
  history: string;
}

/** What an object knows of the history: how it was when it was last loaded or saved. */
interface Known {
  /** The history before the first of `links`. */
  before: string;
  links: Link[];
  revision: number;
}

/** Where the stored history goes over into the one that is wanted. */
interface Fork {
  /** How many messages of the wanted one are stored. */
  count: number;
  /** The events from the first message on that is to be taken back, latest first, and those of others behind it. */
  events: StoredEvent[];
  /** Of `events`, the groups that are messages. */
  groups: string[];
  revision: number;
}

// What the names of the files begin with that are messages which are too large for an event.
const FILES = "aiSdk/";

// Mostly, the last message is the one that is sought.
const FEW = 8;

/**
 * A chat of the AI SDK on sessiond: messages of its interface (`UIMessage`), or of its models (`ModelMessage`). A message is an event with
 * the message as it is, and with what was said as the content, so that the console and agents of other frameworks read it; behind calls of
 * tools it goes on in further events.
 *
 * A save is one transaction, stored once, also if its answer gets lost, or if it is called again. What is taken back stays in the log.
 * Messages are JSON: bytes are given in base64, and what JSON does not have, but for numbers, is an `InputError`. A message that is too large
 * for an event is a file of the session, which the event names.
 */
// biome-ignore lint/suspicious/noExplicitAny: the SDK's types, of which this module needs none
export class SessiondChat<Message extends object = any> {
  /** The id of the session. */
  readonly id: string;
  readonly #client: Sessiond;
  readonly #session: Session;
  readonly #path: string;
  readonly #author: string;
  readonly #others: boolean | "model";
  readonly #listener: Listener;
  #known: Known | undefined;
  #last: Promise<void> = Promise.resolve();

  /** Opens no connection yet. Throws `InputError` for a name that is no text, and for an id with white space at an end. */
  constructor(id: string, { app, user, client, author, others = false, hasTool }: SessiondChatOptions) {
    this.#client = clientOf(client);
    this.#session = this.#client.session(app, user, idOf(id));
    this.#path = `${sessionPath(app, user, id)}/events`;
    this.#author = authorOf(author);
    this.#others = others;
    this.#listener = { author: this.#author, hasTool };
    this.id = this.#session.id;
  }

  /**
   * Returns the messages in order, or the last `limit` of them. Who has loaded the last ones saves these, with what is new. Words of others
   * (`others`) take a read of the whole effective history.
   */
  async loadMessages(limit = Number.POSITIVE_INFINITY): Promise<Message[]> {
    if (limit <= 0) return [];
    const loaded: (Link & { after: string; at: number; value: Message })[] = [];
    const groups = new Set<string>();
    const revision = await this.#read(Math.min(limit, 1000), async (event) => {
      const kept = await this.#kept(event);
      if (kept === undefined) return false;
      const value = kept.message as Message;
      const message = markOf(value);
      const history = digest(kept.after, message);
      loaded.push({ value, at: event.sequence, after: kept.after, message, history });
      groups.add(event.invocationId ?? "");
      return loaded.length >= limit;
    });
    loaded.reverse();
    const others = this.#others === false ? [] : await this.#told(groups, revision);
    if (others.length > 0) tie(loaded);
    const shown = [...loaded, ...others].sort((one, other) => one.at - other.at).slice(-limit);
    // Results without their calls, which are not among the last ones.
    while (shown[0] && isOfOthers(shown[0].value) && roleOf(shown[0].value) === "tool") shown.shift();
    const links = loaded.slice(loaded.length - shown.filter((one) => "history" in one).length);
    const before = links[0]?.after ?? loaded.at(-1)?.history ?? "";
    this.#known = { before, links, revision };
    return shown.map(({ value }) => value);
  }

  /** Returns the words of others up to a revision, and the numbers behind which they are; `groups` are those of messages of the chat. */
  async #told(groups: Set<string>, revision: number): Promise<{ at: number; value: Message }[]> {
    const events = (await unlessAbsent(all(this.#session.events({ effective: true })))) ?? [];
    for (const { customMetadata, invocationId = "" } of events) {
      if (isObject(customMetadata) && isObject(customMetadata["aiSdk"])) groups.add(invocationId);
    }
    const isOwn = ({ id, invocationId: group = "", customMetadata }: StoredEvent): boolean =>
      groups.has(group) && String(customMetadata?.["rewindCopyOf"] ?? id).startsWith(`${group}:`);
    const messages = conversation(events.filter((event) => event.sequence <= revision && !isOwn(event)));
    return told(messages, this.#listener).flatMap((words) => {
      const values = this.#others === "model" ? forModel(words) : [forInterface(words)];
      return values.map((value) => ({ at: words.at, value: value as Message }));
    });
  }

  /**
   * Makes these the messages of the chat: stores those at the end that are new, and takes back those that are not among them any more, or
   * have changed. It reads and writes no more than these, however long the chat is.
   *
   * Of what is there, only what this object has loaded or saved is taken back: so two processes lose nothing of each other's. With
   * `replace`, all else is taken back, too.
   *
   * @throws StaleError if there are other messages than this object knows. Nothing is changed: load again, and decide again.
   */
  async saveMessages(messages: readonly Message[], { replace = false }: { replace?: boolean } = {}): Promise<void> {
    // Of one object, one after the other.
    const own = this.#others === false ? messages : messages.filter((message) => !isOfOthers(message));
    const mine = this.#last.then(() => this.#save(own, replace));
    this.#last = mine.catch(() => {});
    await mine;
  }

  /** Closes the connections of its client, which can be used again. */
  close(): void {
    this.#client.close();
  }

  async #save(messages: readonly Message[], replace: boolean): Promise<void> {
    const { before = "", links: known = [], revision } = this.#known ?? {};
    const last = this.#known && (known.at(-1)?.history ?? before);
    const wanted: Link[] = [];
    let same = 0;
    for (const [n, value] of messages.entries()) {
      const message = markOf(value);
      if (same === n && known[n]?.message === message) same += 1;
      const history = same > n ? known[n]?.history : undefined;
      wanted.push({ message, history: history ?? digest(wanted.at(-1)?.history ?? before, message) });
    }
    const histories = [before, ...wanted.map(({ history }) => history)];
    const allows = (stored: string, count: number): boolean =>
      replace || stored === last || (histories[count] === stored && count >= same);
    // As it was left, it needs no look, unless something is to be taken back.
    const left = revision !== undefined && same === known.length && !replace;
    let fork: Fork = { count: same, events: [], groups: [], revision: revision ?? 0 };
    for (let looked = false; ; looked = true) {
      if (looked || !left) fork = await this.#fork(histories, allows);
      const key = `ai-${randomUUID()}`;
      const events: NewEvent[] = [];
      const first = fork.groups.at(-1);
      if (first !== undefined) {
        events.push(rewind(`${key}:r`, first));
        const stay = fork.events.filter(({ invocationId = "" }) => !fork.groups.includes(invocationId));
        for (const [n, event] of stay.reverse().entries()) events.push(again(event, `${key}:k${n}`));
      }
      for (const [n, message] of messages.entries()) {
        if (n < fork.count) continue;
        events.push(...eventsOf(message, this.#author, `${key}:${n}`, histories[n] ?? ""));
      }
      let written = fork.revision;
      try {
        if (events.length > 0) {
          const made = await withFiles(this.#client, this.#session, events, FILES);
          const stored = await this.#session.append(made, { ifRevision: fork.revision, create: true });
          written = stored.at(-1)?.sequence ?? written;
        }
      } catch (error) {
        // Somebody was faster, maybe with something else than messages.
        if (error instanceof StaleError) continue;
        throw error;
      }
      this.#known = { before, links: wanted, revision: written };
      return;
    }
  }

  /** Looks from the end for the last message of the stored history that is one of the wanted histories, too. */
  async #fork(histories: string[], allows: (stored: string, count: number) => boolean): Promise<Fork> {
    const events: StoredEvent[] = [];
    const groups: string[] = [];
    let stored: string | undefined;
    let count: number | undefined;
    const revision = await this.#read(FEW, async (event) => {
      const kept = await this.#kept(event);
      if (kept !== undefined) {
        const history = digest(kept.after, markOf(kept.message));
        stored ??= history;
        const [here, earlier] = [histories.lastIndexOf(history), histories.lastIndexOf(kept.after)];
        if (here >= 0) count = here;
        else {
          groups.push(event.invocationId ?? "");
          if (earlier >= 0) count = earlier;
        }
      }
      if (groups.length > 0 || kept === undefined) events.push(event);
      return count !== undefined;
    });
    count ??= 0;
    if (!allows(stored ?? "", count)) {
      throw new StaleError("The chat has other messages than were loaded. Nothing was saved: load them again.");
    }
    return { count, events, groups, revision };
  }

  /** Returns what an event keeps of a message that its author can have said: the message, and the history that is before it. */
  async #kept(event: StoredEvent): Promise<{ message: unknown; after: string } | undefined> {
    const { customMetadata } = event;
    const kept = isObject(customMetadata) ? customMetadata["aiSdk"] : undefined;
    if (!isObject(kept) || typeof kept["after"] !== "string") return undefined;
    const message = await said(this.#session, event, "aiSdk", "message", isPrompt);
    return message === undefined ? undefined : { message, after: kept["after"] };
  }

  /** Reads the events, latest first, that were not taken back, until `take` says that it is enough; returns the revision. */
  async #read(pageSize: number, take: (event: StoredEvent) => Promise<boolean>): Promise<number> {
    let revision: number | undefined;
    try {
      for await (const page of pages(this.#client.http, this.#path, {
        excludeRewound: true,
        order: "desc",
        pageSize,
      })) {
        // The later pages are about what was there at the first one.
        revision ??= Number(page["revision"]);
        for (const event of page["events"] as StoredEvent[]) if (await take(event)) return revision;
      }
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
    }
    return revision ?? 0;
  }
}

/**
 * Returns messages with this one at the end. If one of its id is there, it takes its place and that of all behind it: so the message of a
 * request that is sent again, or that a person has changed, is there once.
 */
export function withMessage<Message extends { id: string }>(messages: readonly Message[], message: Message): Message[] {
  const at = messages.findIndex(({ id }) => id === message.id);
  return [...(at < 0 ? messages : messages.slice(0, at)), message];
}

/** Returns words of others as a message of the interface. */
function forInterface({ id, role, text, calls, files }: Words): object {
  const parts = [
    ...(text === "" ? [] : [{ type: "text", text }]),
    ...files.map(({ mimeType, url, name }) => ({
      type: "file",
      mediaType: mimeType,
      url,
      ...(name ? { filename: name } : {}),
    })),
    ...calls.map(({ id: toolCallId, name: toolName, args: input, output }) => ({
      type: "dynamic-tool",
      toolName,
      toolCallId,
      state: "output-available",
      input,
      output,
    })),
  ];
  return { id, role: role === "user" ? "user" : "assistant", parts };
}

/** Returns words of others as messages for models: calls, and then their results. */
function forModel({ id, role, text, calls, files }: Words): object[] {
  const providerOptions = { sessiond: { id } };
  const content = [
    ...(text === "" ? [] : [{ type: "text", text }]),
    ...files.map(({ mimeType, url, name }) => ({
      type: "file",
      mediaType: mimeType,
      data: url,
      ...(name ? { filename: name } : {}),
    })),
    ...calls.map(({ id: toolCallId, name: toolName, args: input }) => ({
      type: "tool-call",
      toolCallId,
      toolName,
      input,
    })),
  ];
  const results = calls.map(({ id: toolCallId, name: toolName, output: value }) => ({
    type: "tool-result",
    toolCallId,
    toolName,
    output: { type: typeof value === "string" ? "text" : "json", value },
  }));
  const said = { role: role === "user" ? "user" : "assistant", content, providerOptions };
  return results.length === 0 ? [said] : [said, { role: "tool", content: results, providerOptions }];
}

/** Moves messages of the chat, so that words of others are before a call that waits for its result, or has got it later. */
function tie(messages: { at: number; value: object }[]): void {
  for (const [n, message] of messages.toReversed().entries()) {
    const next = messages[messages.length - n];
    if (next === undefined && isOpen(message.value)) message.at = Number.MAX_SAFE_INTEGER;
    if (next !== undefined && roleOf(next.value) === "tool") message.at = next.at;
  }
}

/** Whether a message has a call that waits for its result. */
function isOpen(message: object): boolean {
  const { parts, content } = message as JsonObject;
  const given = (Array.isArray(parts) ? parts : Array.isArray(content) ? content : []).filter(isObject);
  return given.some(({ type, toolCallId: id, state }) =>
    typeof state === "string"
      ? typeof id === "string" && !state.startsWith("output-")
      : type === "tool-call" && !given.some((part) => part["type"] === "tool-result" && part["toolCallId"] === id),
  );
}

function roleOf(message: object): unknown {
  return (message as JsonObject)["role"];
}

/** Whether a message has words of others. */
function isOfOthers(message: object): boolean {
  const { id, providerOptions } = message as JsonObject;
  return String(id).startsWith(OTHERS) || (isObject(providerOptions) && "sessiond" in providerOptions);
}

/** Whether a user can have said a message. */
function isPrompt(message: unknown): boolean {
  return isObject(message) && message["role"] === "user";
}

/** Returns a short text that is the same for messages with the same fields and values. */
function markOf(message: unknown): string {
  return digest(toExtendedJson(unpacked(packed(message, "message"), "message"), true));
}

/** Returns the events of a message, one group, of which the last one has the message itself. */
function eventsOf(message: object, author: string, group: string, after: string): NewEvent[] {
  const said = saidBy(message as JsonObject, author);
  return said.map((event, n) => ({
    id: `${group}:${n}`,
    invocationId: group,
    ...event,
    ...(n < said.length - 1 ? {} : { customMetadata: { aiSdk: packed(message, "message", { after }) } }),
  }));
}

/** Returns who said a message, and what, as other readers know it: what a model said, then what its tools answered, step by step. */
function saidBy(message: JsonObject, author: string): Pick<NewEvent, "author" | "content">[] {
  const { role, content } = message;
  const given = message["parts"] ?? (typeof content === "string" ? [{ type: "text", text: content }] : content);
  const parts = Array.isArray(given) ? given.filter(isObject) : [];
  if (role === "user" || role === "system") {
    return [
      {
        author: role,
        content: shown(
          "user",
          parts.flatMap((part) => partsOf(part)[0]),
        ),
      },
    ];
  }
  const said: Pick<NewEvent, "author" | "content">[] = [];
  const [calls, answers]: [Part[], Part[]] = [[], []];
  const flush = (): void => {
    for (const [by, list] of [["model", calls] as const, ["user", answers] as const]) {
      const shownParts = shown(by, list.splice(0));
      if (shownParts !== undefined) said.push({ author, content: shownParts });
    }
  };
  for (const part of parts) {
    const [call, answer] = partsOf(part);
    if (part["type"] === "step-start" || (answers.length > 0 && answer.length === 0)) flush();
    calls.push(...call);
    answers.push(...answer);
  }
  flush();
  return said.length > 0 ? said : [{ author }];
}

/** Returns what a part of a message says, and what a tool has answered in it. */
function partsOf(part: JsonObject): [said: Part[], answered: Part[]] {
  const type = String(part["type"]);
  const { text, state, toolCallId: id, toolName: name = type.slice("tool-".length), input = {}, output } = part;
  if (type === "text" || type === "reasoning") {
    if (typeof text !== "string" || text === "") return [[], []];
    return [[{ ...textPart(text), ...(type === "reasoning" ? { thought: true } : {}) }], []];
  }
  // Bytes are in the message.
  if (type === "file" || type === "image")
    return [[textPart(`[${part["filename"] ?? part["mediaType"] ?? type}]`)], []];
  if (typeof id !== "string") return [[], []];
  const called = (): Part[] => [{ functionCall: { id, name, args: objectOf(input) } } as Part];
  const answered = (response: unknown): Part[] => [
    { functionResponse: { id, name, response: objectOf(response) } } as Part,
  ];
  if (typeof state !== "string") {
    // Of a message of models; a request for approval has no tool's name.
    if (!("toolName" in part)) return [[], []];
    if (type === "tool-call") return [called(), []];
    const { type: kind, value } = isObject(output) ? output : {};
    return [[], answered(String(kind).startsWith("error") ? { error: value } : value)];
  }
  const answers: Record<string, () => Part[]> = {
    "output-available": () => answered(output),
    "output-error": () => answered({ error: part["errorText"] }),
    "output-denied": () => answered({ error: "denied" }),
  };
  return [called(), answers[state]?.() ?? []];
}
