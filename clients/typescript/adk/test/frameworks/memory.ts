// What agents remember: the cases of the frameworks' own services, what those cannot, and the runners' tools.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, describe, it } from "node:test";
import * as google from "@google/adk";
import * as iqai from "@iqai/adk";
import { Sessiond } from "@sessiond/client";
import { Server } from "../../../support/server.js";
import { stub } from "../../../support/stub.js";
import { type MemoryOptions, SessiondError, SessionNotFoundError } from "../../src/core/index.js";
import * as onGoogle from "../../src/index.js";
import * as onIqai from "../../src/iqai.js";
import { type AnyEvent, type AnySession, load } from "../support/frameworks.js";

const server = await Server.shared();
const db = new Sessiond(server.url);
const closing: (() => void)[] = [];
after(() => {
  for (const close of closing) close();
});

interface Found {
  content: { role?: string; parts?: { text?: string }[] };
  author?: string;
  timestamp?: string;
}

/** A framework's memory service, with the framework's signatures made one. */
interface MemoryService {
  add(session: AnySession): Promise<void>;
  search(app: string, query: string, user?: string): Promise<Found[]>;
}

function memoryOf(name: string, options: MemoryOptions | string): MemoryService {
  const Service = name === "google" ? onGoogle.SessiondMemoryService : onIqai.SessiondMemoryService;
  const service = new Service(options);
  closing.push(() => service.sessiond.close());
  return {
    add: (session) => service.addSessionToMemory(session as never),
    search: async (appName, query, userId = "ada") =>
      (await service.searchMemory({ appName, userId, query })).memories as Found[],
  };
}

/** Returns the name of an app whose words are indexed. */
async function indexed(): Promise<string> {
  const app = randomUUID();
  await db.request("PUT", `/v1/apps/${app}/policy`, { body: { search: { index: true } } });
  return app;
}

const texts = (found: Found[]): string[] =>
  found.map(({ content }) => (content.parts ?? []).map(({ text }) => text).join());

for (const name of ["google", "iqai"]) {
  const framework = await load(name);
  const service = framework.service(server.url);
  const memory = memoryOf(name, server.url);
  describe(`memory of ${name}`, () => {
    const talk = async (app: string, id: string, words: (string | [author: string, text: string])[], user = "ada") => {
      const session = (await service.get(app, user, id)) ?? (await service.create(app, user, {}, id));
      for (const word of words) {
        const [author, text] = typeof word === "string" ? ["user", word] : word;
        const role = author === "user" ? "user" : "model";
        await service.append(
          session,
          framework.event({ id: randomUUID(), author, role, text, timestamp: 1_700_000_000.5 }),
        );
      }
      return session;
    };

    it("is what was said in all sessions of the user, the best first", async () => {
      const app = await indexed();
      await talk(app, "s", ["My favourite tea is Sencha.", ["waiter", "Noted: Sencha."]]);
      await talk(app, "other/s", ["I live in Bremen. Le caf\u00e9 est br\u00fbl\u00e9."]);
      await talk(app, "s", ["Sencha is mine."], "bob");
      const found = await memory.search(app, "which SENCHA is my favourite?");
      assert.deepEqual(found, [
        {
          content: { role: "user", parts: [{ text: "My favourite tea is Sencha." }] },
          author: "user",
          timestamp: "2023-11-14T22:13:20.500Z",
        },
        {
          content: { role: "model", parts: [{ text: "Noted: Sencha." }] },
          author: "waiter",
          timestamp: "2023-11-14T22:13:20.500Z",
        },
      ]);
      assert.equal((await memory.search(app, "cafe")).length, 1);
      for (const query of ["Brem", "", " ", "?!", "\u00b2", "\ud800"])
        assert.deepEqual(await memory.search(app, query), [], query);
      assert.equal((await memory.search(app, `bremen ${"x\u{1f375}".repeat(10_000)}`)).length, 1);
      assert.deepEqual(await memory.search(app, "Bremen", "nobody"), []);
    });

    it("has no more than asked for, and not the question", async () => {
      const app = await indexed();
      await talk(app, "s", [...Array.from({ length: 12 }, (_, n) => `tea number ${n}`), "green tea with milk"]);
      const found = texts(await memory.search(app, "green tea milk"));
      assert.deepEqual([found.length, ...found.slice(0, 2)], [10, "green tea with milk", "tea number 11"]);
      const others = texts(await memory.search(app, " green tea  with milk"));
      assert.deepEqual([others.length, others.includes("green tea with milk")], [10, false]);
      assert.equal((await memoryOf(name, { url: server.url, limit: 2 }).search(app, "tea")).length, 2);
      for (const limit of [0, 101, 1.5]) assert.throws(() => memoryOf(name, { url: server.url, limit }), TypeError);
    });

    it("is text alone, and no thought", async () => {
      const app = await indexed();
      const parts = [
        { text: "plan: tea", thought: true },
        { text: "Here is tea" },
        { inlineData: { mimeType: "a/b", data: "eA" } },
      ];
      await db.session(app, "ada", "s").append({ author: "waiter", content: { parts } }, { create: true });
      assert.deepEqual((await memory.search(app, "tea"))[0]?.content, { parts: [{ text: "Here is tea" }] });
      assert.deepEqual(await memory.search(app, "plan"), []);
    });

    it("forgets what is taken back, redacted or deleted, and adds none of it", async () => {
      const app = await indexed();
      const session = await talk(app, "s", ["password one", "password two"]);
      await db.session(app, "ada", "s").rewind({ to: 1 });
      assert.deepEqual(texts(await memory.search(app, "password")), ["password one"]);
      await db.session(app, "ada", "s").redact(session.events[0]!.id);
      await memory.add(session);
      assert.deepEqual(await memory.search(app, "password"), []);
      await db.session(app, "ada", "s").trim({ keepLast: 0 });
      await memory.add(session);
      assert.deepEqual(await memory.search(app, "password"), []);
      await service.remove(app, "ada", "s");
      await assert.rejects(memory.add(session), SessionNotFoundError);
      assert.deepEqual(await memory.search(app, "password"), []);
    });

    it("keeps a session of another service once", async () => {
      const app = await indexed();
      const event = (text: string): AnyEvent =>
        framework.event({ id: randomUUID(), author: "user", role: "user", text, stateDelta: { x: 1 }, timestamp: 7 });
      const events = [event("oolong tea"), framework.event({ id: randomUUID(), author: "waiter" })];
      const session = { id: "far", appName: app, userId: "ada", state: {}, events, lastUpdateTime: 0 };
      for (let n = 0; n < 2; n += 1) await memory.add(session);
      session.events.push(event("assam tea"));
      await Promise.all([1, 2, 3, 4].map(() => memory.add(session)));
      assert.deepEqual(texts(await memory.search(app, "tea")).sort(), ["assam tea", "oolong tea"]);
      const kept = await db.session(app, "ada", "memories").get();
      assert.deepEqual([kept.revision, kept.state, kept.lastUpdateTime], [2, {}, 7]);
      // What was changed or redacted there stays so, and the rest is added.
      await db.session(app, "ada", "memories").redact(events[0]!.id);
      session.events.push(event("white tea"));
      await memory.add(session);
      assert.deepEqual(texts(await memory.search(app, "tea")).sort(), ["assam tea", "white tea"]);
      // A copy of one that is here, as a runner makes it.
      const here = await talk(app, "s", ["black tea"]);
      await memory.add({ ...here });
      assert.equal((await db.session(app, "ada", "memories").get()).revision, 3);
    });

    it("says how the index is switched on", async () => {
      await assert.rejects(memory.search(randomUUID(), "tea"), (error: unknown) => {
        assert.ok(error instanceof SessiondError);
        assert.equal(error.code, "search_off");
        return true;
      });
    });
  });
}

it("a search is sent until it is answered, and with all that limits it", async () => {
  const asked: string[] = [];
  const url = await stub((request, response) => {
    asked.push(request.url ?? "");
    if (asked.length === 1) response.destroy();
    else response.end('{"hits":[],"complete":false}');
  });
  const client = new Sessiond(url);
  const options = { limit: 3, since: 1.5, until: 2, author: "a b", session: "s", exceptSession: "t/1" };
  assert.deepEqual(await client.search("c/1", "u", "tea & cake", options), { hits: [], complete: false });
  assert.equal(asked[0], asked[1]);
  const { pathname, searchParams } = new URL(asked[1]!, url);
  assert.equal(pathname, "/v1/apps/c%2F1/users/u/search");
  assert.deepEqual(Object.fromEntries(searchParams), {
    text: "tea & cake",
    limit: "3",
    from: "1.5",
    to: "2",
    author: "a b",
    session: "s",
    exceptSession: "t/1",
  });
});

it("the tools of @google/adk find it, in another session", async () => {
  const appName = await indexed();
  const heard: string[] = [];
  class Model extends google.BaseLlm {
    constructor() {
      super({ model: "scripted" });
    }
    override async *generateContentAsync(request: google.LlmRequest): AsyncGenerator<google.LlmResponse, void> {
      heard.push(JSON.stringify(request));
      const asks = heard.length === 2;
      const part = asks ? { functionCall: { name: "load_memory", args: { query: "usual tea" } } } : { text: "Noted." };
      yield { content: { role: "model", parts: [part] } };
    }
    override async connect(): Promise<google.BaseLlmConnection> {
      throw new Error("no");
    }
  }
  const sessionService = new onGoogle.SessiondSessionService(server.url);
  const memoryService = new onGoogle.SessiondMemoryService(server.url);
  const runner = new google.Runner({
    appName,
    sessionService,
    memoryService,
    agent: new google.LlmAgent({
      name: "waiter",
      model: new Model(),
      tools: [google.LOAD_MEMORY, google.PRELOAD_MEMORY],
    }),
  });
  const say = async (sessionId: string, text: string): Promise<void> => {
    const newMessage = { role: "user", parts: [{ text }] };
    await sessionService.getOrCreateSession({ appName, userId: "ada", sessionId });
    for await (const _ of runner.runAsync({ userId: "ada", sessionId, newMessage }));
  };
  await say("first", "My usual is Sencha.");
  await say("second", "What is my usual?");
  assert.ok(!heard[0]?.includes("PAST_CONVERSATIONS"));
  assert.match(heard[1] ?? "", /PAST_CONVERSATIONS.*user: My usual is Sencha\./);
  assert.match(heard[2] ?? "", /functionResponse.*My usual is Sencha\./);
});

it("the tool of @iqai/adk finds it", async () => {
  const app = await indexed();
  await db
    .session(app, "ada", "s")
    .append({ author: "user", content: { role: "user", parts: [{ text: "My usual is Sencha." }] } }, { create: true });
  const memoryService = new onIqai.SessiondMemoryService(server.url);
  const context = {
    searchMemory: (query: string) => memoryService.searchMemory({ appName: app, userId: "ada", query }),
  };
  const found = await new iqai.LoadMemoryTool().runAsync({ query: "usual" }, context as never);
  assert.match(JSON.stringify(found), /My usual is Sencha\./);
});
