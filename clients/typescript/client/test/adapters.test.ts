// What holds for the adapters of all frameworks: whose words they believe, and which ids they take.
import assert from "node:assert/strict";
import { createHash, randomUUID } from "node:crypto";
import { it } from "node:test";
import { served } from "../../support/served.js";
import { SessiondChat } from "../src/ai-sdk.js";
import { SessiondStore, type SessionStoreEntry } from "../src/claude-agent.js";
import { InputError, type NewEvent } from "../src/index.js";
import { SessiondSaver } from "../src/langgraph.js";
import { SessiondSession } from "../src/openai-agents.js";
import { all } from "../src/pages.js";

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

/** What is larger than an event, and than regular expressions may repeat; and what JSON or sessiond do not have. */
const picture = `data:image/png;base64,${"iVBORw0NaNo".repeat(900_000)}`;
const odd = {
  numbers: [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0, 0, -0.5],
  half: "\ud83d NaN -0.0",
  "nul\0": "\\ud83d",
};

/** The names of the files of a session, and what the log says of them. */
async function files(id: string, user: string): Promise<{ saved: string[]; named: string[] }> {
  const session = db.session(app, user, id);
  const [saved, events] = [await all(session.artifacts.list()), await all(session.events())];
  const named = events.flatMap(({ actions }) => Object.keys(actions?.artifactDelta ?? {}));
  return { saved: saved.map(({ name }) => name), named };
}

it("OpenAI: an item that is larger than an event, and what JSON does not have, come back", async () => {
  const session = new SessiondSession("large", { app, user: "u", client: db });
  const items = [
    { type: "message", role: "user", content: [{ type: "input_image", image: picture }] },
    { type: "function_call", callId: "c", name: "look", arguments: "{}" },
    { type: "function_call_result", callId: "c", name: "look", status: "completed", output: odd },
    { type: "message", role: "user", content: "And now?" },
  ];
  await session.addItems(items);
  const again = new SessiondSession("large", { app, user: "u", client: db });
  assert.deepEqual(await again.getItems(), items);
  const { saved, named } = await files("large", "u");
  assert.equal(saved.length, 1);
  assert.match(saved[0] ?? "", /^oai\//);
  assert.deepEqual(named, saved);
  // What is taken back, and what is added once more behind a rewind, is the same.
  assert.deepEqual([await again.popItem(), await again.popItem()], [items[3], items[2]]);
  assert.deepEqual(await again.getItems(), items.slice(0, 2));
  const branch = await again.branch("large-branch");
  assert.deepEqual(await branch.getItems(), items.slice(0, 2));
  const once = again.turn("key");
  await once.addItems([items[2], items[0]]);
  await again.turn("key").addItems([items[2], items[0]]);
  assert.deepEqual(await again.getItems(), [...items.slice(0, 2), items[2], items[0]]);

  // Many at once, each of which would be taken alone.
  const many = Array.from({ length: 30 }, (_, n) => ({ role: "user", content: `${n} ${"x".repeat(500_000)}` }));
  const other = new SessiondSession("many", { app, user: "u", client: db });
  await other.addItems(many);
  assert.deepEqual(await other.getItems(), many);
});

it("Claude: an entry that is larger than an event is a file, and one that is refused takes no other with it", async () => {
  const foldSessionSummary = ((_: unknown, __: unknown, entries: SessionStoreEntry[]) => ({
    data: { last: entries.at(-1)?.["odd"] ?? null },
  })) as never;
  const store = new SessiondStore({ app, client: db, foldSessionSummary });
  for (const key of [
    { projectKey: "p", sessionId: "large" },
    { projectKey: "p", sessionId: "large", subpath: "subagents/a" },
  ]) {
    const result = { type: "tool_result", tool_use_id: "t", content: [{ type: "image", source: { data: picture } }] };
    const entries: SessionStoreEntry[] = [
      { type: "user", uuid: randomUUID(), message: { role: "user", content: "Look." } },
      { type: "user", uuid: randomUUID(), message: { role: "user", content: [result] }, toolUseResult: { picture } },
      { type: "user", uuid: randomUUID(), message: { role: "user", content: [{ type: "image", picture }] } },
      { type: "odd", uuid: randomUUID(), odd },
      { type: "assistant", uuid: randomUUID(), message: { role: "assistant", content: "I see." } },
    ];
    await store.append(key, entries);
    assert.deepEqual(await store.load(key), entries);
    // Again, as the SDK does it after a lost answer: nothing is there twice.
    await store.append(key, entries);
    assert.deepEqual(await store.load(key), entries);
    const refused = { type: "bad", uuid: randomUUID(), bytes: new Uint8Array(3) };
    const long = { type: "bad", uuid: "x".repeat(300) };
    const last = { type: "x", uuid: randomUUID(), n: 1 };
    await assert.rejects(store.append(key, [refused, long, last]), (error: InputError) => {
      assert.ok(error instanceof InputError);
      assert.match(error.message, /^2 of 3 entries are not stored, the others are: bad .*: .*; bad x+: /);
      return true;
    });
    assert.deepEqual(await store.load(key), [...entries, last]);
  }
  const { saved, named } = await files("large", "p");
  assert.equal(saved.length, 4);
  assert.ok(saved.every((name) => name.startsWith("claude/")));
  assert.deepEqual(named.sort(), saved.sort());
});

it("AI SDK: a message that is larger than an event, and what JSON does not have, come back", async () => {
  const chat = new SessiondChat("large", { app, user: "ai", client: db });
  const messages = [
    { id: "m1", role: "user", parts: [{ type: "file", mediaType: "image/png", url: picture }] },
    {
      id: "m2",
      role: "assistant",
      parts: [{ type: "tool-look", toolCallId: "c", state: "output-available", output: odd }],
    },
  ];
  await chat.saveMessages(messages);
  const again = new SessiondChat("large", { app, user: "ai", client: db });
  assert.deepEqual(await again.loadMessages(), messages);
  const { saved, named } = await files("large", "ai");
  assert.equal(saved.length, 1);
  assert.match(saved[0] ?? "", /^aiSdk\//);
  assert.deepEqual(named, saved);
  // A number that is another one is another message.
  const other = [
    messages[0],
    { ...messages[1], parts: [{ ...messages[1]?.parts[0], output: { ...odd, numbers: [null] } }] },
  ];
  await again.saveMessages(other as never);
  assert.deepEqual(await new SessiondChat("large", { app, user: "ai", client: db }).loadMessages(), other);
});

it("what Python's adapters have stored as a file or as a text is read, and a file that is another one is not believed", async () => {
  const session = db.session(app, "u", "python");
  await session.create();
  const text =
    '{"type":"function_call_result","callId":"c","output":{"mean":NaN,"most":[-Infinity,-0.0],"said":"NaN \\ud83d"}}';
  const item = {
    type: "function_call_result",
    callId: "c",
    output: { mean: Number.NaN, most: [Number.NEGATIVE_INFINITY, -0], said: "NaN \ud83d" },
  };
  const { version } = await session.artifacts.save("oai/f", Buffer.from(text), { event: "none" });
  const sha256 = createHash("sha256").update(text).digest("hex");
  const append = async (author: string, openai: object): Promise<unknown> =>
    await session.append({ author, invocationId: "g", customMetadata: { openai } });
  await append("assistant", { file: { name: "oai/f", sha256, version } });
  await append("assistant", { json: text });
  // A user says no such thing, nor anything that is no JSON.
  await append("user", { file: { name: "oai/f", sha256, version } });
  await append("user", { json: "{" });
  const read = new SessiondSession("python", { app, user: "u", client: db });
  assert.deepEqual(await read.getItems(), [item, item]);
  await append("assistant", { file: { name: "oai/f", sha256: "0".repeat(64), version } });
  await assert.rejects(read.getItems(), /is not what an event says that it is/);
  await session.artifacts.delete("oai/f");
  await assert.rejects(read.getItems(), /The file oai\/f of the session is gone/);
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
