// What people and models said and did in a session, without a framework, whatever has written it: the same as in Python.
import { isDeepStrictEqual } from "node:util";
import type { StoredEvent } from "./events.js";
import { isObject, type JsonObject } from "./json.js";

/** A call of a tool, with its result. */
export interface Call {
  /** As its author named it: unique among the calls of a message, as a rule in the session. */
  id: string;
  name: string;
  args: JsonObject;
  /** What the tool answered; a text as `{ result: text }`. */
  result: JsonObject;
}

/** A file that was sent or saved: its bytes, where it is, or an artifact of the session. */
export interface Attachment {
  /** Of an artifact, its name; else the one for people. */
  name?: string;
  mimeType?: string;
  bytes?: Uint8Array;
  uri?: string;
  /** Of an artifact. */
  version?: number;
}

/** What somebody said or did at a time: an event, told without a framework. */
export interface Message {
  /** Of the event. */
  id: string;
  /** The number of the event. They grow, but for that of a summary, which stands where what it sums up ended. */
  sequence: number;
  /** When it was made, in Unix seconds, by the clock of who made it. */
  timestamp: number;
  /** `user`, or the name of an agent. */
  author: string;
  /** Who is heard: a person, or a model with its tools. */
  role: "user" | "model";
  /**
   * What was said, without thoughts. Behind it, each on a line in brackets: a call that has no result, and a result whose call is not
   * there.
   */
  text: string;
  /** The calls that have a result, which may be said by a later event. */
  calls: Call[];
  files: Attachment[];
  /** The branch of the event. */
  branch?: string;
}

/** What of an event is read; `events.ts` has the rest. */
export type Told = Partial<Pick<StoredEvent, "id" | "sequence" | "timestamp" | "author" | "branch">> & JsonObject;

// Files that adapters keep objects in are not what was said.
const OWN_FILES = /^(?:aiSdk|claude|lg|oai|pydantic|strands)\//;

// Calls by which ADK asks its own client, for credentials too.
const ADK = "adk_";

// A checkpoint of LangGraph, and the branch of those of a whole graph.
const [CHECKPOINT, WHOLE_GRAPH] = ["langgraph.checkpoint", "lg:"];

// Behind it, times are milliseconds: the compactions of ADK for Java count so.
const YEAR_10000 = 253_402_300_800;

type Asked = Omit<Call, "result"> & { result?: JsonObject };

/** What an event says: texts, lines in brackets, and calls that later events may answer. */
interface Saying {
  event: Told;
  author: string;
  /** Of a summary: when what it sums up ended. */
  end?: number;
  parts: (string | Asked)[];
  files: Attachment[];
}

/**
 * Returns what people and models said and did, in order, of events of ADK and of all adapters: those of the effective history, in the order of
 * the log, as `session.conversation()` reads them. A summary takes the place of what it covers.
 *
 * Each event that says something is a message. Of an author `user` it takes what users can say, texts and files, and nothing that is said in
 * the role of a model. What is not told: thoughts, what adapters keep of an object beside what it says, the inner talk of subgraphs and
 * subagents (of LangGraph and Claude), and ADK's requests to its own client. A call belongs to the next results of its id, of which the last
 * counts.
 */
export function conversation(events: Iterable<Told>): Message[] {
  const sayings: Saying[] = [];
  const open = new Map<string, Asked>();
  let shown: unknown;
  for (const event of events) {
    if (isInner(event)) continue;
    if (event.author === CHECKPOINT) {
      // Each checkpoint shows the last message that there is.
      const before = shown;
      shown = event["content"];
      if (isDeepStrictEqual(shown, before)) continue;
    }
    const saying = sayingOf(event, open);
    let at = sayings.length;
    while (saying.end !== undefined && at > 0 && timeOf(sayings[at - 1]) > saying.end) at -= 1;
    sayings.splice(at, 0, saying);
  }
  return sayings.map(messageOf).filter(({ text, calls, files }) => text !== "" || calls.length > 0 || files.length > 0);
}

/** Returns the result of a call for who wants a text: itself, if it is one, else JSON. */
export function resultText(result: JsonObject): string {
  const { result: only, ...rest } = result;
  return typeof only === "string" && Object.keys(rest).length === 0 ? only : JSON.stringify(result);
}

function sayingOf(event: Told, open: Map<string, Asked>): Saying {
  const said: Saying = { event, author: event.author || "model", parts: [], files: [] };
  const actions = objectIn(event["actions"]);
  const { compactedContent: summary, endTimestamp } = objectIn(actions["compaction"]);
  if (isObject(summary)) {
    // ADK's summaries are written in the name of the user.
    if (said.author === "user") said.author = "model";
    const end = typeof endTimestamp === "number" ? endTimestamp : 0;
    said.end = end >= YEAR_10000 ? end / 1000 : end;
  }
  const { role = null, parts: all } = objectIn(isObject(summary) ? summary : event["content"]);
  const parts = Array.isArray(all) ? all.filter(isObject) : [];
  // The input of a graph; its tools are no users.
  const isInput = said.author === CHECKPOINT && role === "user" && !parts.some((part) => "functionResponse" in part);
  if (isInput) said.author = "user";
  // What a user can have said: texts and files.
  if (said.author !== "user" || role === null || role === "user") {
    for (const part of parts) take(said, part, open, said.author === "user");
  }
  for (const [name, version] of Object.entries(objectIn(actions["artifactDelta"]))) {
    if (!OWN_FILES.test(name)) said.files.push({ name, version: version as number });
  }
  return said;
}

function take({ parts, files }: Saying, part: JsonObject, open: Map<string, Asked>, isUsers: boolean): void {
  const { thought, text, inlineData, fileData } = part;
  const { functionCall: call, functionResponse: answer, executableCode: code, codeExecutionResult: ran } = part;
  if (thought) return;
  // Begins on a line of its own.
  const line = (said: string): number =>
    parts.push(parts.some((each) => typeof each === "string") ? `\n${said}` : said);
  if (typeof text === "string") parts.push(text);
  const file = inlineData ?? fileData;
  if (isObject(file)) files.push(attachmentOf(file));
  if (isUsers) return;
  if (isObject(call) && !isAdks(call)) {
    const made: Asked = {
      id: wordOf(call["id"]),
      name: wordOf(call["name"]) || "a tool",
      args: resultOf(call["args"]),
    };
    parts.push(made);
    if (made.id !== "") open.set(made.id, made);
  }
  if (isObject(answer) && !isAdks(answer)) {
    const result = resultOf(answer["response"]);
    const asked = open.get(wordOf(answer["id"]));
    if (asked !== undefined) asked.result = result;
    else line(`[${wordOf(answer["name"]) || "a tool"} answered: ${resultText(result)}]`);
  }
  if (isObject(code)) line(wordOf(code["code"]));
  if (isObject(ran)) line(`[the code answered: ${wordOf(ran["output"]) || wordOf(ran["outcome"])}]`);
}

/** Returns what an event says, when all events were seen. */
function messageOf({ event, author, parts, files }: Saying): Message {
  const { id = "", sequence = 0, timestamp = 0, branch } = event;
  const texts = parts.filter((part) => typeof part === "string");
  const asked = parts.filter((part) => typeof part !== "string");
  const unanswered = asked.filter(({ result }) => result === undefined);
  const lines = [texts.join(""), ...unanswered.map(({ name, args }) => `[called ${name}: ${JSON.stringify(args)}]`)];
  return {
    id,
    sequence,
    timestamp,
    author,
    role: author === "user" ? "user" : "model",
    text: lines.filter((each) => each !== "").join("\n"),
    calls: asked.filter((call): call is Call => call.result !== undefined),
    files,
    ...(branch == null ? {} : { branch }),
  };
}

function timeOf(saying: Saying | undefined): number {
  return saying?.end ?? saying?.event.timestamp ?? 0;
}

/** Whether an event is the inner talk of an agent: of a subgraph, or of a subagent. */
function isInner({ author, branch, customMetadata }: Told): boolean {
  if (author === CHECKPOINT) return branch !== WHOLE_GRAPH;
  return isObject(customMetadata) && "claude" in customMetadata && branch !== "main";
}

function isAdks({ name }: JsonObject): boolean {
  return wordOf(name).startsWith(ADK);
}

/** Returns what is a text, as a rule. */
function wordOf(value: unknown): string {
  return typeof value === "string" ? value : value == null ? "" : JSON.stringify(value);
}

function objectIn(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

function resultOf(value: unknown): JsonObject {
  return isObject(value) ? value : value == null ? {} : { result: value };
}

function attachmentOf({ displayName, mimeType, data, fileUri }: JsonObject): Attachment {
  const file: Attachment = {};
  if (typeof displayName === "string") file.name = displayName;
  if (typeof mimeType === "string") file.mimeType = mimeType;
  // ADK writes both alphabets, and leaves out what fills the end.
  if (typeof data === "string" && /^[\w+/-]*={0,2}$/.test(data) && data.replace(/=+$/, "").length % 4 !== 1)
    file.bytes = Buffer.from(data, "base64");
  if (typeof fileUri === "string") file.uri = fileUri;
  return file;
}
