// A chat of Vercel's AI SDK, which goes on where it stopped: node ai-sdk.js SESSION MESSAGE. The model is a script, so no key is needed.
import { randomUUID } from "node:crypto";
import { SessiondChat, withMessage } from "@sessiond/client/ai-sdk";
import { convertToModelMessages, generateId, jsonSchema, stepCountIs, streamText, tool } from "ai";
import { convertArrayToReadableStream, MockLanguageModelV4 } from "ai/test";

const [id, text] = process.argv.slice(2);
const chat = new SessiondChat(id, { app: "cafe", user: "ada" });
// In a web page, `useChat` makes the message, with its id.
const message = { id: randomUUID(), role: "user", parts: [{ type: "text", text }] };
const originalMessages = withMessage(await chat.loadMessages(), message);
await chat.saveMessages(originalMessages); // after a crash, it is there

const teas = originalMessages.filter(({ role }) => role === "user").length;
const answers = [
  [{ type: "tool-call", toolCallId: `c${teas}`, toolName: "brew", input: '{"tea":"green"}' }],
  [
    { type: "text-start", id: "t" },
    { type: "text-delta", id: "t", delta: `Here is tea number ${teas}.` },
    { type: "text-end", id: "t" },
  ],
];
const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
const end = { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage };
const model = new MockLanguageModelV4({
  doStream: async () => ({ stream: convertArrayToReadableStream([...answers.shift(), end]) }),
});
const brew = tool({
  description: "Makes a tea.",
  inputSchema: jsonSchema({ type: "object", properties: { tea: { type: "string" } } }),
  execute: ({ tea }) => `a ${tea} tea`,
});

const result = streamText({
  model,
  tools: { brew },
  messages: await convertToModelMessages(originalMessages),
  stopWhen: stepCountIs(3),
});
const onFinish = ({ messages }) => chat.saveMessages(messages);
let said = "";
// In a web server: `return result.toUIMessageStreamResponse(…)`.
for await (const chunk of result.toUIMessageStream({ originalMessages, generateMessageId: generateId, onFinish })) {
  if (chunk.type === "text-delta") said += chunk.delta;
}
console.log(`host: ${said}`);
chat.close();
