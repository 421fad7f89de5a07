// The checkpointer of LangGraph: its own suite, graphs that another process goes on with, and faults.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "node:test";
import { promisify } from "node:util";
import { AIMessage, BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { Annotation, Command, END, interrupt, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { emptyCheckpoint, MemorySaver, uuid6 } from "@langchain/langgraph-checkpoint";
import { chances } from "../../support/chance.js";
import { FaultyProxy } from "../../support/proxy.js";
import { served } from "../../support/served.js";
import { type NewEvent, NotFoundError, type Part, type Sessiond, textOf } from "../src/index.js";
import { SessiondSaver } from "../src/langgraph.js";
import { all } from "../src/pages.js";

const root = new URL("../../..", import.meta.url).pathname;
const { server, db } = await served();

function saver(app: string, client: Sessiond | string = db): SessiondSaver {
  return new SessiondSaver({ app, user: "ada", client, messages: "messages" });
}

it("passes LangGraph's own suite", async () => {
  const env = { ...process.env, SESSIOND_URL: server.url, NO_COLOR: "1" };
  // No test is to be as fast as its own limit of 5 s says.
  const limits = ["--testTimeout=120000", "--hookTimeout=120000"];
  const args = ["run", "--globals", "--reporter=json", ...limits, "dist-test/client/test/langgraph/suite.spec.js"];
  // Where a test fails, it exits with 1, and says which one.
  const run = promisify(execFile)("node_modules/.bin/vitest", args, { cwd: root, env, maxBuffer: 1 << 26 });
  const { stdout } = await run.catch((error: { stdout: string }) => error);
  const { numTotalTests, success, testResults } = JSON.parse(stdout) as {
    numTotalTests: number;
    success: boolean;
    testResults: { assertionResults: { status: string; fullName: string; failureMessages: string[] }[] }[];
  };
  const failed = testResults.flatMap(({ assertionResults }) =>
    assertionResults.filter((one) => one.status !== "passed"),
  );
  assert.deepEqual(
    failed.map(({ fullName, failureMessages }) => [fullName, ...failureMessages]),
    [],
  );
  assert.ok(success && numTotalTests > 700);
});

it("a graph goes on in another process, as it does with the saver in memory in the same one", async () => {
  const [app, memory] = [randomUUID(), new MemorySaver()];
  const config = { configurable: { thread_id: "s1" } };
  const state = Annotation.Root({
    ...MessagesAnnotation.spec,
    drink: Annotation<string>,
    sizes: Annotation<Set<number>>,
  });
  const story = async (next: () => SessiondSaver | MemorySaver): Promise<unknown[]> => {
    const graph = () =>
      new StateGraph(state)
        .addNode("ask", () => ({ drink: interrupt("Which?") as string, sizes: new Set([1, 2]) }))
        .addNode("serve", ({ drink }) => ({ messages: [new AIMessage({ id: drink, content: `One ${drink}.` })] }))
        .addEdge(START, "ask")
        .addEdge("ask", "serve")
        .addEdge("serve", END)
        .compile({ checkpointer: next() });
    const told: unknown[] = [];
    const tell = ({ messages, ...values }: typeof state.State): unknown =>
      told.push([messages.map(({ text }) => text), values]);
    await graph().invoke({ messages: [new HumanMessage({ id: "1", content: "Tea!" })] }, config);
    told.push((await graph().getState(config)).next);
    tell(await graph().invoke(new Command({ resume: "green tea" }), config));
    const history = await all(graph().getStateHistory(config));
    for (const { values, next: nodes } of history) told.push([Object.keys(values as object).sort(), nodes]);
    // Back to where it asked, once more and with another beginning.
    const asked = history[2]?.config ?? config;
    tell(await graph().invoke(new Command({ resume: "coffee" }), asked));
    const changed = await graph().updateState(asked, { messages: [new HumanMessage({ id: "2", content: "Or?" })] });
    await graph().invoke(null, changed);
    tell(await graph().invoke(new Command({ resume: "cocoa" }), config));
    tell((await graph().getState(history[0]?.config ?? config)).values as typeof state.State);
    told.push((await all(graph().getStateHistory(config))).length);
    return told;
  };
  assert.deepEqual(await story(() => saver(app)), await story(() => memory));

  const said = await all(db.session(app, "ada", "s1").events({ author: "langgraph.checkpoint" }));
  assert.ok(said.map(textOf).includes("Tea!") && said.map(textOf).includes("One cocoa."));
  await saver(app).deleteThread("s1");
  assert.equal(await saver(app).getTuple(config), undefined);
});

it("tells a graph what others have said since it ran, each once, whenever they said it", async () => {
  const app = randomUUID();
  const session = db.session(app, "ada", "s1");
  const config = { configurable: { thread_id: "s1" } };
  const say = (author: string, role: string, ...parts: Part[]) =>
    session.append({ author, content: { role, parts } }, { create: true });
  const heard: string[][] = [];
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("answer", async ({ messages }) => {
      heard.push(messages.map(({ text }) => text));
      await say("barista", "model", { text: `While it ran: ${heard.length}` });
      return { messages: [new AIMessage(`Heard ${messages.length}.`)] };
    })
    .addNode("end", () => ({}))
    .addEdge(START, "answer")
    .addEdge("answer", "end")
    .addEdge("end", END)
    .compile({ checkpointer: saver(app) });
  const turn = async (question: string): Promise<void> => {
    const told = await saver(app).others(config);
    await say("barista", "model", { text: `Too late for: ${question}` });
    await graph.invoke({ messages: [...told, new HumanMessage(question)] }, config);
  };
  assert.deepEqual(await saver(app).others(config), []);
  await assert.rejects(saver(app).others({}), TypeError);
  await say(
    "user",
    "user",
    { text: "A cake." },
    { inlineData: { mimeType: "image/png", data: "aGk=" } },
    { inlineData: { mimeType: "text/plain", data: "aGk=", displayName: "note.txt" } },
  );
  await say("barista", "model", { text: "Sure." }, { functionCall: { id: "c", name: "bake", args: { n: 1 } } });
  await say("barista", "user", { functionResponse: { id: "c", name: "bake", response: { result: "one cake" } } });
  await say("user", "model", { text: "It is free." });
  const [cake, sure, baked, ...none] = await saver(app).others(config);
  assert.deepEqual(none, []);
  assert.deepEqual(cake?.content, [
    { type: "text", text: "A cake.\n[file: note.txt text/plain]" },
    { type: "image_url", image_url: { url: "data:image/png;base64,aGk=" } },
  ]);
  assert.ok(cake instanceof HumanMessage && sure instanceof AIMessage && baked instanceof ToolMessage);
  assert.equal(sure.text, "[barista] Sure.");
  const [call] = sure.tool_calls ?? [];
  assert.deepEqual([call?.name, call?.args, call?.id], ["bake", { n: 1 }, baked.tool_call_id]);
  assert.equal(baked.content, "one cake");
  const texts = await saver(app).others(config, { hasTool: () => false });
  assert.equal(texts[1]?.text, '[barista] Sure.\n[called bake: {"n":1}]\n[bake answered: one cake]');

  await turn("One?");
  const between = ["[barista] Too late for: One?", "[barista] While it ran: 1"];
  assert.deepEqual(
    (await saver(app).others(config)).map(({ text }) => text),
    between,
  );
  await turn("Two?");
  await turn("Three?");
  assert.deepEqual(heard[2], [
    "A cake.\n[file: note.txt text/plain]",
    "[barista] Sure.",
    "one cake",
    "One?",
    "Heard 4.",
    ...between,
    "Two?",
    "Heard 8.",
    "[barista] Too late for: Two?",
    "[barista] While it ran: 2",
    "Three?",
  ]);
  // Given twice, they are there once.
  const again = [...(await saver(app).others(config)), ...(await saver(app).others(config))];
  const { messages } = await graph.invoke({ messages: again }, config);
  assert.equal(messages.filter(({ text }) => text === "[barista] While it ran: 3").length, 1);
});

it("does what the saver in memory does, with branches, two writers and lost answers", async () => {
  const proxy = await FaultyProxy.start(server.port);
  const [app, memory] = [randomUUID(), new MemorySaver()];
  const savers = [saver(app, proxy.url), saver(app, proxy.url)];
  const chance = chances(11);
  const puts: { id: string; versions: Record<string, number>; values: Record<string, unknown> }[] = [];
  const config = (id?: string) => ({
    configurable: { thread_id: "t", checkpoint_ns: "a/b|c", ...(id ? { checkpoint_id: id } : {}) },
  });
  for (let n = 0; n < 60; n += 1) {
    if (chance(10) < 3) proxy.lost = 1;
    const mine = savers[chance(2)] as SessiondSaver;
    // Mostly of the last one, at times of another: a branch, whose versions are the same numbers.
    const parent = puts[chance(4) === 0 ? chance(puts.length || 1) : puts.length - 1];
    const values = { ...parent?.values };
    const versions = { ...parent?.versions };
    const news: Record<string, number> = {};
    for (const channel of ["x", "y", "z, odd", "__proto"].filter(() => chance(2) === 0)) {
      news[channel] = versions[channel] = (versions[channel] ?? 0) + 1;
      if (chance(5) === 0) delete values[channel];
      else values[channel] = [n, channel, "half \ud800", new Uint8Array([n])];
    }
    const checkpoint = { ...emptyCheckpoint(), id: uuid6(n), channel_values: values, channel_versions: versions };
    const metadata = { source: "loop" as const, step: n, parents: {} };
    for (const one of [memory, mine]) await one.put(config(parent?.id), checkpoint, metadata, news);
    puts.push({ id: checkpoint.id, versions, values });
    for (const task of ["b", "a"].slice(chance(3))) {
      const writes = [
        ["x", n],
        ["__error__", `${n}`],
        ["constructor", { deep: [n] }],
      ] as [string, unknown][];
      for (const one of [memory, mine, mine]) await one.putWrites(config(checkpoint.id), writes, task, `~${chance(1)}`);
    }
  }
  proxy.lost = 0;
  const [listed, expected] = [await all(saver(app).list(config())), await all(memory.list(config()))];
  assert.equal(listed.length, 60);
  assert.deepEqual(
    listed.map(({ checkpoint }) => checkpoint.id).sort(),
    expected.map(({ checkpoint }) => checkpoint.id).sort(),
  );
  for (const tuple of expected) {
    const id = tuple.checkpoint.id;
    assert.deepEqual(await saver(app).getTuple(config(id)), tuple, id);
    assert.deepEqual(
      listed.find(({ checkpoint }) => checkpoint.id === id),
      { ...tuple, config: config(id) },
      id,
    );
  }
  for (const one of savers) one.close();
});

/** Puts checkpoints one after the other, each of which changes one of two channels, and returns their ids and values. */
async function chain(saver: SessiondSaver, count: number, first = 0): Promise<[string, object][]> {
  const put: [string, object][] = [];
  let parent: string | undefined;
  for (let n = first; n < first + count; n += 1) {
    const checkpoint = {
      ...emptyCheckpoint(),
      id: uuid6(n),
      channel_values: { step: n, messages: [new HumanMessage({ id: "m", content: "x".repeat(2000) })] },
      channel_versions: { step: n + 1, messages: 1 },
    };
    const news: Record<string, number> = parent === undefined ? checkpoint.channel_versions : { step: n + 1 };
    const metadata = { source: "loop" as const, step: n, parents: {} };
    await saver.put({ configurable: { thread_id: "t", checkpoint_id: parent } }, checkpoint, metadata, news);
    parent = checkpoint.id;
    put.push([checkpoint.id, checkpoint.channel_values]);
  }
  return put;
}

it("reads no more of a long thread than of a short one", async () => {
  const [app, proxy] = [randomUUID(), await FaultyProxy.start(server.port)];
  const counted = saver(app, proxy.url);
  const config = (id?: string) => ({ configurable: { thread_id: "t", ...(id ? { checkpoint_id: id } : {}) } });
  const spent = async (most: number, run: () => Promise<unknown>): Promise<void> => {
    const [requests, bytes] = [proxy.requests, proxy.answered];
    await run();
    assert.ok(proxy.requests - requests <= most);
    // The messages are in the state, and in the event that has set them.
    assert.ok(proxy.answered - bytes <= 8192 + 2 * messages, `${proxy.answered - bytes} bytes`);
  };
  const put = await chain(counted, 10);
  const session = db.session(app, "ada", "t");
  const messages = JSON.stringify(await session.state("lg//messages")).length;
  let [last] = await all(session.events({ last: 1 }));
  for (const count of [10, 90, 900]) {
    if (count > 10) {
      // As they would be put, one after the other.
      const events = Array.from({ length: count }, (_, n) => {
        const [id, said] = [
          `${String(n).padStart(6, "1")}-${randomUUID()}`,
          last?.customMetadata?.["langgraph"] as object,
        ];
        const checkpoint = {
          json: { ...emptyCheckpoint(), id, channel_versions: { step: `${count}.${n}`, messages: 1 } },
        };
        const stateDelta = { "lg//": id, "lg//step": { v: `${count}.${n}`, json: n } };
        const customMetadata = { langgraph: { ...said, id, parent: last?.invocationId?.slice(1), checkpoint } };
        last = { ...last!, id, invocationId: `@${id}`, customMetadata, actions: { stateDelta } };
        return { ...last, sequence: undefined, commitTime: undefined };
      });
      await session.append(events);
    }
    await spent(2, async () => {
      const tuple = await counted.getTuple(config());
      assert.equal(tuple?.checkpoint.channel_values["step"], count === 10 ? 9 : count - 1);
      assert.equal((tuple?.checkpoint.channel_values["messages"] as unknown[]).length, 1);
    });
    await spent(2, async () => {
      const tuple = await counted.getTuple(config(put[0]![0]));
      assert.deepEqual(tuple?.checkpoint.channel_values, put[0]![1]);
    });
    await spent(4, async () => assert.equal((await all(counted.list(config(), { limit: 3 }))).length, 3));
    const before = config(put[4]![0]);
    await spent(4 + 3, async () => {
      const listed = await all(counted.list(config(), { limit: 3, before }));
      assert.deepEqual(
        listed.map(({ metadata }) => metadata?.step),
        [3, 2, 1],
      );
    });
  }
  counted.close();
});

it("a value that is too large for an event is a file, which goes with the last checkpoint that has it", async () => {
  const app = randomUUID();
  const [one, two] = ["1".repeat(3 << 20), "2".repeat(3 << 20)];
  const config = { configurable: { thread_id: "t" } };
  const metadata = { source: "loop" as const, step: 0, parents: {} };
  const writer = saver(app);
  const put = async (value: unknown, version: number, parent?: string) => {
    const values = { large: value, small: version };
    const versions = { large: version, small: version };
    const checkpoint = { ...emptyCheckpoint(), id: uuid6(version), channel_values: values, channel_versions: versions };
    const of = { configurable: { thread_id: "t", checkpoint_id: parent } };
    return (await writer.put(of, checkpoint, metadata, versions)).configurable?.["checkpoint_id"] as string;
  };
  const first = await put(one, 1);
  await writer.putWrites({ configurable: { thread_id: "t", checkpoint_id: first } }, [["large", two]], "task");
  const second = await put(two, 2, first);
  const third = await put(two, 3, second);
  const largeOf = async (id?: string): Promise<unknown> =>
    (await saver(app).getTuple({ configurable: { thread_id: "t", checkpoint_id: id } }))?.checkpoint.channel_values[
      "large"
    ];
  assert.ok((await largeOf(first)) === one && (await largeOf(second)) === two && (await largeOf()) === two);
  const listed = await all(saver(app).list(config));
  assert.ok(listed.length === 3 && listed[2]?.pendingWrites?.[0]?.[2] === two);
  const session = db.session(app, "ada", "t");
  const names = async (): Promise<number> => (await all(session.artifacts.list())).length;
  assert.equal(await names(), 4);

  await saver(app).prune(["t", "not there"]);
  assert.ok((await largeOf()) === two && (await names()) === 1);
  assert.deepEqual([await largeOf(first), await largeOf(second)], [undefined, undefined]);
  assert.equal((await all(saver(app).list(config))).length, 1);
  assert.equal((await session.get({ last: 0 })).baseRevision, 3);
  await put(one, 4, third);
  assert.equal((await all(saver(app).list(config))).length, 2);
  await saver(app).prune(["t"], { strategy: "delete" });
  await assert.rejects(session.get(), NotFoundError);
  await assert.rejects(saver(app).prune(["t"], { strategy: "other" as "delete" }), TypeError);
});

it("values and a message that nearly fill an event go into it together, or into files", async () => {
  const most = "x".repeat((1 << 20) - 176);
  const values = { a: most, b: most, c: most, messages: [new HumanMessage({ id: "m", content: most })] };
  const versions = { a: 1, b: 1, c: 1, messages: 1 };
  const checkpoint = { ...emptyCheckpoint(), id: uuid6(1), channel_values: values, channel_versions: versions };
  const [app, config] = [randomUUID(), { configurable: { thread_id: "t" } }];
  await saver(app).put(config, checkpoint, { source: "loop", step: 0, parents: {} }, versions);
  assert.deepEqual((await saver(app).getTuple(config))?.checkpoint.channel_values, values);
  assert.deepEqual((await all(db.session(app, "ada", "t").events())).map(textOf), [most]);
});

it("reads the golden thread of the adapter in Python", async () => {
  const golden = JSON.parse(readFileSync(join(root, "../wire/langgraph.json"), "utf8")) as {
    events: NewEvent[];
    tuples: Record<string, unknown>[];
  };
  const app = randomUUID();
  await db.session(app, "ada", "t").append(golden.events, { create: true });
  /** As the file has values: a message by what it says, bytes in hex. */
  const simple = (value: unknown): unknown => {
    if (value instanceof Uint8Array) return { hex: Buffer.from(value).toString("hex") };
    if (Array.isArray(value)) return value.map(simple);
    if (value instanceof BaseMessage) return { type: value.type, id: value.id, content: value.content };
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, simple(each)]));
  };
  const tuples = await all(saver(app).list({ configurable: { thread_id: "t" } }));
  assert.deepEqual(
    tuples.map(({ config, parentConfig, checkpoint, metadata, pendingWrites }) => {
      const { thread_id: _, ...named } = config.configurable ?? {};
      return {
        config: named,
        parent: parentConfig?.configurable?.["checkpoint_id"] ?? null,
        versions: checkpoint.channel_versions,
        values: simple(checkpoint.channel_values),
        metadata,
        writes: simple(pendingWrites),
      };
    }),
    golden.tuples,
  );
  for (const { config, checkpoint } of tuples) {
    const tuple = await saver(app).getTuple({ configurable: { ...config.configurable } });
    assert.deepEqual(tuple?.checkpoint, checkpoint);
  }
});

it("reads what the adapter in Python has written, and goes on with it", async () => {
  // A graph with the channels `messages`, `total`, `drink` and `odd`, which has asked after the first four events.
  const { asked, events } = JSON.parse(readFileSync(join(root, "client/test/langgraph/python.json"), "utf8")) as {
    asked: number;
    events: NewEvent[];
  };
  const app = randomUUID();
  const config = (thread: string) => ({ configurable: { thread_id: thread } });
  await db.session(app, "ada", "whole").append(events, { create: true });
  const { checkpoint, metadata, pendingWrites = [] } = (await saver(app).getTuple(config("whole")))!;
  const { messages, ...values } = checkpoint.channel_values as { messages: AIMessage[] };
  assert.deepEqual(values, {
    total: 2 ** 40 + 1,
    drink: "two",
    odd: {
      set: new Set([1]),
      when: "2026-01-02T00:00:00",
      bytes: new Uint8Array([0, 255]),
      id: "00000000-0000-0000-0000-000000000001",
    },
  });
  assert.deepEqual(
    messages.map(({ type, id, text }) => [type, id, text]),
    [
      ["human", "1", "Tea \u{1f375}"],
      ["ai", "2", ""],
      ["tool", "3", "hot"],
      ["ai", "4", "Here you are."],
    ],
  );
  assert.deepEqual(messages[1]?.tool_calls, [{ name: "brew", args: { tea: "green" }, id: "c1", type: "tool_call" }]);
  assert.deepEqual([metadata?.source, metadata?.step, pendingWrites], ["loop", 2, []]);
  const listed = await all(saver(app).list(config("whole")));
  assert.deepEqual(
    listed.map((tuple) => [tuple.metadata?.step, tuple.pendingWrites?.map(([, channel]) => channel)]),
    [
      [2, []],
      [1, ["messages", "total"]],
      [0, ["__resume__", "__resume__", "__interrupt__", "drink", "odd", "branch:to:serve"]],
      [-1, ["messages", "total", "branch:to:ask"]],
    ],
  );

  await db.session(app, "ada", "half").append(events.slice(0, asked), { create: true });
  const state = Annotation.Root({
    ...MessagesAnnotation.spec,
    total: Annotation<number>({ reducer: (one, other) => one + other, default: () => 0 }),
    drink: Annotation<string>,
  });
  const graph = new StateGraph(state)
    .addNode("ask", () => ({ drink: interrupt("How many?") as string }))
    .addNode("serve", () => ({ messages: [new AIMessage({ id: "2", content: "Here you are." })], total: 1 }))
    .addEdge(START, "ask")
    .addEdge("ask", "serve")
    .addEdge("serve", END)
    .compile({ checkpointer: saver(app) });
  assert.deepEqual((await graph.getState(config("half"))).next, ["ask"]);
  const done = await graph.invoke(new Command({ resume: "three" }), config("half"));
  assert.deepEqual(
    [done.messages.map(({ text }) => text), done.total, done.drink],
    [["Tea \u{1f375}", "Here you are."], 2 ** 40 + 1, "three"],
  );
});

it("graphs that run on one thread at once read what they have put, each of its own", async () => {
  const app = randomUUID();
  const savers = Array.from({ length: 4 }, () => saver(app));
  const put = await Promise.all(savers.map((one, n) => chain(one, 10, n * 100)));
  for (const [id, values] of put.flat()) {
    const tuple = await saver(app).getTuple({ configurable: { thread_id: "t", checkpoint_id: id } });
    assert.deepEqual(tuple?.checkpoint.channel_values, values);
  }
  assert.equal((await all(saver(app).list({ configurable: { thread_id: "t" } }))).length, 40);
});

/** Puts two checkpoints, of which the second leaves the channel `messages` as it is; returns the configuration of the second. */
async function twoCheckpoints(one: SessiondSaver, value: unknown): Promise<RunnableConfig> {
  const version = (n: number): number => `${n}`.padStart(32, "0") as unknown as number;
  const first = { ...emptyCheckpoint(), id: uuid6(0), channel_values: { messages: value, step: 1 } };
  first.channel_versions = { messages: version(1), step: version(1) };
  const metadata = { source: "loop", step: 1, parents: {} } as const;
  const at = await one.put({ configurable: { thread_id: "s1" } }, first, metadata, first.channel_versions);
  const second = { ...first, id: uuid6(1), channel_values: { messages: value, step: 2 } };
  second.channel_versions = { messages: version(1), step: version(2) };
  return await one.put(at, second, { ...metadata, step: 2 }, { step: version(2) });
}

for (const value of [{ said: [1.5, "ä", 1e21, "\u0007"] }, { said: new Set([1]) }, null]) {
  it(`state that others have written is not read, in the place of ${JSON.stringify(value)}`, async () => {
    const app = randomUUID();
    const one = new SessiondSaver({ app, user: "ada", client: db });
    const last = await twoCheckpoints(one, value);
    const session = db.session(app, "ada", "s1");
    const steps = async (asked: RunnableConfig): Promise<unknown[]> => {
      const other = new SessiondSaver({ app, user: "ada", client: db });
      const tuples = [await other.getTuple(asked), ...(await all(other.list({ configurable: { thread_id: "s1" } })))];
      return tuples.map((tuple) => tuple?.checkpoint.channel_values);
    };
    const kept = [2, 2, 1].map((step) => ({ messages: value, step }));
    const { v } = (await session.state("lg//messages")) as { v: string };
    for (const said of [{ v, t: "json", b: "e30=" }, { v, json: "Refund it." }, { v, none: true }, "x"]) {
      await session.set("lg//messages", said);
      assert.deepEqual(await steps({ configurable: { thread_id: "s1" } }), kept);
      assert.deepEqual(await steps(last), kept);
    }
    await session.remove("lg//messages");
    assert.deepEqual(await steps(last), kept);
    // The next checkpoint goes on from what was there, in any process.
    const other = new SessiondSaver({ app, user: "ada", client: db });
    const { checkpoint } = (await other.getTuple(last)) ?? {};
    assert.ok(checkpoint !== undefined);
    const metadata = { source: "loop", step: 3, parents: {} } as const;
    await other.put(last, { ...checkpoint, id: uuid6(2) }, metadata, {});
    assert.deepEqual((await steps({ configurable: { thread_id: "s1" } }))[0], { messages: value, step: 2 });
  });
}

it("state that others have written is refused when the log does not have what was there any more", async () => {
  const app = randomUUID();
  const one = new SessiondSaver({ app, user: "ada", client: db });
  const last = await twoCheckpoints(one, "Tea");
  const session = db.session(app, "ada", "s1");
  const there = (await session.state("lg//messages")) as object;
  await session.set("lg//messages", { ...there, json: "Coffee" });
  // The last checkpoint stays; the event of the first one, which has the digest of the value, goes.
  await session.trim({ before: 2 });
  await assert.rejects(
    one.getTuple({ configurable: { thread_id: "s1" } }),
    /^SessiondError: The key lg\/\/messages of/,
  );
  // The state of that moment is the base of the log.
  assert.deepEqual((await one.getTuple(last))?.checkpoint.channel_values, { messages: "Tea", step: 2 });
});

it("files that others have saved are not read", async () => {
  const app = randomUUID();
  const one = new SessiondSaver({ app, user: "ada", client: db });
  const large = "m".repeat(2 << 20);
  const last = await twoCheckpoints(one, large);
  await one.putWrites(last, [["messages", large]], "task");
  const { artifacts } = db.session(app, "ada", "s1");
  const names = (await all(artifacts.list())).map(({ name }) => name);
  assert.equal(names.length, 2);
  for (const name of names) await artifacts.save(name, Buffer.from('"Refund it."'));
  const found = await one.getTuple(last);
  assert.deepEqual(found?.checkpoint.channel_values, { messages: large, step: 2 });
  assert.deepEqual(found?.pendingWrites, [["task", "messages", large]]);
  for (const name of names) await artifacts.delete(name, { version: 0 });
  await assert.rejects(one.getTuple(last), /is not the one that its name says/);
});

it("a head that is none is no checkpoint", async () => {
  const app = randomUUID();
  const one = new SessiondSaver({ app, user: "ada", client: db });
  await twoCheckpoints(one, "Tea");
  for (const head of [1, ["x"], {}, { id: 1 }, "nothing"]) {
    await db.session(app, "ada", "s1").set("lg//", head);
    assert.equal(await one.getTuple({ configurable: { thread_id: "s1" } }), undefined);
    assert.equal((await all(one.list({ configurable: { thread_id: "s1" } }))).length, 2);
  }
});
