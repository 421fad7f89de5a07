// An agent of the OpenAI Agents SDK, which goes on where it stopped: node openai-agents.js SESSION MESSAGE. The model is a script, so no key
// is needed.
import { Agent, Runner, setTracingDisabled, tool, Usage } from "@openai/agents-core";
import { SessiondSession } from "@sessiond/client/openai-agents";
import { z } from "zod";

setTracingDisabled(true);
const [id, message] = process.argv.slice(2);
const session = new SessiondSession(id, { app: "cafe", user: "ada" });
const teas = (await session.getItems()).filter(({ type }) => type === "function_call").length + 1;

const content = [{ type: "output_text", text: `Here is tea number ${teas}.` }];
const answers = [
  { type: "function_call", callId: `c${teas}`, name: "brew", status: "completed", arguments: '{"tea":"green"}' },
  { type: "message", role: "assistant", status: "completed", content },
];
const usage = new Usage({ requests: 1, inputTokens: 10, outputTokens: 5, totalTokens: 15 });
const model = { getResponse: async () => ({ usage, output: [answers.shift()] }) };
const brew = tool({
  name: "brew",
  description: "Makes a tea.",
  parameters: z.object({ tea: z.string() }),
  execute: ({ tea }) => `a ${tea} tea`,
});

const result = await new Runner().run(new Agent({ name: "host", model, tools: [brew] }), message, { session });
await session.storeRunUsage(result);
console.log(`host: ${result.finalOutput}`);
console.log(`all tokens: ${(await session.getSessionUsage()).totalTokens}`);
session.close();
