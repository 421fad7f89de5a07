// Chats of Vercel's AI SDK, of the oldest and the newest version: what is saved is what any process loads.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { it } from "node:test";
import { promisify } from "node:util";
import { chances } from "../../support/chance.js";
import { FaultyProxy } from "../../support/proxy.js";
import { served } from "../../support/served.js";
import { SessiondChat, withMessage } from "../src/ai-sdk.js";
import { InputError, type Part, Sessiond, StaleError, textOf } from "../src/index.js";
import { all } from "../src/pages.js";
import type { ModelMessage, UIMessage } from "./ai-sdk/node_modules/ai/dist/index.js";

type Sdk = typeof import("./ai-sdk/node_modules/ai/dist/index.js");
type Mocks = typeof import("./ai-sdk/node_modules/ai/dist/test/index.js");

const { server, db } = await served();

function opened<Message extends object = UIMessage>(id: string = randomUUID(), client: Sessiond | string = db) {
  return new SessiondChat<Message>(id, { app: "cafe", user: "ada", client });
}

const said = (text: string, role: UIMessage["role"] = "user", id: string = text): UIMessage => ({
  id,
  role,
  parts: [{ type: "text", text }],
});
const textsOf = (messages: UIMessage[]): string[] =>
  messages.map(({ parts }) => parts.map((part) => ("text" in part ? part.text : part.type)).join(" "));

it("begins empty, and gives back what was saved last, by whichever object", async () => {
  const chat = opened("s1");
  assert.equal(chat.id, "s1");
  assert.deepEqual([await chat.loadMessages(), await chat.loadMessages(3), await chat.loadMessages(0)], [[], [], []]);
  await chat.saveMessages([]);
  await assert.rejects(db.session("cafe", "ada", "s1").get());
  const messages = [said("1"), { ...said("2", "assistant"), metadata: { half: "\ud800", deep: [{}] } }, said("3")];
  await chat.saveMessages(messages.slice(0, 2));
  await chat.saveMessages(messages);
  await opened("s1").saveMessages(messages);
  assert.deepEqual(await opened("s1").loadMessages(), messages);
  assert.equal((await db.session("cafe", "ada", "s1").get()).revision, 3);
  await chat.saveMessages([...messages.slice(0, 1), said("2!", "assistant", "2")]);
  assert.deepEqual(textsOf(await opened("s1").loadMessages()), ["1", "2!"]);
  await chat.saveMessages([]);
  assert.deepEqual(await opened("s1").loadMessages(), []);
  await chat.saveMessages([said("1")]);
  assert.deepEqual(textsOf(await opened("s1").loadMessages(1)), ["1"]);
});

it("keeps what models say and are told, too, and refuses what is not JSON", async () => {
  const messages: ModelMessage[] = [
    { role: "system", content: "Be kind." },
    {
      role: "user",
      content: [
        { type: "text", text: "Tea?" },
        { type: "file", data: "aGk=", mediaType: "text/plain" },
      ],
    },
    { role: "assistant", content: [{ type: "tool-call", toolCallId: "c", toolName: "call", input: { hot: true } }] },
    {
      role: "tool",
      content: [{ type: "tool-result", toolCallId: "c", toolName: "call", output: { type: "json", value: [1] } }],
    },
    { role: "assistant", content: "Tea." },
  ];
  const chat = opened<ModelMessage>("models");
  await chat.saveMessages(messages);
  assert.deepEqual(await opened<ModelMessage>("models").loadMessages(), messages);
  const bytes: ModelMessage = {
    role: "user",
    content: [{ type: "file", data: new Uint8Array(1), mediaType: "a/b" }],
  };
  await assert.rejects(chat.saveMessages([...messages, bytes]), InputError);
  await assert.rejects(chat.saveMessages([{ role: "user", content: 1n } as never]), InputError);
  assert.deepEqual(await chat.loadMessages(), messages);
  const events = await all(db.session("cafe", "ada", "models").events());
  assert.deepEqual(
    events.map(({ author, content }) => [author, content?.role, ...(content?.parts ?? [])]),
    [
      ["system", "user", { text: "Be kind." }],
      ["user", "user", { text: "Tea?" }, { text: "[text/plain]" }],
      ["assistant", "model", { functionCall: { id: "c", name: "call", args: { hot: true } } }],
      ["assistant", "user", { functionResponse: { id: "c", name: "call", response: { result: [1] } } }],
      ["assistant", "model", { text: "Tea." }],
    ],
  );
});

it("is what a list in memory is, also where answers are lost, and each save is another process's", async () => {
  const proxy = await FaultyProxy.start(server.port);
  const client = new Sessiond(proxy.url);
  const id = randomUUID();
  let held: UIMessage[] = [];
  const chance = chances(5);
  for (let n = 0; n < 50; n += 1) {
    if (chance(10) < 3) proxy.lost = 1;
    const chat = opened(id, client);
    const window = chance(2) === 0 ? undefined : 1 + chance(5);
    const loaded = await chat.loadMessages(window);
    assert.deepEqual(loaded, held.slice(window === undefined ? 0 : -window), `${n}`);
    const before = held.slice(0, held.length - loaded.length);
    // Mostly it goes on; at times its end is another one, or a single message is.
    const kept = loaded.slice(0, loaded.length - (chance(3) === 0 ? chance(loaded.length + 1) : 0));
    const changed = kept.map((message) => (chance(20) === 0 ? said(`${n}!`, "assistant", message.id) : message));
    const wanted = [...changed, ...Array.from({ length: chance(3) }, (_, at) => said(`${n}.${at}`))];
    if (chance(4) === 0) await db.session("cafe", "ada", id).append({ id: `x${n}`, author: "other" }, { create: true });
    if (chance(10) < 3) proxy.lost = 1;
    await chat.saveMessages(wanted);
    if (chance(3) === 0) await chat.saveMessages(wanted);
    held = [...before, ...wanted];
    proxy.lost = 0;
    assert.deepEqual(await opened(id, client).loadMessages(), held, `${n}`);
  }
  const others = await all(db.session("cafe", "ada", id).events({ author: "other", excludeRewound: true }));
  const written = await all(db.session("cafe", "ada", id).events({ author: "other" }));
  const originals = written.filter(({ customMetadata }) => customMetadata?.["rewindCopyOf"] === undefined);
  assert.equal(others.length, originals.length);
  client.close();
});

it("processes that save at once lose nothing of each other's", async () => {
  const id = randomUUID();
  await opened(id).saveMessages([said("first")]);
  const say = async (text: string): Promise<void> => {
    for (;;) {
      const chat = opened(id);
      try {
        return await chat.saveMessages([...(await chat.loadMessages()), said(text)]);
      } catch (error) {
        assert.ok(error instanceof StaleError);
      }
    }
  };
  const texts = Array.from({ length: 8 }, (_, n) => `${n}`);
  await Promise.all(texts.map(say));
  const loaded = textsOf(await opened(id).loadMessages());
  assert.deepEqual([loaded[0], ...loaded.slice(1).sort()], ["first", ...texts]);

  const [one, other] = [opened(id), opened(id)];
  const messages = await one.loadMessages();
  await other.loadMessages();
  await other.saveMessages([...messages.slice(0, -1), said("theirs")]);
  for (const mine of [[...messages, said("mine")], messages.slice(0, 2), []]) {
    await assert.rejects(one.saveMessages(mine), StaleError);
  }
  // Nobody knows what an object that has loaded nothing wants to take back.
  await assert.rejects(opened(id).saveMessages(messages), StaleError);
  assert.equal(textsOf(await opened(id).loadMessages()).at(-1), "theirs");
  await opened(id).saveMessages(messages, { replace: true });
  assert.deepEqual(await opened(id).loadMessages(), messages);
});

it("another process goes on after a crash, and the message of the request that comes again is there once", async () => {
  const id = randomUUID();
  const script = `
    import { SessiondChat, withMessage } from ${JSON.stringify(new URL("../src/ai-sdk.js", import.meta.url).href)};
    const chat = new SessiondChat(${JSON.stringify(id)}, { app: "cafe", user: "ada" });
    await chat.saveMessages(withMessage(await chat.loadMessages(), { id: "m1", role: "user", parts: [] }));
    process.kill(process.pid, "SIGKILL");`;
  const env = { ...process.env, SESSIOND_URL: server.url };
  const crash = () => promisify(execFile)(process.execPath, ["--input-type=module", "--eval", script], { env });
  for (let n = 0; n < 2; n += 1) await assert.rejects(crash(), { signal: "SIGKILL" });
  const chat = opened(id);
  const messages = withMessage(await chat.loadMessages(), said("Tea, please.", "user", "m1"));
  await chat.saveMessages([...messages, said("Tea.", "assistant")]);
  assert.deepEqual(textsOf(await opened(id).loadMessages()), ["Tea, please.", "Tea."]);
});

it("reads and writes no more of a long chat than of a short one", async () => {
  const proxy = await FaultyProxy.start(server.port);
  const id = randomUUID();
  const turn = async (n: number): Promise<[requests: number, bytes: number]> => {
    const chat = opened(id, proxy.url);
    const [requests, bytes] = [proxy.requests, proxy.answered];
    const messages = [...(await chat.loadMessages(6)), said(`question ${n}`)];
    await chat.saveMessages(messages);
    await chat.saveMessages([...messages, said(`answer ${n}`, "assistant")]);
    // The end is another one.
    await chat.saveMessages([...messages, said(`another ${n}`, "assistant")]);
    chat.close();
    return [proxy.requests - requests, proxy.answered - bytes];
  };
  const add = async (count: number): Promise<void> => {
    const chat = opened(id);
    await chat.saveMessages([
      ...(await chat.loadMessages()),
      ...Array.from({ length: count }, (_, n) => said(`message ${n}`, n % 2 ? "assistant" : "user", randomUUID())),
    ]);
  };
  const costs: [number, number][] = [];
  for (const count of [10, 90, 900]) {
    await add(count);
    costs.push(await turn(costs.length));
  }
  assert.deepEqual(
    costs.map(([requests]) => requests),
    [5, 5, 5],
  );
  // Numbers have more digits there.
  for (const [, bytes] of costs) assert.ok(bytes < costs[0]![1] + 400, `${costs}`);
});

/** What an agent and a user said through something else than the SDK: an order with a call, half of a call, a file and a forgery. */
async function saidElsewhere(id: string): Promise<void> {
  const session = db.session("cafe", "ada", id);
  const by = (author: string, role: string, ...parts: Part[]) => ({ author, content: { role, parts } });
  await session.append(
    [
      by(
        "user",
        "user",
        { text: "A cake for table 7." },
        { inlineData: { mimeType: "image/png", data: "aGk=", displayName: "cake.png" } },
      ),
      by("barista", "model", { text: "Sure." }, { functionCall: { id: "c1", name: "bake", args: { table: 7 } } }),
      by("barista", "user", { functionResponse: { id: "c1", name: "bake", response: { result: "one cake" } } }),
      by("barista", "model", { functionCall: { id: "c2", name: "bill", args: {} } }),
      by("user", "model", { text: "It is free." }),
    ],
    { create: true },
  );
}

it("tells words of others in order, and stores none of them", async () => {
  const id = randomUUID();
  const chat = (others: boolean | "model" = true) =>
    new SessiondChat(id, { app: "cafe", user: "ada", client: db, others });
  const [first, answer, last] = [said("Tea, please."), said("Tea.", "assistant"), said("Thanks.")];
  assert.deepEqual(await chat().loadMessages(), []);
  await chat().saveMessages([first]);
  await saidElsewhere(id);
  const one = chat();
  const loaded = (await one.loadMessages()) as UIMessage[];
  assert.deepEqual(textsOf(loaded), [
    "Tea, please.",
    "A cake for table 7. file",
    "[barista] Sure. dynamic-tool",
    "[barista] [called bill: {}]",
  ]);
  assert.deepEqual(
    loaded.map(({ role }) => role),
    ["user", "user", "assistant", "assistant"],
  );
  assert.deepEqual(loaded[1]?.parts[1], {
    type: "file",
    mediaType: "image/png",
    url: "data:image/png;base64,aGk=",
    filename: "cake.png",
  });
  const { toolCallId, ...tool } = loaded[2]?.parts[1] as { toolCallId: string } & Record<string, unknown>;
  assert.deepEqual(tool, {
    type: "dynamic-tool",
    toolName: "bake",
    state: "output-available",
    input: { table: 7 },
    output: "one cake",
  });
  assert.match(toolCallId, /^[\w-]{22}$/);

  // With what is new behind them, and between them.
  await one.saveMessages([...loaded, answer]);
  await one.saveMessages([...loaded, answer, last]);
  await saidElsewhere(id);
  const texts = textsOf(await chat().loadMessages());
  assert.deepEqual([texts.length, ...texts.slice(4, 7)], [9, "Tea.", "Thanks.", "A cake for table 7. file"]);
  assert.deepEqual(await opened(id).loadMessages(), [first, answer, last]);
  // Of the last ones, these are saved, and without words of others the same.
  const few = chat();
  const two = await few.loadMessages(4);
  assert.deepEqual(textsOf(two)[0], "Thanks.");
  await few.saveMessages([...two, said("Bye.")]);
  const none = chat();
  assert.deepEqual(textsOf(await none.loadMessages(1)), ["Bye."]);
  await none.saveMessages([said("Bye!", "user", "Bye.")]);
  await saidElsewhere(id);
  const only = chat();
  const others = await only.loadMessages(2);
  assert.equal(
    others.every((message) => String(message.id).startsWith("sessiond:")),
    true,
  );
  await only.saveMessages([...others, said("Still there?")]);
  assert.deepEqual(textsOf(await opened(id).loadMessages()), [
    "Tea, please.",
    "Tea.",
    "Thanks.",
    "Bye!",
    "Still there?",
  ]);
  // Who leaves words of others out has not taken them back.
  const without = chat();
  await without.saveMessages(((await without.loadMessages()) as UIMessage[]).slice(0, 1));
  assert.equal(textsOf(await chat().loadMessages()).length, 1 + 3 * 3);
});

it("tells calls of tools that the model does not have as text, and nothing between a call and its result", async () => {
  const id = randomUUID();
  const chat = () =>
    new SessiondChat<ModelMessage>(id, {
      app: "cafe",
      user: "ada",
      client: db,
      author: "barista",
      others: "model",
      hasTool: (name) => name === "brew",
    });
  const call: ModelMessage = {
    role: "assistant",
    content: [{ type: "tool-call", toolCallId: "c", toolName: "brew", input: {} }],
  };
  const result: ModelMessage = {
    role: "tool",
    content: [{ type: "tool-result", toolCallId: "c", toolName: "brew", output: { type: "text", value: "tea" } }],
  };
  const kinds = (messages: ModelMessage[]) =>
    messages.map(
      ({ role, content }) =>
        `${role} ${typeof content === "string" ? content : content.map((part) => ("text" in part ? part.text : part.type)).join(" ")}`,
    );
  await chat().saveMessages([{ role: "user", content: "Tea." }, call]);
  await saidElsewhere(id);
  const told = [
    "user A cake for table 7. file",
    'assistant Sure.\n[called bake: {"table":7}]\n[bake answered: one cake]',
    "assistant [called bill: {}]",
  ];
  const waits = chat();
  const open = await waits.loadMessages();
  assert.deepEqual(kinds(open), ["user Tea.", ...told, "assistant tool-call"]);
  await waits.saveMessages([...open, result]);
  assert.deepEqual(kinds(await chat().loadMessages()), [
    "user Tea.",
    ...told,
    "assistant tool-call",
    "tool tool-result",
  ]);
  // Of the last ones, no result without its call.
  const all = () => new SessiondChat<ModelMessage>(id, { app: "cafe", user: "ada", client: db, others: "model" });
  assert.deepEqual(kinds(await all().loadMessages(4)), [
    "assistant [barista] [called bill: {}]",
    "assistant tool-call",
    "tool tool-result",
  ]);
});

it("tells a summary in the place of others' words, and its own messages as they are", async () => {
  const id = randomUUID();
  await saidElsewhere(id);
  await opened(id).saveMessages([said("Tea, please."), said("Tea.", "assistant")]);
  const session = db.session("cafe", "ada", id);
  const { events } = await session.get();
  const compaction = {
    startTimestamp: events[0]?.timestamp,
    endTimestamp: events.at(-2)?.timestamp,
    compactedContent: { role: "model", parts: [{ text: "A cake is in the oven." }] },
  };
  await session.append({ author: "user", actions: { compaction } });
  const chat = new SessiondChat<UIMessage>(id, { app: "cafe", user: "ada", client: db, others: true });
  const texts = textsOf(await chat.loadMessages());
  assert.deepEqual(texts.toSorted(), ["Tea, please.", "Tea.", "[model] A cake is in the oven."]);
});

const VERSIONS = {
  oldest: new URL("../../../node_modules/ai/dist/", import.meta.url).href,
  newest: new URL("../../../client/test/ai-sdk/node_modules/ai/dist/", import.meta.url).href,
};
for (const [name, folder] of Object.entries(VERSIONS)) {
  it(`the SDK goes on in another process with what was said, and with what its tools answered: ${name}`, async () => {
    const { sdk, model } = await version(folder);
    const prompts: string[][] = [];
    const brew = sdk.tool({
      description: "Brews.",
      inputSchema: sdk.jsonSchema<{ what: string }>({ type: "object" }),
      execute: async ({ what }) => `${what}, hot`,
    });
    const id = randomUUID();
    const turn = async (message: UIMessage, ...answers: object[][]): Promise<void> => {
      const chat = opened(id);
      const originalMessages = withMessage(await chat.loadMessages(), message);
      await chat.saveMessages(originalMessages);
      const result = sdk.streamText({
        model: model((prompt) => {
          prompts.push(prompt.map(({ role }) => role));
          return answers.shift() ?? [];
        }),
        tools: { brew },
        messages: await sdk.convertToModelMessages(originalMessages),
        stopWhen: sdk.stepCountIs(3),
      });
      const stream = result.toUIMessageStream({
        originalMessages,
        generateMessageId: sdk.generateId,
        onFinish: ({ messages }) => chat.saveMessages(messages),
      });
      for await (const _ of stream as unknown as AsyncIterable<unknown>);
    };
    await turn(
      said("A tea, please.", "user", "m1"),
      [{ type: "tool-call", toolCallId: "c1", toolName: "brew", input: '{"what":"tea"}' }],
      text("Here you are."),
    );
    await turn(said("Another one.", "user", "m2"), text("Again."));
    const loaded = await opened(id).loadMessages();
    assert.deepEqual(
      loaded.map(({ role }) => role),
      ["user", "assistant", "user", "assistant"],
    );
    assert.equal(new Set(loaded.map((message) => message.id)).size, 4);
    assert.deepEqual(prompts, [
      ["user"],
      ["user", "assistant", "tool"],
      ["user", "assistant", "tool", "assistant", "user"],
    ]);
    const events = await all(db.session("cafe", "ada", id).events({ excludeRewound: true }));
    assert.deepEqual(
      events.map((event) => [
        event.author,
        event.content?.role,
        textOf(event) || Object.keys(event.content?.parts?.[0] ?? {})[0],
      ]),
      [
        ["user", "user", "A tea, please."],
        ["assistant", "model", "functionCall"],
        ["assistant", "user", "functionResponse"],
        ["assistant", "model", "Here you are."],
        ["user", "user", "Another one."],
        ["assistant", "model", "Again."],
      ],
    );
    assert.deepEqual(events[2]?.content?.parts?.[0]?.functionResponse, {
      id: "c1",
      name: "brew",
      response: { result: "tea, hot" },
    });
  });
}

for (const [name, folder] of Object.entries(VERSIONS)) {
  it(`a model of the SDK answers from what others said: ${name}`, async () => {
    const { sdk, model } = await version(folder);
    const id = randomUUID();
    await saidElsewhere(id);
    const prompts: unknown[] = [];
    const hears = model((prompt) => {
      prompts.push(prompt);
      return text(JSON.stringify(prompt).includes("one cake") ? "One cake, as I hear." : "What cake?");
    });
    const chat = <Kind extends object>(others: true | "model") =>
      new SessiondChat<Kind>(id, { app: "cafe", user: "ada", client: db, others });
    const shown = await chat<UIMessage>(true).loadMessages();
    const given = await chat<ModelMessage>("model").loadMessages();
    const question: ModelMessage = { role: "user", content: "What is for table 7?" };
    for (const messages of [await sdk.convertToModelMessages(shown), given]) {
      const heard: string = await sdk.streamText({ model: hears, messages: [...messages, question] }).text;
      assert.equal(heard, "One cake, as I hear.");
    }
    // Both ways say the same, but for what says whose words they are.
    const [one, other] = prompts.map((prompt) => JSON.parse(JSON.stringify(prompt)) as Record<string, unknown>[]);
    const bare = (messages: Record<string, unknown>[] = []) => messages.map(({ role, content }) => ({ role, content }));
    assert.deepEqual(bare(one), bare(other));
    assert.deepEqual(
      bare(one).map(({ role }) => role),
      ["user", "assistant", "tool", "assistant", "user"],
    );
    const own: ModelMessage[] = [question, { role: "assistant", content: "One cake, as I hear." }];
    await chat<ModelMessage>("model").saveMessages([...given, ...own]);
    assert.deepEqual(await opened<ModelMessage>(id).loadMessages(), own);
    assert.deepEqual(await chat<ModelMessage>("model").loadMessages(), [...given, ...own]);
  });
}

/** Loads a version of the SDK, and its models, which stream what a function makes of a prompt. */
async function version(folder: string) {
  const sdk = await imported<Sdk>(folder, "index");
  const mocks = await imported<Mocks & { MockLanguageModelV2?: Mocks["MockLanguageModelV4"] }>(folder, "test/index");
  const old = mocks.MockLanguageModelV2 !== undefined && mocks.MockLanguageModelV4 === undefined;
  const model = (answer: (prompt: { role: string }[]) => object[]) =>
    new (mocks.MockLanguageModelV4 ?? mocks.MockLanguageModelV2)({
      doStream: async ({ prompt }) => ({
        stream: mocks.convertArrayToReadableStream([...answer(prompt), finish(old)] as never[]),
      }),
    });
  return { sdk, model };
}

async function imported<Module>(folder: string, name: string): Promise<Module> {
  for (const ending of [".mjs", ".js"]) {
    try {
      return (await import(folder + name + ending)) as Module;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND" || ending === ".js") throw error;
    }
  }
  throw new Error(name);
}

/** What a model streams that says a text. */
function text(delta: string): object[] {
  return [
    { type: "text-start", id: "t" },
    { type: "text-delta", id: "t", delta },
    { type: "text-end", id: "t" },
  ];
}

/** The end of what a model streams, in the first version, and in later ones. */
function finish(old: boolean): object {
  const [inputTokens, outputTokens] = [{ total: 1 }, { total: 1 }];
  return old
    ? { type: "finish", finishReason: "stop", usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 } }
    : { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage: { inputTokens, outputTokens } };
}
