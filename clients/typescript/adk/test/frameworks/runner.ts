// Each framework's own runner, with a scripted model, tools and operators.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, it } from "node:test";
import * as google from "@google/adk";
import * as iqai from "@iqai/adk";
import adk from "adk-typescript";
import { Server } from "../../../support/server.js";
import * as onAdk from "../../src/adk-typescript.js";
import * as onGoogle from "../../src/index.js";
import * as onIqai from "../../src/iqai.js";
import { plain } from "../support/plain.js";

// adk-typescript tells the console whatever it does.
console.log = () => {};
const server = await Server.shared();
const sessions = plain(server.url);

interface Part {
  text?: string;
  functionCall?: { name: string; args: Record<string, unknown> };
}

const call = (name: string, args: Record<string, unknown> = {}): Part => ({ functionCall: { name, args } });

/** The turns of a model, one after the other. */
class Script {
  readonly #turns: (Part | Error)[];

  constructor(...turns: (Part | Error)[]) {
    this.#turns = turns;
  }

  next(): Part {
    const turn = this.#turns.shift();
    if (turn === undefined) throw new Error("The script is at its end.");
    if (turn instanceof Error) throw turn;
    return structuredClone(turn);
  }
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

/** What a session is as stored, by a reader of its own. */
async function stored(appName: string, sessionId = "s") {
  const session = (await sessions.get({ appName, userId: "ada", sessionId }))!;
  return { state: { ...session.state }, events: session.events, authors: session.events.map((event) => event.author) };
}

const bill = (n: number) => ({ inlineData: { data: Buffer.from(`${n} tea`).toString("base64"), mimeType: "a/b" } });

/** The versions that the events of a session name. */
async function deltas(appName: string): Promise<object[]> {
  const named = (await stored(appName)).events.map(
    ({ actions }) => (actions as { artifactDelta?: object }).artifactDelta,
  );
  return named.filter((delta) => delta !== undefined && Object.keys(delta).length > 0) as object[];
}

describe("@google/adk", () => {
  class Model extends google.BaseLlm {
    constructor(readonly script: Script) {
      super({ model: "scripted" });
    }
    override async *generateContentAsync(): AsyncGenerator<google.LlmResponse, void> {
      const part = this.script.next();
      if (part.text) yield { content: { role: "model", parts: [{ text: part.text.slice(0, 1) }] }, partial: true };
      yield { content: { role: "model", parts: [part] } };
    }
    override async connect(): Promise<google.BaseLlmConnection> {
      throw new Error("no");
    }
  }
  type Tool = (context: google.Context) => Promise<unknown>;
  const runnerOf = (
    service: onGoogle.SessiondSessionService,
    appName: string,
    script: Script,
    tool: Tool,
    artifactService?: onGoogle.SessiondArtifactService,
  ) =>
    new google.Runner({
      appName,
      sessionService: service,
      ...(artifactService === undefined ? {} : { artifactService }),
      agent: new google.LlmAgent({
        name: "waiter",
        model: new Model(script),
        instruction: "Serve.",
        outputKey: "said",
        tools: [
          new google.FunctionTool({ name: "order", description: "Orders.", execute: (_, context) => tool(context!) }),
        ],
      }),
    });
  const say = (text: string) => ({ userId: "ada", sessionId: "s", newMessage: { role: "user", parts: [{ text }] } });

  it("runs turns with tools, whose operators are events of their own", async () => {
    const service = new onGoogle.SessiondSessionService(server.url);
    const appName = randomUUID();
    await service.createSession({
      appName,
      userId: "ada",
      sessionId: "s",
      state: { "app:orders": 1, gone: 1, had: ["a"] },
    });
    const results: unknown[] = [];
    const tool: Tool = async (context) => {
      context.state.set("temp:t", 1);
      context.state.set("drink", "tea");
      results.push(await onGoogle.ops.increment(context, "app:orders"), context.state.get("app:orders"));
      results.push(await onGoogle.ops.append(context, "user:items", "tea", ["x"]));
      results.push(await onGoogle.ops.union(context, "had", "a", "b"));
      await onGoogle.ops.remove(context, "gone");
      results.push(context.state.has("gone"));
      const many = [{ op: "set", key: "a", value: null } as const, { op: "max", key: "m", value: 3 } as const];
      results.push({ ...(await onGoogle.ops.apply(context, many, { preconditions: [{ key: "a", exists: false }] })) });
      await assert.rejects(
        onGoogle.ops.apply(context, many, { preconditions: [{ key: "a", exists: false }] }),
        onGoogle.StaleSessionError,
      );
      await assert.rejects(onGoogle.ops.increment(context, "drink2", "x" as never), onGoogle.SessiondInputError);
      return { ok: true };
    };
    const runner = runnerOf(service, appName, new Script(call("order"), { text: "Coming." }), tool);
    const events = await all(runner.runAsync(say("Tea, please.")));
    assert.deepEqual(results, [2, 2, ["tea", ["x"]], ["a", "b"], false, { a: null, m: 3 }]);
    assert.equal(events.filter((event) => event.partial).length, 1);
    const found = await stored(appName);
    assert.deepEqual(found.state, {
      "app:orders": 2,
      "user:items": ["tea", ["x"]],
      had: ["a", "b"],
      a: null,
      m: 3,
      drink: "tea",
      said: "Coming.",
    });
    assert.deepEqual(found.authors, ["user", ...Array(8).fill("waiter")]);
    assert.equal(new Set(found.events.map((event) => event.invocationId)).size, 1);

    // A second run reads what the first wrote.
    const again = runnerOf(service, appName, new Script({ text: "Again." }), tool);
    await all(again.runAsync(say("And?")));
    assert.equal((await stored(appName)).events.length, 11);
  });

  it("keeps files, whose versions its events name", async () => {
    const service = new onGoogle.SessiondSessionService(server.url);
    const files = new onGoogle.SessiondArtifactService(server.url);
    const appName = randomUUID();
    await service.createSession({ appName, userId: "ada", sessionId: "s" });
    const results: unknown[] = [];
    const tool: Tool = async (context) => {
      results.push(await context.saveArtifact("bill/1", bill(results.length)));
      results.push(await context.loadArtifact("bill/1", 0), await context.listArtifacts());
    };
    const script = new Script(call("order"), { text: "Coming." }, call("order"), { text: "Again." });
    const runner = runnerOf(service, appName, script, tool, files);
    for (const text of ["Tea.", "More."]) await all(runner.runAsync(say(text)));
    assert.deepEqual(results, [0, bill(0), ["bill/1"], 1, bill(0), ["bill/1"]]);
    assert.deepEqual(await deltas(appName), [{ "bill/1": 0 }, { "bill/1": 1 }]);
  });

  it("takes turns, and a failed one ends, too", async () => {
    const service = new onGoogle.SessiondSessionService({ url: server.url, concurrency: "lease", leaseWaitMs: 20_000 });
    const other = new onGoogle.SessiondSessionService({ url: server.url, concurrency: "lease", lease: "fail" });
    const appName = randomUUID();
    await service.createSession({ appName, userId: "ada", sessionId: "s" });
    const rival = runnerOf(other, appName, new Script({ text: "no" }), async () => {});
    const script = new Script(call("order"), { text: "One." }, new RangeError("model"), { text: "Three." });
    const runner = runnerOf(service, appName, script, async () => {
      await assert.rejects(all(rival.runAsync(say("Me!"))), onGoogle.SessionBusyError);
    });
    const turn = (text: string) => all(service.sessiond.turn(() => runner.runAsync(say(text))));
    const both = await Promise.allSettled([turn("1"), turn("2"), turn("3")]);
    assert.ok(both.filter((one) => one.status === "fulfilled").length >= 2);
    const { events } = await stored(appName);
    const invocations = events.map((event) => event.invocationId);
    // No invocation is within another one.
    const blocks = invocations.filter((id, n) => id !== invocations[n - 1]);
    assert.equal(blocks.length, new Set(blocks).size);
    assert.equal(blocks.length, 3);
    await Promise.all([service.sessiond.close(), other.sessiond.close()]);
  });

  it("refuses operators of another service's context", async () => {
    const service = new google.InMemorySessionService();
    await service.createSession({ appName: "a", userId: "ada", sessionId: "s" });
    let refused = false;
    const runner = runnerOf(service as never, "a", new Script(call("order"), { text: "Ok." }), async (context) => {
      await assert.rejects(onGoogle.ops.increment(context, "n"), TypeError);
      refused = true;
    });
    await all(runner.runAsync(say("Tea")));
    assert.ok(refused);
  });
});

describe("@iqai/adk", () => {
  class Model extends iqai.BaseLlm {
    constructor(readonly script: Script) {
      super("scripted");
    }
    protected override async *generateContentAsyncImpl(): AsyncGenerator<iqai.LlmResponse, void, unknown> {
      yield new iqai.LlmResponse({ content: { role: "model", parts: [this.script.next()] } });
    }
  }

  class Order extends iqai.BaseTool {
    constructor(readonly tool: (context: iqai.ToolContext) => Promise<unknown>) {
      super({ name: "order", description: "Takes an order." });
    }
    override getDeclaration() {
      return { name: this.name, description: this.description };
    }
    override async runAsync(_: Record<string, unknown>, context: iqai.ToolContext): Promise<unknown> {
      return await this.tool(context);
    }
  }

  it("runs turns of an AgentBuilder, with operators, and removes what becomes null", async () => {
    const appName = randomUUID();
    const service = new onIqai.SessiondSessionService(server.url);
    await service.createSession(appName, "ada", { "app:orders": 1, old: 1, older: 2 }, "s");
    const results: unknown[] = [];
    const tool = new Order(async (context) => {
      results.push(await onIqai.ops.increment(context, "app:orders", 2), context.state["app:orders"]);
      await onIqai.ops.append(context, "user:items", "tea");
      context.state.set("drink", "tea");
      context.state.set("old", null);
      context.state.set("older", undefined);
      return { ok: true };
    });
    const session = (await service.getSession(appName, "ada", "s"))!;
    const { runner } = await iqai.AgentBuilder.create("waiter")
      .withModel(new Model(new Script(call("order"), { text: "Coming." }, { text: "Again." })))
      .withInstruction("Serve.")
      .withTools(tool)
      .withOutputKey("said")
      .withSessionService(service, { appName, userId: "ada" })
      .withSession(session)
      .build();
    assert.equal(await runner.ask("Tea, please."), "Coming.");
    assert.deepEqual(results, [3, 3]);
    const found = await stored(appName);
    assert.deepEqual(found.state, { "app:orders": 3, "user:items": ["tea"], drink: "tea", said: "Coming." });
    assert.deepEqual(found.authors, ["user", ...Array(5).fill("waiter")]);
    assert.equal(await runner.ask("And?"), "Again.");
    assert.equal((await stored(appName)).events.length, 8);
    const read = (await service.getSession(appName, "ada", "s"))!;
    assert.ok(
      read.events.every((event) => event instanceof iqai.Event && typeof event.isFinalResponse() === "boolean"),
    );
  });

  it("keeps files, whose versions its events name", async () => {
    const appName = randomUUID();
    const service = new onIqai.SessiondSessionService(server.url);
    const files = new onIqai.SessiondArtifactService(server.url);
    const results: unknown[] = [];
    const tool = new Order(async (context) => {
      results.push(await context.saveArtifact("bill/1", bill(0)), await context.loadArtifact("bill/1"));
      return { ok: true };
    });
    const session = await service.createSession(appName, "ada", {}, "s");
    const { runner } = await iqai.AgentBuilder.create("waiter")
      .withModel(new Model(new Script(call("order"), { text: "Coming." })))
      .withTools(tool)
      .withSessionService(service, { appName, userId: "ada" })
      .withArtifactService(files)
      .withSession(session)
      .build();
    await runner.ask("Tea, please.");
    assert.deepEqual(results, [0, bill(0)]);
    assert.deepEqual(await deltas(appName), [{ "bill/1": 0 }]);
  });

  it("makes the session of an AgentBuilder that is given none", async () => {
    const appName = randomUUID();
    const service = new onIqai.SessiondSessionService(server.url);
    const { runner, session } = await iqai.AgentBuilder.create("waiter")
      .withModel(new Model(new Script({ text: "Coming." })))
      .withSessionService(service, { appName, userId: "ada", state: { k: 1 } })
      .build();
    await runner.ask("Tea, please.");
    assert.deepEqual((await stored(appName, session.id)).authors, ["user", "waiter"]);
  });
});

describe("adk-typescript", () => {
  const { models, agents, runners, tools } = adk;

  class Model extends models.BaseLlm {
    constructor(readonly script: Script) {
      super("scripted");
    }
    override async *generateContentAsync(): AsyncGenerator<InstanceType<typeof models.LlmResponse>, void, unknown> {
      yield new models.LlmResponse({ content: { role: "model", parts: [this.script.next() as never] } });
    }
  }

  it("runs turns with tools and operators", async () => {
    const appName = randomUUID();
    const service = new onAdk.SessiondSessionService(server.url);
    await service.createSession({ appName, userId: "ada", sessionId: "s", state: { "app:orders": 1, gone: 1 } });
    const results: unknown[] = [];
    const order = new tools.FunctionTool({
      name: "order",
      description: "Takes an order.",
      // It is called with the values of the arguments, and then the context.
      fn: async (_, context) => {
        context.state.set("drink", "tea");
        results.push(await onAdk.ops.increment(context, "app:orders", 2), context.state.get("app:orders"));
        await onAdk.ops.remove(context, "gone");
        results.push(context.state.has("gone"), context.state.get("drink"));
        return { ok: true };
      },
    });
    const agent = new agents.LlmAgent({
      name: "waiter",
      model: new Model(new Script(call("order", { drink: "tea" }), { text: "Coming." })),
      instruction: "Serve.",
      outputKey: "said",
      tools: [order],
    });
    const runner = new runners.Runner({ appName, agent, sessionService: service });
    await all(
      runner.runAsync({ userId: "ada", sessionId: "s", newMessage: { role: "user", parts: [{ text: "Tea" }] } }),
    );
    assert.deepEqual(results, [3, 3, false, "tea"]);
    const found = await stored(appName);
    assert.deepEqual(found.state, { "app:orders": 3, drink: "tea", said: "Coming." });
    assert.deepEqual(found.authors, ["user", ...Array(5).fill("waiter")]);
    const read = (await service.getSession({ appName, userId: "ada", sessionId: "s" }))!;
    assert.equal(read.state.get("drink"), "tea");
  });

  it("keeps files, whose versions its events name", async () => {
    const appName = randomUUID();
    const service = new onAdk.SessiondSessionService(server.url);
    const artifactService = new onAdk.SessiondArtifactService(server.url);
    await service.createSession({ appName, userId: "ada", sessionId: "s" });
    const results: unknown[] = [];
    const order = new tools.FunctionTool({
      name: "order",
      description: "Takes an order.",
      fn: async (_, context) => {
        results.push(await context.saveArtifact("bill/1", bill(0)), await context.loadArtifact("bill/1"));
        return { ok: true };
      },
    });
    const agent = new agents.LlmAgent({
      name: "waiter",
      model: new Model(new Script(call("order", { drink: "tea" }), { text: "Coming." })),
      tools: [order],
    });
    const runner = new runners.Runner({ appName, agent, sessionService: service, artifactService });
    await all(
      runner.runAsync({ userId: "ada", sessionId: "s", newMessage: { role: "user", parts: [{ text: "Tea" }] } }),
    );
    assert.deepEqual(results, [0, bill(0)]);
    assert.deepEqual(await deltas(appName), [{ "bill/1": 0 }]);
  });

  it("changes state without an agent", async () => {
    const appName = randomUUID();
    const service = new onAdk.SessiondSessionService(server.url);
    await service.createSession({ appName, userId: "ada", sessionId: "s", state: { k: 1 } });
    const session = await service.updateSessionState(appName, "ada", "s", { k: 2, "user:u": 1 });
    assert.deepEqual(session.state.getAll(), { k: 2, "user:u": 1 });
    assert.deepEqual((await stored(appName)).state, { k: 2, "user:u": 1 });
    await assert.rejects(service.updateSessionState(appName, "ada", "none", {}), onAdk.SessionNotFoundError);
  });
});
