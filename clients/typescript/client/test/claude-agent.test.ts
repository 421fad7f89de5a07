// The session store of the Claude Agent SDK: what the SDK asks of every store, and the SDK itself on it.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { FaultyProxy } from "../../support/proxy.js";
import { served } from "../../support/served.js";
import { SessiondStore, type SessionKey, type SessionStoreEntry } from "../src/claude-agent.js";
import { type NewEvent, type Sessiond, text, textOf } from "../src/index.js";
import { all } from "../src/pages.js";

const SDK = new URL(
  "../../../client/test/claude-agent/node_modules/@anthropic-ai/claude-agent-sdk/sdk.mjs",
  import.meta.url,
).href;
const sdk = (await import(SDK)) as typeof import("./claude-agent/node_modules/@anthropic-ai/claude-agent-sdk/sdk.js");
const { foldSessionSummary } = sdk;

const { server, db } = await served();

function newStore(app = randomUUID(), client: Sessiond | string = db): SessiondStore {
  return new SessiondStore({ app, client, foldSessionSummary });
}

const KEY: SessionKey = { projectKey: "-home-ada-café", sessionId: "s1" };
const one: SessionKey = { ...KEY, subpath: "subagents/agent-1" };
const two: SessionKey = { ...KEY, subpath: "subagents/agent-2" };
const entry = (fields: Record<string, unknown> = {}): SessionStoreEntry => ({ type: "x", ...fields });
const user = (text: string, fields: Record<string, unknown> = {}): SessionStoreEntry =>
  entry({ type: "user", uuid: randomUUID(), message: { role: "user", content: text }, ...fields });

describe("the contract of a store", () => {
  it("entries come back in the order of the calls, whatever their ids", async () => {
    const store = newStore();
    const entries = ["z", "a", "m", "b"].map((uuid, n) => entry({ uuid, n, deep: { list: [1.5, null, "é"] } }));
    await store.append(KEY, entries.slice(0, 1));
    await Promise.all([
      store.append(KEY, entries.slice(1, 3)),
      store.append(KEY, []),
      store.append(KEY, entries.slice(3)),
    ]);
    assert.deepEqual(await store.load(KEY), entries);
  });

  it("what was never written is null, and lists of it are empty", async () => {
    const store = newStore();
    assert.equal(await store.load(KEY), null);
    await store.append(KEY, []);
    assert.deepEqual([await store.load(KEY), await store.listSessions(KEY.projectKey)], [null, []]);
    await store.append(KEY, [entry()]);
    assert.equal(await store.load(one), null);
    assert.deepEqual(await store.listSubkeys({ ...KEY, sessionId: "other" }), []);
    assert.deepEqual(await store.listSessionSummaries("other"), []);
  });

  it("transcripts of subagents and projects are apart", async () => {
    const store = newStore();
    const other = { ...KEY, projectKey: "other" };
    await store.append({ ...KEY, sessionId: "s0", subpath: "a" }, [entry()]);
    await store.append(KEY, [entry({ uuid: "same", of: "main" })]);
    await store.append(one, [entry({ uuid: "same", of: "one" })]);
    await store.append(two, [entry({ uuid: "same", of: "two" })]);
    await store.append(other, [entry({ uuid: "same", of: "other" })]);
    for (const [key, of] of [
      [KEY, "main"],
      [one, "one"],
      [two, "two"],
      [other, "other"],
    ] as const) {
      assert.deepEqual(await store.load(key), [entry({ uuid: "same", of })]);
    }
    assert.deepEqual((await store.listSubkeys(KEY)).sort(), ["subagents/agent-1", "subagents/agent-2"]);
    assert.deepEqual(await store.listSubkeys(other), []);
    const [listed, ...rest] = await store.listSessions(KEY.projectKey);
    assert.ok(listed?.sessionId === "s1" && rest.length === 0);
    assert.ok(Number.isInteger(listed.mtime) && listed.mtime > 1e12);
  });

  it("summaries are folded by the SDK, and as new as their sessions", async () => {
    const store = newStore();
    await store.append(KEY, [user("First", { timestamp: "2026-01-01T00:00:00.000Z" }), entry({ customTitle: "a" })]);
    await store.append(KEY, [entry({ customTitle: "b" })]);
    await store.append(one, [entry({ customTitle: "subagent" })]);
    const [summary, ...rest] = await store.listSessionSummaries(KEY.projectKey);
    const [listed] = await store.listSessions(KEY.projectKey);
    assert.ok(summary !== undefined && rest.length === 0);
    assert.deepEqual([summary.sessionId, summary.mtime], ["s1", listed?.mtime]);
    const folded = foldSessionSummary(summary, KEY, [entry()]);
    assert.deepEqual([folded.data["customTitle"], folded.mtime], ["b", summary.mtime]);
    await store.delete(KEY);
    assert.deepEqual(await store.listSessionSummaries(KEY.projectKey), []);
  });

  it("a summary is short", async () => {
    const store = newStore();
    const entries = [user("First"), entry({ lastPrompt: "tea ".repeat(1_500_000) })];
    await store.append(KEY, entries);
    assert.deepEqual(await store.load(KEY), entries);
    const [summary] = await store.listSessionSummaries(KEY.projectKey);
    assert.equal(summary?.data["lastPrompt"], "tea ".repeat(2_500));
  });

  it("a session is deleted with its subagents, and one of these alone", async () => {
    const store = newStore();
    await store.delete(KEY);
    await store.delete(one);
    for (const key of [KEY, one, two, { ...KEY, sessionId: "s2" }]) await store.append(key, [entry({ n: 1 })]);
    await store.delete(one);
    assert.equal(await store.load(one), null);
    assert.deepEqual(await store.listSubkeys(KEY), ["subagents/agent-2"]);
    await store.append(one, [entry({ n: 2 })]);
    assert.deepEqual(await store.load(one), [entry({ n: 2 })]);
    await store.delete(KEY);
    for (const key of [KEY, one, two]) assert.equal(await store.load(key), null);
    assert.deepEqual(await store.listSubkeys(KEY), []);
    assert.deepEqual(
      (await store.listSessions(KEY.projectKey)).map(({ sessionId }) => sessionId),
      ["s2"],
    );
    await store.append(KEY, [entry({ n: 3 })]);
    assert.deepEqual(await store.load(KEY), [entry({ n: 3 })]);
  });
});

it("an entry with a uuid is stored once, and its first content stays", async () => {
  const [app, first] = [randomUUID(), user("Hello")];
  await newStore(app).append(KEY, [first, user("Again")]);
  const store = newStore(app);
  const last = user("Third");
  await store.append(KEY, [first, { ...first, other: true }, last]);
  const loaded = await store.load(KEY);
  assert.deepEqual([loaded?.length, loaded?.[0], loaded?.[2]], [3, first, last]);
  assert.equal((await store.listSessionSummaries(KEY.projectKey)).length, 1);
});

it("what was said can be read in the session", async () => {
  const [app, store] = [randomUUID(), newStore()];
  const own = newStore(app);
  const deep = JSON.parse("[".repeat(80) + "]".repeat(80)) as unknown;
  const odd = [entry({ uuid: "1", half: "\ud800" }), entry({ uuid: "2", deep }), entry({ uuid: "3", "\0": 1 })];
  const content = [
    { type: "thinking", thinking: "hm" },
    { type: "text", text: "Coming \ud800" },
    { type: "tool_use", id: "t", name: "brew", input: { what: "tea" } },
  ];
  const result = [{ type: "tool_result", tool_use_id: "t", content: "hot" }, { type: "image" }];
  await own.append(KEY, [
    ...odd,
    user("A tea"),
    entry({ type: "assistant", uuid: "4", message: { content } }),
    entry({ type: "user", uuid: "5", message: { content: result } }),
  ]);
  assert.deepEqual((await own.load(KEY))?.slice(0, 3), odd);
  const events = await all(db.session(app, KEY.projectKey, KEY.sessionId).events({ branch: "main" }));
  assert.deepEqual(
    events.map(({ author }) => author),
    ["claude", "claude", "claude", "user", "claude", "claude"],
  );
  assert.deepEqual(events.slice(3).map(textOf), ["A tea", "Coming \ufffd", "[image]"]);
  assert.deepEqual(events[4]?.content?.parts?.[2]?.functionCall, { id: "t", name: "brew", args: { what: "tea" } });
  assert.deepEqual(events[5]?.content?.parts?.[0]?.functionResponse, { id: "t", response: { result: "hot" } });
  await assert.rejects(store.append(KEY, [entry({ n: 1n })]), /JSON/);
});

it("lost answers and two processes lose nothing and double nothing", async () => {
  const [app, proxy] = [randomUUID(), await FaultyProxy.start(server.port)];
  const entries = Array.from({ length: 40 }, (_, n) => entry({ uuid: randomUUID(), n, customTitle: `${n}` }));
  const untitled = entry({ mode: "plan" });
  await Promise.all(
    [0, 1].map(async (writer) => {
      const store = newStore(app, proxy.url);
      for (let n = writer; n < entries.length; n += 2) {
        if (n % 5 === 0) proxy.lost = 1;
        await store.append(KEY, entries.slice(n, n + 1));
      }
      if (writer === 0) await store.append(KEY, [untitled]);
      store.close();
    }),
  );
  await proxy.close();
  const loaded = (await newStore(app).load(KEY)) ?? [];
  assert.equal(loaded.length, 41);
  for (const parity of [0, 1]) {
    const own = loaded.filter(({ n }) => Number(n) % 2 === parity);
    assert.deepEqual(
      own,
      entries.filter((_, n) => n % 2 === parity),
    );
  }
});

it("the SDK imports, lists, reads, renames and forks sessions on it", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sessiond-ts-claude-"));
  const before = process.env["CLAUDE_CONFIG_DIR"];
  try {
    process.env["CLAUDE_CONFIG_DIR"] = join(folder, "config");
    const [dir, sessionId, store] = [join(folder, "project"), randomUUID(), newStore()];
    mkdirSync(dir);
    const key = dir.replace(/[^a-zA-Z0-9]/g, "-");
    mkdirSync(join(folder, "config/projects", key), { recursive: true });
    const [asked, answered] = [randomUUID(), randomUUID()];
    const common = { sessionId, cwd: dir, isSidechain: false, userType: "external", version: "2.1.0" };
    const lines = [
      {
        ...common,
        type: "user",
        uuid: asked,
        parentUuid: null,
        timestamp: "2026-01-01T00:00:00.000Z",
        message: { role: "user", content: "A green tea" },
      },
      {
        ...common,
        type: "assistant",
        uuid: answered,
        parentUuid: asked,
        timestamp: "2026-01-01T00:00:01.000Z",
        message: { role: "assistant", content: [{ type: "text", text: "Coming up." }] },
      },
    ];
    const file = join(folder, "config/projects", key, `${sessionId}.jsonl`);
    writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    for (let times = 0; times < 2; times += 1) await sdk.importSessionToStore(sessionId, store, { dir });

    const [listed] = await sdk.listSessions({ dir, sessionStore: store });
    assert.deepEqual([listed?.sessionId, listed?.firstPrompt], [sessionId, "A green tea"]);
    const messages = await sdk.getSessionMessages(sessionId, { dir, sessionStore: store });
    assert.deepEqual(
      messages.map(({ uuid }) => uuid),
      [asked, answered],
    );
    await sdk.renameSession(sessionId, "Tea", { dir, sessionStore: store });
    assert.equal((await sdk.listSessions({ dir, sessionStore: store }))[0]?.customTitle, "Tea");
    const fork = await sdk.forkSession(sessionId, { dir, sessionStore: store });
    assert.equal((await sdk.getSessionMessages(fork.sessionId, { dir, sessionStore: store })).length, 2);
    await sdk.deleteSession(sessionId, { dir, sessionStore: store });
    const rest = await sdk.listSessions({ dir, sessionStore: store });
    assert.deepEqual(
      rest.map((session) => session.sessionId),
      [fork.sessionId],
    );
  } finally {
    if (before === undefined) delete process.env["CLAUDE_CONFIG_DIR"];
    else process.env["CLAUDE_CONFIG_DIR"] = before;
    rmSync(folder, { recursive: true });
  }
});

it("tells what others have said as the first message", async () => {
  const app = randomUUID();
  const options = { app, client: db, user: () => "ada", foldSessionSummary };
  const [plain, store] = [new SessiondStore(options), new SessiondStore({ ...options, others: true })];
  const handle = db.session(app, "ada", KEY.sessionId);
  assert.equal(await store.load(KEY), null);
  const brew = { id: "c1", name: "brew" };
  const made = { functionCall: { ...brew, args: { tea: "green" } } };
  const got = { functionResponse: { ...brew, response: { result: "a green tea" } } };
  const order: NewEvent[] = [
    { author: "user", content: text("user", "A green tea, please.") },
    { author: "barista", content: { role: "model", parts: [{ text: "One moment." }, made] } },
    { author: "user", content: text("model", "It is free.") },
    { author: "barista", content: { role: "user", parts: [got] } },
    { author: "user", timestamp: 1_800_000_000.25, content: text("user", "And?\n[barista] Free.") },
  ];
  await handle.append(order, { create: true });
  assert.equal(await plain.load(KEY), null);
  const [first, ...rest] = (await store.load(KEY)) ?? [];
  assert.ok(first !== undefined && rest.length === 0);
  const lines = [
    "What was said in this conversation before:",
    "",
    "user: A green tea, please.",
    "[barista] One moment.",
    '  [called brew: {"tea":"green"}]',
    "  [brew answered: a green tea]",
    "user: And?",
    "  [barista] Free.",
  ];
  assert.deepEqual(first, {
    type: "user",
    // As in Python.
    uuid: "07de91d7-d759-56e4-95e9-90436258e031",
    parentUuid: null,
    sessionId: "s1",
    isSidechain: false,
    timestamp: "2027-01-15T08:00:00.250Z",
    message: { role: "user", content: [{ type: "text", text: lines.join("\n") }] },
  });
  // The SDK goes on behind it, and may say it again: it is not stored.
  const asked = user("And a cake.", { parentUuid: first.uuid });
  await store.append(KEY, [first]);
  await store.append(KEY, [first, asked]);
  await handle.append(order);
  assert.deepEqual([await store.load(KEY), await plain.load(KEY)], [[first, asked], [asked]]);
  // A transcript that began without it, and that of a subagent, stay as they are.
  const other = { ...KEY, sessionId: "s2" };
  const alone = user("A tea");
  await store.append(other, [alone]);
  await db.session(app, "ada", "s2").append(order);
  assert.deepEqual([await store.load(other), await store.load(one)], [[alone], null]);
});

it("the SDK reads what others have said", async () => {
  const app = randomUUID();
  const dir = mkdtempSync(join(tmpdir(), "sessiond-ts-claude-"));
  try {
    const sessionId = randomUUID();
    const sessionStore = new SessiondStore({ app, client: db, user: () => "ada", others: true, foldSessionSummary });
    await db
      .session(app, "ada", sessionId)
      .append({ author: "barista", content: text("model", "Here it is.") }, { create: true });
    const key = { projectKey: dir.replace(/[^a-zA-Z0-9]/g, "-"), sessionId };
    const [first] = (await sessionStore.load(key)) ?? [];
    await sessionStore.append(key, [user("And a cake.", { sessionId, parentUuid: first?.uuid })]);
    const messages = await sdk.getSessionMessages(sessionId, { dir, sessionStore });
    assert.deepEqual(
      messages.map(({ type }) => type),
      ["user", "user"],
    );
    assert.match(JSON.stringify(messages[0]?.message), /\[barista\] Here it is\./);
  } finally {
    rmSync(dir, { recursive: true });
  }
});
