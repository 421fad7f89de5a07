// An agent that dies in a tool, or does not: node dist-test/adk/test/crash.js APP in-the-middle|at-the-end|nowhere
//
// SESSIOND_URL says where sessiond is. Prints what the tool returned.
import * as google from "@google/adk";
import { ops, SessiondSessionService } from "../src/index.js";

const [appName = "", where] = process.argv.slice(2);
const answer = console.log;
console.log = console.error;

class Model extends google.BaseLlm {
  #turns = 0;
  constructor() {
    super({ model: "scripted" });
  }
  override async *generateContentAsync(): AsyncGenerator<google.LlmResponse, void> {
    const call = { functionCall: { name: "order", args: {} } };
    yield { content: { role: "model", parts: [this.#turns++ === 0 ? call : { text: "Done." }] } };
  }
  override async connect(): Promise<google.BaseLlmConnection> {
    throw new Error("no");
  }
}

const order = new google.FunctionTool({
  name: "order",
  description: "Takes an order.",
  execute: async (_, context) => {
    const number = await ops.once("number of tea").increment(context!, "app:orders");
    if (where === "in-the-middle") process.exit(9);
    const items = await ops.once("items of tea").append(context!, "user:items", "tea");
    if (where === "at-the-end") process.exit(9);
    answer(JSON.stringify({ number, items }));
    return { number };
  },
});
const service = new SessiondSessionService(process.env["SESSIOND_URL"] ?? "http://127.0.0.1:8080");
const agent = new google.LlmAgent({ name: "waiter", model: new Model(), tools: [order] });
const runner = new google.Runner({ appName, sessionService: service, agent });
const newMessage = { role: "user", parts: [{ text: "Tea, please." }] };
for await (const _ of runner.runAsync({ userId: "ada", sessionId: "s", newMessage }));
await service.sessiond.close();
