// A new field of a framework's event fails here first: it does not compile. Add it here, to clients/wire/fields.json and to
// the golden event, and see what the other languages make of it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { it } from "node:test";
import type { CompactedEvent, EventActions as GoogleActions, Event as GoogleEvent } from "@google/adk";
import type { EventActions as IqaiActions, Event as IqaiEvent } from "@iqai/adk";
import type { EventActions as AdkTypescriptActions, Event as AdkTypescriptEvent } from "adk-typescript/events";

type Names<T> = { [K in keyof T as K extends symbol ? never : T[K] extends () => unknown ? never : K]-?: true };

const llm = {
  content: true,
  groundingMetadata: true,
  partial: true,
  turnComplete: true,
  errorCode: true,
  errorMessage: true,
  interrupted: true,
  customMetadata: true,
  usageMetadata: true,
} as const;
const event = {
  ...llm,
  id: true,
  invocationId: true,
  author: true,
  actions: true,
  longRunningToolIds: true,
  branch: true,
  timestamp: true,
} as const;
const actions = {
  skipSummarization: true,
  stateDelta: true,
  artifactDelta: true,
  transferToAgent: true,
  escalate: true,
  requestedAuthConfigs: true,
} as const;

const googleEvent: Names<GoogleEvent> = {
  ...event,
  citationMetadata: true,
  finishReason: true,
  liveSessionResumptionUpdate: true,
  goAway: true,
  inputTranscription: true,
  outputTranscription: true,
  interactionId: true,
  modelVersion: true,
  liveSessionId: true,
  output: true,
  route: true,
  nodeInfo: true,
  isolationScope: true,
};
const compacted: Names<Omit<CompactedEvent, keyof GoogleEvent>> = {
  isCompacted: true,
  startTime: true,
  endTime: true,
  compactedContent: true,
  isScratchpad: true,
};
const googleActions: Names<GoogleActions> = {
  ...actions,
  requestedToolConfirmations: true,
  agentState: true,
  endOfAgent: true,
};
const iqaiEvent: Names<Omit<IqaiEvent, Methods>> = {
  ...event,
  text: true,
  candidateIndex: true,
  finishReason: true,
  error: true,
};
const iqaiActions: Names<IqaiActions> = { ...actions, compaction: true, rewindBeforeInvocationId: true };
const adkTypescriptEvent: Names<Omit<AdkTypescriptEvent, Methods>> = event;
const adkTypescriptActions: Names<AdkTypescriptActions> = actions;

/** What an event does, and no field of it. */
type Methods =
  | "isFinalResponse"
  | "getFunctionCalls"
  | "getFunctionResponses"
  | "hasTrailingCodeExecutionResult"
  | "hasError"
  | "getText"
  | `with${string}`;

const known = {
  google: { event: googleEvent, actions: googleActions, compacted },
  iqai: { event: iqaiEvent, actions: iqaiActions },
  "adk-typescript": { event: adkTypescriptEvent, actions: adkTypescriptActions },
};

it("the fields of each framework are those that all clients were tested with", () => {
  const file = new URL("../../../../wire/fields.json", import.meta.url);
  const fields = JSON.parse(readFileSync(file, "utf8")) as Record<string, Record<string, string[]>>;
  for (const [framework, parts] of Object.entries(known)) {
    for (const [part, names] of Object.entries(parts)) {
      assert.deepEqual(Object.keys(names).sort(), fields[framework]?.[part], `${framework}: ${part}`);
    }
  }
});
