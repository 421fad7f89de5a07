// Takes on the order of ../frameworks-python/one_order.py: node one-order.js SESSION MESSAGE. The model is a script, so no key is needed.
import { SessiondChat, withMessage } from "@sessiond/client/ai-sdk";
import { convertToModelMessages, generateId, generateText } from "ai";
import { MockLanguageModelV4 } from "ai/test";

/** What a model says to all that it was sent: the next ticket. */
function answer(heard) {
  const tickets = [...heard.matchAll(/Ticket (\d+): ([\w ]+)\./g)].sort(([, one], [, other]) => one - other);
  const [, number, drink] = tickets.at(-1) ?? [];
  if (drink) return `Ticket ${Number(number) + 1}: ${drink}.`;
  const [, ordered] = /A ([\w ]+), please/.exec(heard) ?? [];
  return ordered ? `Ticket 1: ${ordered}.` : "What would you like?";
}

const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
const finishReason = { unified: "stop", raw: "stop" };
const model = new MockLanguageModelV4({
  doGenerate: async ({ prompt }) => {
    const content = [{ type: "text", text: answer(JSON.stringify(prompt)) }];
    return { content, finishReason, usage, warnings: [] };
  },
});

const [id, asked] = process.argv.slice(2);
const chat = new SessiondChat(id, { app: "cafe", user: "ada", author: "cook", others: true });
const said = (role, text) => ({ id: generateId(), role, parts: [{ type: "text", text }] });
const messages = withMessage(await chat.loadMessages(), said("user", asked));
await chat.saveMessages(messages);
const { text } = await generateText({ model, messages: await convertToModelMessages(messages) });
await chat.saveMessages([...messages, said("assistant", text)]);
console.log(`ai-sdk: ${text}`);
chat.close();
