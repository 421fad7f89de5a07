// The checkpointer of LangGraph: its own suite, graphs that another process goes on with, and faults.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { after, before, it } from "node:test";
import { promisify } from "node:util";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { Annotation, Command, END, interrupt, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { emptyCheckpoint, MemorySaver, uuid6 } from "@langchain/langgraph-checkpoint";
import { FaultyProxy } from "../../support/proxy.js";
import { Server } from "../../support/server.js";
import { Sessiond, textOf } from "../src/index.js";
import { SessiondSaver } from "../src/langgraph.js";
import { all } from "../src/pages.js";

const root = new URL("../../..", import.meta.url).pathname;
let server: Server;
let db: Sessiond;
before(async () => {
  server = await Server.start();
  db = new Sessiond(server.url);
});
after(async () => {
  db.close();
  await server.remove();
});

function saver(app: string, client: Sessiond | string = db): SessiondSaver {
  return new SessiondSaver({ app, user: "ada", client });
}

it("passes LangGraph's own suite", async () => {
  const env = { ...process.env, SESSIOND_URL: server.url, NO_COLOR: "1" };
  const args = ["run", "--globals", "--reporter=json", "dist-test/client/test/langgraph/suite.spec.js"];
  const { stdout } = await promisify(execFile)("node_modules/.bin/vitest", args, {
    cwd: root,
    env,
    maxBuffer: 1 << 26,
  });
  const { numPassedTests, numTotalTests, success } = JSON.parse(stdout) as Record<string, unknown>;
  assert.ok(success === true && Number(numTotalTests) > 700);
  assert.equal(numPassedTests, numTotalTests);
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

it("does what the saver in memory does, with branches, two writers and lost answers", async () => {
  const proxy = await FaultyProxy.start(server.port);
  const [app, memory] = [randomUUID(), new MemorySaver()];
  const savers = [saver(app, proxy.url), saver(app, proxy.url)];
  let seed = 11;
  const chance = (below: number): number => {
    seed = (seed * 48271) % 2147483647;
    return seed % below;
  };
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
        ["y", { deep: [n] }],
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
  await proxy.close();
});

/** Puts checkpoints one after the other, each of which changes one of two channels, and returns their ids and values. */
async function chain(saver: SessiondSaver, count: number, first = 0, parent?: string): Promise<[string, object][]> {
  const put: [string, object][] = [];
  let before = parent;
  for (let n = first; n < first + count; n += 1) {
    const checkpoint = {
      ...emptyCheckpoint(),
      id: uuid6(n),
      channel_values: { step: n, large: "x".repeat(500) },
      channel_versions: { step: n + 1, large: 1 },
    };
    const news: Record<string, number> = before === undefined ? checkpoint.channel_versions : { step: n + 1 };
    const metadata = { source: "loop" as const, step: n, parents: {} };
    await saver.put({ configurable: { thread_id: "t", checkpoint_id: before } }, checkpoint, metadata, news);
    before = checkpoint.id;
    put.push([checkpoint.id, checkpoint.channel_values]);
  }
  return put;
}

it("reads no more of a long thread than of a short one", async () => {
  const [app, proxy] = [randomUUID(), await FaultyProxy.start(server.port)];
  const counted = saver(app, proxy.url);
  const read = async (): Promise<number> => {
    const before = proxy.answered;
    await counted.getTuple({ configurable: { thread_id: "t" } });
    await all(counted.list({ configurable: { thread_id: "t" } }, { limit: 3 }));
    return proxy.answered - before;
  };
  const short = await chain(counted, 10);
  const bytes = await read();
  await chain(counted, 140, 10, short.at(-1)?.[0]);
  // Numbers have more digits there.
  assert.ok((await read()) < bytes + 300);
  counted.close();
  await proxy.close();
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
