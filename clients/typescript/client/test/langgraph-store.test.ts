// LangGraph's store: LangGraph has no suite of stores, so its documented examples, its own store, and what is ours.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { it } from "node:test";
import { Annotation, type BaseStore, START, StateGraph } from "@langchain/langgraph";
import { InMemoryStore, type Item, type Operation } from "@langchain/langgraph-checkpoint";
import { chances } from "../../support/chance.js";
import { FaultyProxy } from "../../support/proxy.js";
import { served } from "../../support/served.js";
import { InputError, type JsonObject, Sessiond } from "../src/index.js";
import { SessiondStore } from "../src/langgraph.js";
import { all } from "../src/pages.js";

const { server, db } = await served();

function opened(app: string = randomUUID(), client: Sessiond | string = db): SessiondStore {
  return new SessiondStore({ app, client });
}

const keys = (items: Item[]): string[] => items.map(({ key }) => key);

it("keeps an item, replaces it whole, and remembers when it was made", async () => {
  const store = opened();
  const began = new Date();
  assert.equal(await store.get(["users", "123"], "prefs"), null);
  const value = { theme: "dark", size: 1.5, no: null, in: [{ x: true }], half: "\ud800", zero: -0 };
  await store.put(["users", "123"], "prefs", value);
  const first = await store.get(["users", "123"], "prefs");
  assert.deepEqual(first?.value, value);
  assert.deepEqual([first.namespace, first.key], [["users", "123"], "prefs"]);
  assert.deepEqual(first.createdAt, first.updatedAt);
  assert.ok(began <= first.createdAt && first.createdAt <= new Date());
  await store.put(["users", "123"], "prefs", { theme: "light" });
  const [second] = await store.search(["users"]);
  assert.deepEqual([second?.value, second?.createdAt], [{ theme: "light" }, first.createdAt]);
  await store.delete(["users", "123"], "prefs");
  await store.delete(["users", "123"], "never was");
  assert.equal(await store.get(["users", "123"], "prefs"), null);
  assert.deepEqual([await store.search(["users"]), await store.listNamespaces()], [[], []]);
  await store.put(["users", "123"], "prefs", {});
  assert.ok((await store.get(["users", "123"], "prefs"))!.createdAt >= first.createdAt);
});

it("filters as LangGraph documents it", async () => {
  const store = opened();
  const documents = {
    a: { type: "report", status: "active", score: 4.99, color: "red" },
    b: { type: "report", status: "active", score: 5, color: "blue" },
    c: { type: "report", status: "closed", score: 3, color: "red", of: { who: { name: "ada", age: 3 }, tags: [1, 2] } },
    d: { type: "note", status: "active", on: "2026-01-02", flag: true },
  };
  for (const [key, value] of Object.entries(documents)) await store.put(["documents"], key, value);
  for (const [filter, expected] of [
    [{ type: "report", status: "active" }, "ba"],
    [{ score: { $gt: 4.99 } }, "b"],
    [{ score: { $gte: 3 }, color: "red" }, "ca"],
    [{ score: { $lt: 4.99 } }, "c"],
    [{ score: { $lte: 4.99 } }, "ca"],
    [{ score: { $gt: 3, $lt: 5 } }, "a"],
    [{ status: { $eq: "closed" } }, "c"],
    [{ color: { $ne: "red" } }, "db"],
    [{ on: { $gte: "2026-01-01" } }, "d"],
    [{ on: null }, "cba"],
    [{ flag: 1 }, ""],
    [{ flag: true }, "d"],
    [{ score: { $gt: "4" } }, ""],
    [{ of: { who: { name: "ada" } } }, "c"],
    [{ of: { tags: [1, 2] } }, "c"],
    [{ of: { tags: [1] } }, ""],
    [{ constructor: { name: "Object" } }, ""],
  ] as [JsonObject, string][]) {
    assert.equal(keys(await store.search(["documents"], { filter })).join(""), expected, JSON.stringify(filter));
  }
  for (const operator of ["$in", "$constructor", "$"]) {
    await assert.rejects(store.search(["documents"], { filter: { score: { [operator]: [1] } } }), InputError);
  }
});

it("lists namespaces as LangGraph documents it", async () => {
  const store = opened();
  for (const labels of ["a b c", "a b d e", "a b d i", "a b f", "a c f"]) await store.put(labels.split(" "), "key", {});
  const listed = async (options: Parameters<BaseStore["listNamespaces"]>[0]): Promise<string> =>
    (await store.listNamespaces(options)).map((labels) => labels.join(" ")).join(", ");
  assert.equal(await listed({ prefix: ["a", "b"], maxDepth: 3 }), "a b c, a b d, a b f");
  await store.put(["z", "f"], "key", {});
  assert.equal(await listed({ suffix: ["f"] }), "a b f, a c f, z f");
  assert.equal(await listed({ prefix: ["a", "*", "f"] }), "a b f, a c f");
  assert.equal(await listed({ prefix: ["*", "f"] }), "z f");
  assert.equal(await listed({ prefix: ["a"], suffix: ["d", "*"] }), "a b d e, a b d i");
  assert.equal(await listed({ maxDepth: 1 }), "a, z");
  assert.equal(await listed({ limit: 2, offset: 4 }), "a c f, z f");
});

it("returns pages of what was put last", async () => {
  const store = opened();
  for (let n = 0; n < 25; n += 1) await store.put(["ada", "memories"], `m${n}`, { n, even: n % 2 === 0 });
  await store.put(["ada", "other"], "x", { text: "y" }, ["text"]);
  await store.put(["ada", "memories"], "m3", { n: 3 });
  const last = ["m3", ...Array.from({ length: 9 }, (_, n) => `m${24 - n}`)];
  assert.deepEqual(keys(await store.search(["ada", "memories"])), last);
  assert.deepEqual(keys(await store.search(["ada", "memories"], { limit: 3, offset: 23 })), ["m1", "m0"]);
  const even = await store.search(["ada", "memories"], { filter: { even: true }, limit: 2, offset: 1 });
  assert.deepEqual(keys(even), ["m22", "m20"]);
  assert.equal((await store.search(["ada"], { limit: 100 })).length, 26);
  // A label is no beginning of another one, and there are no vectors.
  assert.deepEqual(await store.search(["ada", "mem"]), []);
  assert.deepEqual(keys(await store.search(["ada", "other"], { query: "anything" })), ["x"]);
});

const NAMES = ["a/b", "a%2Fb", "a,b", "a;created", "a b", " a ", "a\tb", "ä\u2003", "\u{1f375}", "\ufeff", "Ada"];
NAMES.push("..", "%", "%zz", "lg", "temp:x", "user:x", "ada@example.org", "__proto__");

it("keeps items of any names apart", async () => {
  const store = opened();
  const put = new Map<string, [namespace: string[], key: string]>();
  const take = (namespace: string[], key: string) => put.set(JSON.stringify([namespace, key]), [namespace, key]);
  for (const [n, name] of NAMES.entries()) {
    if (name !== "..") take([name, NAMES[(n + 1) % NAMES.length]!], NAMES[(n + 2) % NAMES.length]!);
  }
  for (const key of [...NAMES, "", "\0", "k".repeat(450)]) take(["x", "y"], key);
  const operations = [...put.values()].map(([namespace, key]) => ({
    namespace,
    key,
    value: { of: [...namespace, key] },
  }));
  await store.batch(operations);
  const got = await store.batch(operations.map(({ namespace, key }) => ({ namespace, key })));
  assert.deepEqual(
    got.map((item) => (item as Item | null)?.value),
    operations.map(({ value }) => value),
  );
  const found = await store.search([], { limit: 1000 });
  assert.deepEqual(
    found.map(({ namespace, key, value }) => JSON.stringify([namespace, key, value["of"]])).sort(),
    operations.map(({ namespace, key, value }) => JSON.stringify([namespace, key, value.of])).sort(),
  );
});

it("refuses what it would not keep, and changes nothing", async () => {
  const store = opened();
  await store.put(["r"], "k", { x: 1 });
  for (const [namespace, key] of [
    [["r".repeat(260)], "k"],
    [["r"], "k".repeat(520)],
    [["r", ...Array.from({ length: 6 }, () => "l".repeat(100))], "k"],
    [[], "k"],
  ] as [string[], string][]) {
    await assert.rejects(store.batch([{ namespace, key, value: {} }]), InputError);
  }
  const ttl = { namespace: ["r"], key: "k", value: { x: 2 }, ttl: 5 } as Operation;
  await assert.rejects(store.batch([{ namespace: ["r"], key: "other", value: {} }, ttl]), /does not expire/);
  await assert.rejects(store.put(["r"], "k", "a text" as never), InputError);
  // Nothing is sent for a name that is no text.
  for (const name of [undefined, null, 5, {}, "\ud83d"] as string[]) {
    await assert.rejects(store.put(["r"], name, { n: 1 }), /The label or key /);
    await assert.rejects(store.get(["r"], name), InputError);
  }
  await assert.rejects(store.put(["r"], "k", { map: new Map() }), InputError);
  assert.deepEqual(keys(await store.search([])), ["k"]);
  assert.deepEqual((await store.get(["r"], "k"))?.value, { x: 1 });
});

it("keeps items as the adapter in Python does", async () => {
  const app = randomUUID();
  const store = opened(app);
  await store.batch([{ namespace: ["ada@x", "a/b"], key: "k,1", value: { likes: "tea" } }]);
  const session = db.session(app, "langgraph", "store/ada@x");
  const state = await session.state();
  const updated = (state["lg/store/a%2Fb/k%2C1"] as { updated: number }).updated;
  assert.deepEqual(state, {
    "lg/store/a%2Fb/k%2C1": { value: { likes: "tea" }, updated },
    "lg/store/a%2Fb/k%2C1;created": updated,
  });
  assert.ok(Math.abs(updated - (await session.get()).createTime) < 3600);
  assert.deepEqual(
    (await all(session.events())).map(({ author }) => author),
    ["langgraph.store"],
  );
  // Other keys and other sessions are none of its items.
  await session.set("lg/store/a%2Fb/odd", 1);
  await db.session(app, "langgraph", "other").create({ state: { "lg/store/k": { value: {}, updated: 1 } } });
  assert.deepEqual(keys(await store.search([])), ["k,1"]);
  // An item of others may say nothing of when it was made, and Python keeps what JSON does not have as a text.
  await session.set("lg/store/new", { json: '{"x": NaN, "half": "\\ud800"}', updated: 5.25 });
  const item = await store.get(["ada@x"], "new");
  assert.deepEqual(item, {
    namespace: ["ada@x"],
    key: "new",
    value: { x: Number.NaN, half: "\ud800" },
    createdAt: new Date(5250),
    updatedAt: new Date(5250),
  });
});

it("has memories of each user, which go with the user", async () => {
  const app = randomUUID();
  const store = new SessiondStore({ app, client: db, user: (root) => `user ${root}` });
  for (const root of ["ada", "bob"]) await store.put([root, "memories"], "k", { of: root });
  assert.deepEqual(await all(db.users(app)), ["user ada", "user bob"]);
  // What lies at another user is not what the function says.
  await new SessiondStore({ app, client: db, user: "eve" }).put(["ada", "memories"], "evil", {});
  assert.deepEqual((await store.search([])).map(({ value }) => String(value["of"])).sort(), ["ada", "bob"]);
  await db.request("POST", `/v1/apps/${app}/users/user%20ada/erasure`, { body: {} });
  assert.equal(await store.get(["ada", "memories"], "k"), null);
  assert.deepEqual(await store.listNamespaces(), [["bob", "memories"]]);
});

it("needs few requests for a batch, which reads before it writes", async () => {
  const proxy = await FaultyProxy.start(server.port);
  const client = new Sessiond(proxy.url);
  const store = opened(randomUUID(), client);
  const spent = async <T>(answer: Promise<T>): Promise<[number, T]> => {
    const before = proxy.requests;
    const result = await answer;
    return [proxy.requests - before, result];
  };
  const put = Array.from({ length: 600 }, (_, n) => ({ namespace: ["r", `n${n % 3}`], key: `k${n}`, value: { n } }));
  const [written, answers] = await spent(store.batch(put));
  assert.deepEqual([written, answers.length, new Set(answers)], [2, 600, new Set([undefined])]);
  const get = (namespace: string[], key: string) => ({ namespace, key });
  const bytes = proxy.answered;
  const [read, got] = await spent(store.batch([get(["r", "n0"], "k0"), get(["r", "n1"], "k1"), get(["r"], "none")]));
  assert.deepEqual([read, got.map((item) => item?.value["n"])], [1, [0, 1, undefined]]);
  assert.ok(proxy.answered - bytes < 2000);
  const [both, results]: [number, unknown[]] = await spent(
    store.batch([
      { ...get(["r", "n0"], "k0"), value: { n: -1 } },
      { ...get(["r", "n0"], "k0"), value: { n: -2 } },
      get(["r", "n0"], "k0"),
      { namespacePrefix: ["r", "n1"], limit: 1 },
      { matchConditions: [{ matchType: "prefix", path: ["r"] }], limit: 10, offset: 0 },
      { ...get(["r", "n0"], "k3"), value: null },
    ] as Operation[]),
  );
  assert.equal(both, 2);
  assert.deepEqual((results[2] as Item).value, { n: 0 });
  assert.equal((results[3] as Item[]).length, 1);
  assert.deepEqual(results[4], [
    ["r", "n0"],
    ["r", "n1"],
    ["r", "n2"],
  ]);
  assert.deepEqual((await store.get(["r", "n0"], "k0"))?.value, { n: -2 });
  assert.equal(await store.get(["r", "n0"], "k3"), null);
  // Many roots are one request, if all are read; and so are keys that are too long for a query.
  for (let n = 0; n < 5; n += 1) await store.put([`root ${n}`], "k", {});
  const [listed, there] = await spent(store.listNamespaces());
  assert.deepEqual([listed, there.length], [1, 8]);
  const long = Array.from({ length: 30 }, (_, n) => get(["long"], `${"\u{1f375}".repeat(60)}${n}`));
  await store.batch(long.map((each, n) => ({ ...each, value: { n } })));
  const [asked, items] = await spent(store.batch(long));
  assert.deepEqual([asked, items.map((item) => item?.value["n"])], [1, long.map((_, n) => n)]);
  client.close();
});

it("stores nothing twice after a lost answer, and loses nothing of many writers", async () => {
  const proxy = await FaultyProxy.start(server.port);
  const client = new Sessiond(proxy.url);
  const app = randomUUID();
  const store = opened(app, client);
  proxy.lost = 2;
  await store.put(["r"], "k", { x: 1 });
  assert.deepEqual((await store.get(["r"], "k"))?.value, { x: 1 });
  assert.equal((await db.session(app, "langgraph", "store/r").get()).revision, 1);
  await Promise.all(Array.from({ length: 60 }, (_, n) => opened(app).put(["r", `${n % 4}`], `k${n}`, { n })));
  assert.equal((await store.search(["r"], { limit: 100 })).length, 61);
  client.close();
});

it("agrees with LangGraph's own", async () => {
  const [ours, theirs] = [opened(), new InMemoryStore()];
  const chance = chances(60);
  const one = <T>(list: T[]): T => list[chance(list.length)]!;
  const namespace = (): string[] => Array.from({ length: 1 + chance(3) }, () => one(["a", "b", "c"]));
  const name = () => ({ namespace: namespace(), key: one(["x", "y", "z"]) });
  const made: (() => Operation)[] = [
    () => ({ ...name(), value: { n: chance(4), t: "u" } }),
    () => ({ ...name(), value: { n: chance(4) } }),
    () => ({ ...name(), value: null }),
    name,
    () => ({ namespacePrefix: namespace().slice(chance(2)), filter: { n: { $gte: 2 } }, limit: 1000 }),
    () => ({ namespacePrefix: namespace(), filter: { n: { $ne: 1 } }, limit: 1000 }),
    () => ({ namespacePrefix: namespace(), filter: { t: "u", n: 1 }, limit: 1000 }),
  ];
  const said = (result: unknown): unknown => {
    if (Array.isArray(result)) return result.map((item) => JSON.stringify(said(item))).sort();
    const { namespace: labels, key, value } = (result ?? {}) as Item;
    return [labels, key, value];
  };
  for (let n = 0; n < 60; n += 1) {
    const operations = Array.from({ length: 1 + chance(6) }, () => one(made)());
    // Their items change later.
    const expected = (await theirs.batch(operations)).map((result) => structuredClone(said(result)));
    // Of what a batch puts, their reads of the same batch see the new values in items that were there.
    if (
      operations.every((operation) => !("value" in operation)) ||
      operations.every((operation) => "value" in operation)
    ) {
      assert.deepEqual((await ours.batch(operations)).map(said), expected, JSON.stringify(operations));
    } else await ours.batch(operations);
    assert.deepEqual(said(await ours.search([], { limit: 1000 })), said(await theirs.search([], { limit: 1000 })));
  }
  // Theirs lists namespaces, too, from which all is gone.
  const there = new Set((await theirs.search([], { limit: 1000 })).map(({ namespace: labels }) => labels.join()));
  for (const options of [{}, { prefix: ["a", "*"] }, { suffix: ["b"] }]) {
    const listed = (await theirs.listNamespaces(options)).filter((labels) => there.has(labels.join()));
    assert.deepEqual((await ours.listNamespaces(options)).map(String).sort(), listed.map(String).sort());
  }
});

it("a graph remembers across threads and processes", async () => {
  const state = Annotation.Root({ said: Annotation<string>, answer: Annotation<string> });
  const app = randomUUID();
  const graph = () =>
    new StateGraph(state)
      .addNode("remember", async ({ said }, { store }) => {
        const known = await store!.search(["memories", "ada"]);
        await store!.put(["memories", "ada"], randomUUID(), { said });
        return { answer: known.map(({ value }) => String(value["said"])).join() };
      })
      .addEdge(START, "remember")
      .compile({ store: opened(app) });
  assert.equal((await graph().invoke({ said: "I like tea." })).answer, "");
  assert.equal((await graph().invoke({ said: "I like cake." })).answer, "I like tea.");
});
