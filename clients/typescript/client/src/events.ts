import { InputError } from "./errors.js";
import { nameOf } from "./http.js";
import { isFields, isObject, type JsonObject } from "./json.js";

// What ADK has beside what is named below. By the names, a literal with a field that nobody knows is not compiled.
const OF_EVENTS = [
  "avgLogprobs",
  "cacheMetadata",
  "candidateIndex",
  "citationMetadata",
  "environmentId",
  "error",
  "errorCode",
  "errorMessage",
  "finishReason",
  "goAway",
  "groundingMetadata",
  "inputTranscription",
  "interactionId",
  "interactionStatus",
  "interrupted",
  "isolationScope",
  "liveSessionId",
  "liveSessionResumptionUpdate",
  "logprobsResult",
  "longRunningToolIds",
  "modelVersion",
  "nodeInfo",
  "output",
  "outputTranscription",
  "requestedInput",
  "route",
  "routes",
  "sessionResumptionHandle",
  "turnComplete",
  "turnCompleteReason",
  "usageMetadata",
  "voiceActivity",
] as const;
const OF_ACTIONS = [
  "agentState",
  "compaction",
  "deletedArtifactIds",
  "endInvocation",
  "endOfAgent",
  "escalate",
  "renderUiWidgets",
  "requestedAuthConfigs",
  "requestedToolConfirmations",
  "route",
  "setModelResponse",
  "skipSummarization",
  "transferReason",
  "transferToAgent",
] as const;

/** A part of a content; fields that are not named here are kept, too. */
export interface Part {
  text?: string;
  /** The text is what a model thought, and no part of its answer. */
  thought?: boolean;
  functionCall?: { id?: string; name?: string; args?: JsonObject };
  functionResponse?: { id?: string; name?: string; response?: JsonObject };
  inlineData?: { mimeType?: string; data?: string; displayName?: string };
  fileData?: { fileUri?: string; mimeType?: string; displayName?: string };
  [field: string]: unknown;
}

/** What somebody said. */
export interface Content {
  /** `user` or `model`. */
  role?: string;
  parts?: Part[];
  [field: string]: unknown;
}

/** An operator, which the server applies to what is there. */
export interface Operation {
  op: "set" | "remove" | "increment" | "append" | "union" | "max" | "min" | "merge";
  /** The key, with its prefix. */
  key: string;
  /** The operand: of `append` and `union` a list; none of `remove`. */
  value?: unknown;
}

/** What must hold of a key for a change to be made; one of its fields. */
export interface Precondition {
  key: string;
  /** The session (or, of `app:` and `user:` keys, their scope) has not changed this key since it was at this revision. */
  revision?: number;
  exists?: boolean;
  equals?: unknown;
}

/** What an event does. Other fields are kept as they are: of ADK, any value; for the rest, `Actions & JsonObject`. */
export interface Actions extends Partial<Record<(typeof OF_ACTIONS)[number], unknown>> {
  /** Keys and their new values: `app:` and `user:` keys go to the state of app and user, `temp:` keys nowhere. */
  stateDelta?: JsonObject;
  /** Operators, applied in order after `stateDelta`. */
  stateOps?: readonly Operation[];
  /** If one does not hold, nothing is written. */
  preconditions?: readonly Precondition[];
  /** Names of files and their versions. */
  artifactDelta?: Record<string, number>;
  /** Takes back the events from the first one of this invocation on. */
  rewindBeforeInvocationId?: string;
}

/** An event to append. Other fields are kept as they are: of ADK, any value; for the rest, `NewEvent & JsonObject`. */
export interface NewEvent extends Partial<Record<(typeof OF_EVENTS)[number], unknown>> {
  /** By which the session knows an event that it has already; drawn by the client if it is absent. */
  id?: string | undefined;
  author?: string | undefined;
  invocationId?: string | undefined;
  branch?: string | undefined;
  /** Unix seconds; the server's now if it is absent. */
  timestamp?: number | undefined;
  content?: Content | undefined;
  actions?: Actions | undefined;
  /** A part of an event that is still being made: it is not stored. */
  partial?: boolean | undefined;
  customMetadata?: JsonObject | undefined;
}

/** Where an event is in a session. */
export interface EventPlace {
  id: string;
  timestamp: number;
  /** Its number in the log, from 1 on. */
  sequence: number;
  /** When it was stored, by the server's clock, in Unix seconds. */
  commitTime: number;
}

/** An event as the session has it. */
export interface StoredEvent extends NewEvent, EventPlace {
  id: string;
  author: string;
  timestamp: number;
  /** If the event was redacted. */
  redacted?: { time: number; reason?: string };
  [field: string]: unknown;
}

// What others call the fields of an event, and where that belongs.
const ELSEWHERE: Record<string, string> = {
  delta: "the option `delta` of `append`, or `actions.stateDelta`",
  state: "the option `delta` of `append`, or `actions.stateDelta`",
  stateDelta: "the option `delta` of `append`, or `actions.stateDelta`",
  ops: "`actions.stateOps`",
  stateOps: "`actions.stateOps`",
  preconditions: "`actions.preconditions`",
  role: "`author`, and `content.role`",
};
const NAMED = ["id", "author", "invocationId", "branch"] as const;
const EVENT = [...NAMED, "timestamp", "content", "actions", "partial", "customMetadata", ...OF_EVENTS];
const ACTIONS = ["stateDelta", "stateOps", "preconditions", "artifactDelta", "rewindBeforeInvocationId", ...OF_ACTIONS];

/** Throws `InputError` for an event with something that would do nothing, or that no reader would see. */
export function checkEvent(event: NewEvent): void {
  if (!isFields(event as unknown)) throw refused("An event is an object, as `{ author, content }`.");
  // A copy says what the original says.
  if (isObject(event.customMetadata) && "rewindCopyOf" in event.customMetadata) return;
  for (const name of NAMED) nameOf(`\`${name}\` of an event`, event[name] ?? "", true);
  for (const name of Object.keys(event)) {
    const place = Object.hasOwn(ELSEWHERE, name) ? ELSEWHERE[name] : undefined;
    if (place !== undefined) throw refused(`\`${name}\` of an event would do nothing here: it is ${place}.`);
  }
  checkNames(event, EVENT);
  if (isObject(event.actions)) checkNames(event.actions, ACTIONS);
  const { content } = event;
  if (content === undefined || content === null) return;
  const parts = isFields(content) ? (content.parts ?? []) : undefined;
  const isMisnamed = parts?.length === 0 && Object.keys(content).some((name) => name !== "role" && name !== "parts");
  if (isMisnamed || !Array.isArray(parts) || !parts.every(isObject)) {
    throw refused(
      'The content of an event is an object with parts, as `text("user", "A green tea")` makes it: nobody would see this one.',
    );
  }
}

/** Throws `InputError` for a name that differs from a known one by case, underscores or a plural. */
function checkNames(object: object, known: readonly string[]): void {
  const folded = (name: string): string => name.toLowerCase().replaceAll("_", "").replace(/s$/, "");
  for (const name of Object.keys(object)) {
    // The server takes ADK's names in Python, too.
    const camel = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    const meant = known.includes(camel) ? undefined : known.find((one) => folded(one) === folded(name));
    if (meant !== undefined) throw refused(`\`${name}\` of an event would do nothing: it is \`${meant}\`.`);
  }
}

function refused(message: string): InputError {
  return new InputError(message, { outcome: "not_applied" });
}

/** Returns a content of texts, one part each. */
export function text(role: "user" | "model", ...texts: string[]): Content {
  return { role, parts: texts.map((one) => ({ text: one })) };
}

/** Returns the texts of an event, joined, without what a model thought; `""` if it has none. */
export function textOf({ content }: Pick<NewEvent, "content">): string {
  const parts = Array.isArray(content?.parts) ? content.parts : [];
  return parts.map((part) => (typeof part?.text === "string" && part.thought !== true ? part.text : "")).join("");
}
