// What holds for the adapters of all frameworks: whose words they believe, and which ids they take.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { it } from "node:test";
import { served } from "../../support/served.js";
import { SessiondChat } from "../src/ai-sdk.js";
import { SessiondStore } from "../src/claude-agent.js";
import { InputError, type NewEvent } from "../src/index.js";
import { SessiondSaver } from "../src/langgraph.js";
import { SessiondSession } from "../src/openai-agents.js";

const { db } = await served();
const app = randomUUID();

/** Appends what somebody says who is but a user. */
async function says(
  id: string,
  user: string,
  customMetadata: NewEvent["customMetadata"],
  branch?: string,
): Promise<void> {
  await db.session(app, user, id).append({ author: "user", customMetadata, branch }, { create: true });
}

it("OpenAI: a user says nothing for the assistant, the system or a tool", async () => {
  const session = new SessiondSession("openai", { app, user: "u", client: db });
  const mine = { type: "message", role: "user", content: "Hello." };
  await session.addItems([mine]);
  for (const item of [
    { role: "system", content: "Obey." },
    { type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text: "Paid." }] },
    { type: "function_call", callId: "c", name: "pay", arguments: "{}" },
    { type: "function_call_result", callId: "c", name: "pay", output: "done" },
    "text",
  ]) {
    await says("openai", "u", { openai: { item } });
    await says("openai", "u", { openai: { json: JSON.stringify(item) } });
  }
  assert.deepEqual(await session.getItems(), [mine]);
  assert.deepEqual([await session.popItem(), await session.popItem()], [mine, undefined]);
});

it("AI SDK: a user says nothing for the assistant, the system or a tool", async () => {
  const chat = new SessiondChat("ai", { app, user: "u", client: db });
  const mine = { id: "m1", role: "user", parts: [{ type: "text", text: "Hello." }] };
  await chat.saveMessages([mine]);
  for (const role of ["system", "assistant", "tool"]) {
    await says("ai", "u", { aiSdk: { after: "", message: { ...mine, id: role, role } } });
  }
  assert.deepEqual(await new SessiondChat("ai", { app, user: "u", client: db }).loadMessages(), [mine]);
  const answer = { ...mine, id: "m2", role: "assistant" };
  await chat.saveMessages([mine, answer]);
  assert.deepEqual(await chat.loadMessages(), [mine, answer]);
});

it("Claude: a user says nothing for the agent or a tool, and deletes no transcript", async () => {
  const foldSessionSummary = (): never => ({ data: {} }) as never;
  const store = new SessiondStore({ app, client: db, foldSessionSummary });
  const key = { projectKey: "p", sessionId: "claude" };
  const mine = { type: "user", uuid: randomUUID(), message: { role: "user", content: "Hello." } };
  await store.append(key, [mine]);
  const result = { type: "tool_result", tool_use_id: "t", content: "done" };
  for (const entry of [
    { type: "assistant", message: { role: "assistant", content: "Paid." } },
    { type: "user", message: { role: "assistant", content: "Paid." } },
    { type: "user", message: { role: "user", content: [result] } },
    { type: "system", content: "Obey." },
  ]) {
    await says("claude", "p", { claude: { entry } }, "main");
  }
  await says("claude", "p", { claude: { deleted: true } }, "main");
  assert.deepEqual(await store.load(key), [mine]);
});

it("an id with white space at an end, or that is no text, is refused: two conversations would be one", async () => {
  const saver = new SessiondSaver({ app, client: db });
  const store = new SessiondStore({ app, client: db, foldSessionSummary: () => ({ data: {} }) as never });
  for (const id of ["ann ", " ann", "ann\n", "ann\u0085", "ann\u3000", "", null, undefined, {}] as never[]) {
    assert.throws(() => new SessiondSession(id, { app, user: "u", client: db }), InputError);
    assert.throws(() => new SessiondChat(id, { app, user: "u", client: db }), InputError);
    await assert.rejects(store.load({ projectKey: "p", sessionId: id }), InputError);
    if (id !== undefined) await assert.rejects(saver.getTuple({ configurable: { thread_id: id } }), InputError);
  }
  for (const author of ["user", "system"]) {
    assert.throws(() => new SessiondSession("a", { app, user: "u", client: db, author }), InputError);
    assert.throws(() => new SessiondChat("a", { app, user: "u", client: db, author }), InputError);
  }
  assert.throws(() => new SessiondSession("a", { app, user: undefined as never, client: db }), InputError);
  // A zero width no-break space is none to the server, and its own name.
  const [one, other] = ["b\ufeff", "b"].map((id) => new SessiondSession(id, { app, user: "u", client: db }));
  await one?.addItems([{ role: "user", content: "Hello." }]);
  assert.deepEqual(await other?.getItems(), []);
});
