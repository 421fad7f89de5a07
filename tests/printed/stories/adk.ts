// The agent of docs/clients.md runs; the parts of the README are compiled.
import { readFile } from "node:fs/promises";
import { BaseLlm, type BaseLlmConnection, type Context, FunctionTool, type LlmRequest, type LlmResponse } from "@google/adk";
<<< imports

const log = console.log;
const said: unknown[] = [];
console.log = (...words) => said.push(words);

class Scripted extends BaseLlm {
  constructor() {
    super({ model: "scripted" });
  }
  override async *generateContentAsync(request: LlmRequest): AsyncGenerator<LlmResponse, void> {
    const answered = request.contents.at(-1)?.parts?.at(-1)?.functionResponse;
    const call = { functionCall: { name: "take_order", args: { drink: "green tea" } } };
    yield { content: { role: "model", parts: [answered ? { text: "Coming." } : call] } };
  }
  override async connect(): Promise<BaseLlmConnection> {
    throw new Error("no live mode");
  }
}
const model = new Scripted();

{
  <<< docs/clients.md: const { drink } = input
}
if (!JSON.stringify(said).includes("Coming.")) throw new Error(JSON.stringify(said));

const appName = "cafe";
export async function first(agent: LlmAgent) {
  <<< clients/typescript/adk/README.md: // @google/adk
  return runner;
}

export async function memory() {
  <<< clients/typescript/adk/README.md: PRELOAD_MEMORY
  return runner;
}

export function access(key: string) {
  <<< clients/typescript/adk/README.md: readFile("/run/secrets
}

export function tools(page: string) {
  <<< clients/typescript/adk/README.md: ops.append
  <<< clients/typescript/adk/README.md: saveArtifact
  return [takeOrder, writeReport];
}

export async function changes(context: Context, order: string) {
  <<< clients/typescript/adk/README.md: preconditions
  <<< clients/typescript/adk/README.md: ops.once
  return number;
}

type Message = { role: string; parts: { text: string }[] };
export async function follow(service: SessiondSessionService, cursor: string, signal: AbortSignal, runner: Runner) {
  <<< clients/typescript/adk/README.md: caughtUp
  const [userId, sessionId, newMessage] = ["ada", "s", { role: "user", parts: [{ text: "Tea." }] } as Message];
  <<< clients/typescript/adk/README.md: sessiond.turn(
}
log("as printed");
