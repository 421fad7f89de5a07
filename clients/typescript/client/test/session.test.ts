// Sessions, events and state, on a real server.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { it } from "node:test";
import { FaultyProxy } from "../../support/proxy.js";
import { served } from "../../support/served.js";
import {
  ConflictError,
  GoneError,
  InputError,
  NotFoundError,
  type Session,
  Sessiond,
  SessiondError,
  StaleError,
  type StoredEvent,
  text,
  textOf,
} from "../src/index.js";
import { all } from "../src/pages.js";

const { server, db } = await served();

/** A session with an app of its own, which exists. */
async function created(state?: Record<string, unknown>): Promise<Session> {
  const session = db.session(randomUUID(), "ada/ü", "s 1");
  await session.create({ state });
  return session;
}

const ids = (events: StoredEvent[]): string[] => events.map(({ id }) => id);

it("a session is created once, with state and events, and a handle of it costs no request", async () => {
  const session = db.session(randomUUID(), "ada", " s ");
  assert.deepEqual([session.id, session.revision], ["s", undefined]);
  await assert.rejects(session.get(), (error: NotFoundError) => {
    assert.ok(error instanceof NotFoundError && error instanceof SessiondError);
    assert.deepEqual([error.name, error.status, error.code], ["NotFoundError", 404, "session_not_found"]);
    assert.ok(error.requestId);
    return true;
  });
  const stored = await session.create({
    state: { "user:name": "Ada", step: 0 },
    events: [{ author: "user", content: text("user", "Hello", ", you") }],
    labels: { kind: "order" },
    displayName: "Tea",
    ttlMs: 3_600_000,
  });
  assert.deepEqual([stored.revision, stored.displayName, stored.labels], [1, "Tea", { kind: "order" }]);
  assert.deepEqual(stored.state, { step: 0, "user:name": "Ada" });
  assert.equal(session.revision, 1);
  assert.ok(stored.expireTime !== undefined && stored.expireTime > stored.createTime);
  const [first] = stored.events;
  assert.ok(first !== undefined && textOf(first) === "Hello, you");

  await assert.rejects(session.create(), ConflictError);
  assert.equal((await session.create({ existOk: true, state: { step: 9 } })).state["step"], 0);
  const { displayName, labels } = await session.update({ displayName: null, labels: { kind: "done" } });
  assert.deepEqual([displayName, labels], [undefined, { kind: "done" }]);
  assert.throws(() => db.session("a", "u", "  "), InputError);
});

it("events are appended one by one or all at once, and come back as they were", async () => {
  const session = await created();
  const event = { author: "model", content: text("model", "Coming up."), custom: { deep: [1, null] } };
  const stored = await session.append(event, { delta: { step: 1, "app:n": 1, "temp:x": 1 } });
  assert.deepEqual([stored.sequence, stored["custom"], stored.content], [1, event.custom, event.content]);
  assert.deepEqual(stored.actions?.stateDelta, { step: 1, "app:n": 1 });
  assert.ok(!("id" in event));
  assert.deepEqual(await session.append(stored), stored);

  const batch = await session.append([{ id: "a" }, { id: "b", actions: { stateDelta: { step: 2 } } }]);
  assert.deepEqual(ids(batch), ["a", "b"]);
  assert.equal(session.revision, 3);
  await assert.rejects(session.append([{ id: "c" }, { id: "a", author: "x" }]), ConflictError);
  await assert.rejects(session.append([{ id: "c" }], { delta: { step: 3 } }), InputError);
  assert.deepEqual(ids(await all(session.events({ after: 1 }))), ["a", "b"]);
  assert.deepEqual(ids(await all(session.events({ text: "UP coming" }))), [stored.id]);
  assert.equal((await session.append({ partial: true, author: "model" })).sequence, undefined);
  assert.equal((await session.event("b")).sequence, 3);
  await assert.rejects(session.event("c"), NotFoundError);
});

it("a name that is no text is refused before anything is sent, wherever there is one", async () => {
  const app = randomUUID();
  const session = db.session(app, "ada", "s");
  await session.create();
  const calls: Record<string, (name: string) => unknown> = {
    "app of a session": (name) => db.session(name, "u", "s"),
    "user of a session": (name) => db.session(app, name, "s"),
    "id of a session": (name) => db.session(app, "u", name),
    app: (name) => db.app(name),
    "user of a user": (name) => db.user(app, name),
    "user whose sessions": (name) => all(db.sessions(app, name)),
    "app of a list": async (name) => await all(db.users(name)),
    "label of a list": async (name) => await all(db.sessions(app, { labels: { a: name ?? null } })),
    "user of a token": (name) => db.mintToken(app, name),
    "event to read": (name) => session.event(name),
    "event to redact": (name) => session.redact(name),
    "key with a past": (name) => all(session.stateHistory(name)),
    "key to change": (name) => session.increment(name),
    "key of an app": (name) => db.app(app).set(name, 1),
    "keys to read": (name) => session.state({ keys: [name] }),
    "author of an event": (name) => session.append({ author: name ?? 7 }),
    invocation: (name) => session.rewind({ beforeInvocation: name }),
    file: (name) => session.artifacts.save(name, "text"),
    "file to read": (name) => session.artifacts.get(name),
    "file to delete": (name) => db.user(app, "u").artifacts.delete(name),
  };
  for (const [what, call] of Object.entries(calls)) {
    for (const name of [undefined, null, 7, { id: "a" }, ["a"], true] as never[]) {
      await assert.rejects(
        async () => await call(name),
        (error: InputError) => error instanceof InputError && error.status === undefined,
        `${what}: ${String(name)}`,
      );
    }
  }
  for (const key of [null, 7] as never[]) await assert.rejects(session.state(key), InputError);
  assert.deepEqual([await all(db.users(app)), (await session.get()).revision], [["ada"], 0]);
});

it("a name that is empty or would address another path is refused in the words of all clients, before anything is sent", async () => {
  const { of, refused, refusedSessions } = JSON.parse(readFileSync("../wire/names.json", "utf8")) as {
    of: Record<"app" | "user" | "session" | "file", string>;
    refused: { name: string; because: string }[];
    refusedSessions: { name: string; because: string }[];
  };
  // Nobody answers there.
  const nobody = new Sessiond({ url: "http://127.0.0.1:1", retryForMs: 0 });
  const session = nobody.session("a", "u", "s");
  const calls: Record<keyof typeof of, ((name: string) => unknown)[]> = {
    app: [
      (name) => nobody.session(name, "u", "s"),
      (name) => nobody.app(name),
      (name) => nobody.user(name, "u"),
      (name) => all(nobody.users(name)),
      (name) => all(nobody.sessions(name)),
      (name) => nobody.mintToken(name, "u"),
    ],
    user: [
      (name) => nobody.session("a", name, "s"),
      (name) => nobody.user("a", name),
      (name) => all(nobody.sessions("a", name)),
      (name) => nobody.mintToken("a", name),
    ],
    session: [(name) => nobody.session("a", "u", name), (name) => session.fork({ id: name })],
    file: [
      (name) => session.artifacts.save(name, "text"),
      (name) => session.artifacts.save(name, Buffer.from("bytes")),
      (name) => session.artifacts.get(name),
      (name) => session.artifacts.part(name),
      (name) => all(session.artifacts.versions(name)),
      (name) => session.artifacts.delete(name),
    ],
  };
  const half = { name: "half \ud83d", because: "has half of a character: a surrogate without its partner" };
  for (const [what, each] of Object.entries(calls) as [keyof typeof of, ((name: string) => unknown)[]][]) {
    for (const { name, because } of [...refused, half, ...(what === "session" ? refusedSessions : [])]) {
      for (const call of each) {
        await assert.rejects(
          async () => await call(name),
          (error: InputError) => {
            assert.ok(error instanceof InputError);
            assert.equal(error.message, `The ${of[what]} ${because}.`);
            assert.deepEqual([error.status, error.code, error.outcome], [undefined, "invalid_argument", "not_applied"]);
            return true;
          },
        );
      }
    }
  }
});

it("what would be changed or left out on its way is refused, and its place is named", async () => {
  const session = await created();
  const values: Record<string, unknown> = {
    "NaN, a number that JSON does not have,": Number.NaN,
    "a bigint": 1n,
    "a Map": new Map([["a", 1]]),
    "a date that is none": new Date(Number.NaN),
    "a Set": new Set([1]),
    "a RegExp": /a/,
    "a Error": new Error("a"),
    "a Promise": Promise.resolve(1),
    "a function": () => 1,
    "a symbol": Symbol("a"),
    "bytes (Uint8Array; give them in base64)": new Uint8Array([1]),
    "bytes (Buffer; give them in base64)": Buffer.from("a"),
  };
  for (const [what, value] of Object.entries(values)) {
    await assert.rejects(
      session.append({ author: "a" }, { delta: { "a/b": [0, { c: value }] } }),
      (error: InputError) => {
        assert.ok(error instanceof InputError && error.status === undefined);
        assert.ok(error.message.includes(`it has ${what} at /actions/stateDelta/a~1b/1/c`), error.message);
        return true;
      },
    );
    await assert.rejects(session.set("k", value), InputError);
  }
  await assert.rejects(session.set("k", [1, undefined]), /undefined at .*\/value\/1/);
  await assert.rejects(session.set("k", Array(2)), /undefined at/);
  const loop: unknown[] = [];
  loop.push(loop);
  await assert.rejects(session.set("k", loop), /a cycle at/);
  await session.set("k", { at: new Date(0), absent: undefined, twice: [values, values].map(() => ({})) });
  assert.deepEqual(await session.state("k"), { at: "1970-01-01T00:00:00.000Z", twice: [{}, {}] });
});

it("an event that would do nothing, or that nobody would see, is refused", async () => {
  const session = await created();
  // @ts-expect-error: no event has such a field
  await assert.rejects(session.append({ author: "user", delta: { a: 1 } }), /`delta` .* the option `delta`/);
  // @ts-expect-error
  await assert.rejects(session.append({ author: "user", ops: [] }), /`actions.stateOps`/);
  // @ts-expect-error
  await assert.rejects(session.append({ author: "user", state: {} }), InputError);
  // @ts-expect-error
  await assert.rejects(session.append({ role: "user", content: text("user", "hi") }), /`author`/);
  // @ts-expect-error
  await assert.rejects(session.append([{ author: "user", stateDelta: {} }]), InputError);
  // @ts-expect-error
  await assert.rejects(session.append({ Author: "user" }), /it is `author`/);
  // @ts-expect-error
  await assert.rejects(session.append({ actions: { stateDeltas: {} } }), /it is `stateDelta`/);
  // @ts-expect-error
  await assert.rejects(session.create({ events: [{ contents: {} }], existOk: true }), /it is `content`/);
  // @ts-expect-error
  await assert.rejects(session.append({ author: "user" }, { detla: {} }), /no option `detla`/);
  // @ts-expect-error
  await assert.rejects(session.append({ author: "user", content: "hi" }), /text\("user"/);
  // @ts-expect-error
  await assert.rejects(session.append({ author: "user", content: { parts: ["hi"] } }), /nobody would see/);
  // @ts-expect-error
  await assert.rejects(session.append("hello"), /An event is an object/);
  for (const parts of [{ text: "hi" }, { parts: [], text: "hi" }, new Map()] as never[]) {
    await assert.rejects(session.append({ author: "user", content: parts }), /nobody would see/);
  }
  for (const other of [new Map(), new Error("a"), new Date(), Promise.resolve({}), Buffer.from("a"), Object("a")]) {
    await assert.rejects(session.append(other as never), /An event is an object/);
    await assert.rejects(session.append([other] as never), /An event is an object/);
    await assert.rejects(session.append({ author: "a" }, { delta: other as never }), /`delta` is an object/);
  }
  await assert.rejects(session.append({ author: "a" }, { delta: ["a"] as never }), /`delta` is an object/);
  // @ts-expect-error: nobody but the compiler can know
  await session.append({ auther: "user" });
  assert.equal(session.revision, 1);
  // What was stored may be appended again, and fields of others are kept.
  const stored = await session.append({ author: "a", turnComplete: true, custom_metadata: { a: 1 } } as object);
  assert.deepEqual([stored["turnComplete"], stored.customMetadata], [true, { a: 1 }]);
});

it("an error says what was asked, and how often", async () => {
  const session = db.session(randomUUID(), "ada", "s");
  const url = `${server.url}/v1/apps/${session.app}/users/ada/sessions/s`;
  await assert.rejects(session.get(), (error: NotFoundError) => {
    assert.ok(error.message.includes(` It answers GET ${url} after 1 attempt in `), error.message);
    return true;
  });
  await assert.rejects(all(session.watch()), (error: NotFoundError) => error.message.includes(`GET ${url}/watch`));
});

it("without a URL, it is that of SESSIOND_URL", async () => {
  const before = process.env["SESSIOND_URL"];
  process.env["SESSIOND_URL"] = server.url;
  try {
    const own = new Sessiond();
    assert.ok(Array.isArray(await all(own.apps())));
    own.close();
    const [app, id] = [randomUUID(), "s"];
    await new Sessiond({ retryForMs: 0 }).session(app, "u", id).create();
  } finally {
    if (before === undefined) delete process.env["SESSIOND_URL"];
    else process.env["SESSIOND_URL"] = before;
  }
});

it("an append answers where its event is, if that is all that is asked for", async () => {
  const session = db.session(randomUUID(), "ada", "s");
  const event = { id: "e", author: "a", timestamp: 1.5, actions: { stateDelta: { gone: 1, n: 1 } } };
  const { commitTime, ...place } = await session.append(event, { create: true, answer: "minimal" });
  assert.deepEqual(place, { id: "e", timestamp: 1.5, sequence: 1 });
  const [again, second] = await session.append([event, { id: "f" }], { answer: "minimal" });
  assert.deepEqual([again, second?.sequence, session.revision], [{ ...place, commitTime }, 2, 2]);
  assert.equal((await session.append(event)).commitTime, commitTime);

  const known = [
    { op: "set", key: "a", value: [1] },
    { op: "remove", key: "gone" },
    { op: "set", key: "b", value: 1 },
    { op: "remove", key: "b" },
  ] as const;
  for (const _ of [1, 2]) assert.deepEqual(await session.apply(known, { once: "o" }), { a: [1] });
  assert.deepEqual(await session.apply([...known, { op: "increment", key: "n", value: 1 }]), { a: [1], n: 2 });
  assert.deepEqual([await session.state(), session.revision], [{ a: [1], n: 2 }, 4]);
});

it("a write that asks for a revision is refused if somebody was faster", async () => {
  const [session, app] = [await created(), db.app(randomUUID())];
  const other = db.session(session.app, session.user, session.id);
  await session.append({ id: "1" }, { ifRevision: 0 });
  await assert.rejects(other.append({ id: "2" }, { ifRevision: 0 }), (error: StaleError) => {
    assert.ok(error instanceof StaleError);
    assert.deepEqual([error.status, error.outcome, error.revision], [412, "not_applied", 1]);
    return true;
  });
  await other.get();
  await other.append({ id: "2" }, { ifRevision: other.revision });
  await assert.rejects(session.delete({ ifRevision: 1 }), StaleError);
  await assert.rejects(session.increment("n", 1, { ifRevision: 1 }), StaleError);
  await assert.rejects(app.increment("n", 1, { ifRevision: 7 }), StaleError);
  assert.equal(await session.state("n"), undefined);
});

it("the first append makes the session, if it is asked to", async () => {
  const session = db.session(randomUUID(), "ada", "s");
  await assert.rejects(session.append({ id: "1" }), NotFoundError);
  await assert.rejects(session.append({ id: "1" }, { create: true, ifRevision: 7 }), StaleError);
  assert.deepEqual(await session.append({ id: "0", partial: true }, { create: true }), { id: "0", partial: true });
  await assert.rejects(session.get(), NotFoundError);
  const stored = await session.append({ id: "1" }, { create: true, ifRevision: 0, delta: { "user:n": 1 } });
  assert.deepEqual(await session.append(stored, { create: true, ifRevision: 0 }), stored);
  assert.equal(await db.session(session.app, "bob", "s").increment("n", 2, { create: true }), 2);
  assert.deepEqual((await session.get()).state, { "user:n": 1 });
  const many = Array.from({ length: 8 }, (_, n) =>
    db.session(session.app, "eve", "s").append([{ id: `${n}` }], { create: true }),
  );
  await Promise.all(many);
  assert.equal((await db.session(session.app, "eve", "s").get()).revision, 8);
});

it("events are read in pages, the last ones first, and by what they say", async () => {
  const session = await created();
  await session.append(
    Array.from({ length: 25 }, (_, n) => ({
      id: `e${n + 1}`,
      author: n % 2 ? "model" : "user",
      invocationId: `i${n}`,
    })),
  );
  assert.equal((await all(session.events({ pageSize: 7 }))).length, 25);
  assert.deepEqual(ids(await all(session.events({ last: 3 }))), ["e23", "e24", "e25"]);
  assert.deepEqual(ids(await all(session.events({ last: 3, pageSize: 2, order: "desc" }))), ["e25", "e24", "e23"]);
  assert.deepEqual(await all(session.events({ last: 0 })), []);
  assert.deepEqual(ids(await all(session.events({ last: 2, author: "model" }))), ["e22", "e24"]);
  assert.deepEqual(ids(await all(session.events({ after: 3, before: 6 }))), ["e4", "e5"]);
  assert.deepEqual(ids(await all(session.events({ invocationId: "i4" }))), ["e5"]);
  assert.equal((await session.get({ last: 2 })).events.length, 2);

  await session.rewind({ beforeInvocation: "i23" });
  assert.deepEqual(ids(await all(session.events({ last: 2, effective: true }))), ["e22", "e23"]);
  assert.equal((await all(session.events({ excludeRewound: true }))).length, 23);
  assert.equal((await all(session.events())).length, 26);
  assert.equal((await session.rewind({ to: 5 })).revision, 27);
  assert.equal((await all(session.events({ effective: true }))).length, 5);
});

it("operators change what is there, all or none", async () => {
  const session = await created({ "user:tags": ["a"] });
  assert.equal(await session.increment("app:orders"), 1);
  assert.equal(await session.increment("app:orders", 2), 3);
  assert.deepEqual(await session.push("list", [1, [2]]), [1, [2]]);
  assert.deepEqual(await session.union("user:tags", ["a", "b"]), ["a", "b"]);
  assert.deepEqual(await session.merge("o", { a: 1, b: { c: 2 } }), { a: 1, b: { c: 2 } });
  assert.deepEqual(await session.merge("o", { a: null, b: { d: 3 } }), { b: { c: 2, d: 3 } });
  assert.deepEqual([await session.max("top", 5), await session.max("top", 4), await session.min("top", 3)], [5, 5, 3]);
  await session.set("odd, key", { x: 1 });
  assert.deepEqual(await session.state("odd, key"), { x: 1 });
  await session.remove("o");
  assert.deepEqual([await session.state("o"), await session.state("toString")], [undefined, undefined]);
  await assert.rejects(session.increment("list"), InputError);

  const when = [{ key: "table", exists: false }];
  const both = [
    { op: "set", key: "table", value: 7 },
    { op: "increment", key: "app:orders", value: 1 },
  ] as const;
  assert.deepEqual(await session.apply(both, { when, author: "waiter", invocationId: "i" }), {
    table: 7,
    "app:orders": 4,
  });
  await assert.rejects(session.apply(both, { when }), StaleError);
  assert.deepEqual(await session.state({ keys: ["table", "app:orders", "none"] }), { table: 7, "app:orders": 4 });
  const [last] = await all(session.events({ last: 1 }));
  assert.deepEqual([last?.author, last?.invocationId], ["waiter", "i"]);

  const sessions = Array.from({ length: 20 }, (_, n) => db.session(session.app, "ada", `s${n % 4}`));
  const many = await Promise.all(sessions.map((one) => one.increment("app:n", 1, { create: true })));
  assert.deepEqual(
    many.sort((one, other) => one - other),
    sessions.map((_, n) => n + 1),
  );
});

it("a change with an id is made once, whoever makes it again", async () => {
  const session = await created();
  assert.equal(await session.increment("n", 1, { once: "number of 7" }), 1);
  assert.equal(await session.increment("n"), 2);
  assert.equal(await session.increment("n", 1, { once: "number of 7" }), 1);
  assert.equal(await session.increment("n", 1, { once: "number of 7", author: "other", invocationId: "i2" }), 1);
  await assert.rejects(session.increment("n", 2, { once: "number of 7" }), ConflictError);
  assert.equal(await session.state("n"), 2);
});

it("state is read as it was, and in parts", async () => {
  const session = await created({ n: 0, "user:name": "Ada" });
  await session.append({ id: "1" }, { delta: { n: 1, "app:x": [] } });
  await session.append({ id: "2" }, { delta: { n: 2, "app:x": null } });
  assert.deepEqual(await session.state(), { n: 2, "user:name": "Ada", "app:x": null });
  assert.deepEqual(await session.state({ at: 1 }), { n: 1, "user:name": "Ada", "app:x": [] });
  assert.deepEqual(await session.state("n", { at: 0 }), 0);
  assert.deepEqual(await session.state({ scope: "session" }), { n: 2 });
  await assert.rejects(session.state({ at: 3 }), InputError);
  const { n } = await session.state();
  assert.equal(n, 2);
});

it("the past of a key says what it was, when, and which event made it so", async () => {
  const session = await created({ "a/b": 0 });
  await session.append({ id: "e1", author: "a", actions: { stateDelta: { "a/b": null, "app:k": 1 } } });
  await session.remove("a/b");
  const changes = await all(session.stateHistory("a/b", { pageSize: 1 }));
  assert.deepEqual(
    changes.map(({ revision, value, removed, base }) => [revision, value, removed, base]),
    [
      [2, undefined, true, undefined],
      [1, null, undefined, undefined],
      [0, 0, undefined, true],
    ],
  );
  assert.deepEqual(
    [changes[1]?.by?.sessionId, changes[1]?.by?.eventId, changes[1]?.by?.author],
    [session.id, "e1", "a"],
  );
  assert.equal(changes[2]?.by, undefined);
  const oldest = await all(session.stateHistory("a/b", { order: "asc" }));
  assert.deepEqual(oldest, changes.reverse());
  const app = db.app(session.app);
  await app.set("k", 2);
  for (const past of [session.stateHistory("app:k"), app.stateHistory("k")]) {
    assert.deepEqual(
      (await all(past)).map(({ value, by }) => [value, by?.sequence]),
      [
        [2, undefined],
        [1, 1],
      ],
    );
  }
  await assert.rejects(all(db.user(session.app, session.user).stateHistory("k")), NotFoundError);
});

it("apps and users have state of their own, with keys without prefix", async () => {
  const session = await created({ "user:name": "Ada" });
  const [app, user] = [db.app(session.app), db.user(session.app, session.user)];
  assert.deepEqual([await app.state(), await user.state()], [{}, { name: "Ada" }]);
  assert.equal(await app.increment("orders", 2, { once: "o1" }), 2);
  assert.equal(await app.increment("orders", 2, { once: "o1" }), 2);
  assert.equal(await session.state("app:orders"), 2);
  assert.deepEqual(
    await user.apply([
      { op: "set", key: "a", value: 1 },
      { op: "remove", key: "name" },
    ]),
    { a: 1 },
  );
  assert.deepEqual([await user.state("a"), await user.state("name")], [1, undefined]);
  await user.set("a/b c", null);
  assert.deepEqual([await user.state("a/b c"), await user.state({ prefix: "a/" })], [null, { "a/b c": null }]);
  assert.deepEqual(await session.state({ prefix: "user:a/" }), { "user:a/b c": null });
  await assert.rejects(user.set("user:a", 1), InputError);
  await assert.rejects(app.set("x", 1, { when: [{ key: "orders", equals: 3 }] }), StaleError);
});

it("sessions, users and apps are listed", async () => {
  const app = randomUUID();
  for (const [user, id] of [
    ["ada", "s1"],
    ["ada", "s2"],
    ["bob", "s3"],
  ] as const) {
    await db.session(app, user, id).create({ labels: { kind: user }, state: { id } });
  }
  const idsOf = async (sessions: ReturnType<Sessiond["sessions"]>): Promise<string[]> =>
    (await all(sessions)).map(({ id }) => id);
  const names = async (...of: Parameters<Sessiond["sessions"]>): Promise<string[]> => await idsOf(db.sessions(...of));
  assert.deepEqual(await names(app, "ada"), ["s1", "s2"]);
  assert.deepEqual(await idsOf(db.sessions(app)), ["s1", "s2", "s3"]);
  assert.deepEqual(await idsOf(db.sessions(app, { labels: { kind: "bob" } })), ["s3"]);
  assert.deepEqual(await names(app, "ada", { order: "desc", orderBy: "createTime" }), ["s2", "s1"]);
  assert.deepEqual(await names(app, "ada", { idPrefix: "s2" }), ["s2"]);
  const [whole] = await all(db.sessions(app, "bob", { includeState: true }));
  assert.deepEqual(whole?.state, { id: "s3" });
  assert.deepEqual(await all(db.users(app)), ["ada", "bob"]);
  assert.ok((await all(db.apps())).includes(app));
  assert.deepEqual(await names("none", "ada"), []);
});

it("a session is forked, trimmed, redacted and deleted", async () => {
  const session = await created({ n: 0 });
  await session.append(
    [1, 2, 3].map((n) => ({ id: `e${n}`, content: text("user", `${n}`), actions: { stateDelta: { n } } })),
  );
  const fork = await session.fork({ at: 1 });
  assert.deepEqual([fork.revision, await fork.state("n"), fork.app, fork.user], [1, 1, session.app, session.user]);
  const named = await session.fork({ id: "copy" });
  assert.deepEqual([named.id, ids(await all(named.events()))], ["copy", ["e1", "e2", "e3"]]);
  const forks = await all(db.sessions(session.app, session.user, { forkedFrom: session.id }));
  assert.deepEqual(forks.map(({ id }) => id).sort(), ["copy", fork.id].sort());

  const redacted = await session.redact("e2", { reason: "a name", state: "keep" });
  assert.deepEqual(
    [redacted.redacted?.reason, redacted.content, redacted.actions?.stateDelta],
    ["a name", undefined, { n: 2 }],
  );
  assert.deepEqual(await session.trim({ keepLast: 1 }), { baseRevision: 2, trimmedEvents: 2, revision: 3 });
  await assert.rejects(session.state({ at: 1 }), (error: GoneError) => error.baseRevision === 2);
  await assert.rejects(session.fork({ at: 1 }), GoneError);

  await session.delete();
  await session.delete();
  assert.equal(session.revision, undefined);
  await assert.rejects(session.append({ id: "x" }), NotFoundError);
  assert.equal((await named.get()).revision, 3);
});

it("an answer that is lost loses nothing and doubles nothing", async () => {
  const proxy = await FaultyProxy.start(server.port);
  const told: string[] = [];
  const lossy = new Sessiond({ url: proxy.url, log: (line) => told.push(line) });
  const session = lossy.session(randomUUID(), "u", "s");
  const lost = async <T>(write: () => Promise<T>): Promise<T> => {
    proxy.lost = 1;
    return await write();
  };
  await lost(() => session.create());
  await lost(() => session.append({ author: "user" }));
  await lost(() => session.append([{}, {}]));
  assert.equal(await lost(() => session.increment("n")), 1);
  await lost(() => session.append({ id: "e5", invocationId: "i5" }));
  assert.equal((await lost(() => session.rewind({ beforeInvocation: "i5" }))).revision, 6);
  const fork = await lost(() => session.fork());
  assert.equal(await lost(() => lossy.app(session.app).increment("m")), 1);
  await lost(() => session.artifacts.save("f", Buffer.from("abc")));
  await lost(() => session.artifacts.save("f", "abc"));
  assert.equal((await all(session.artifacts.versions("f"))).length, 2);
  assert.equal((await all(lossy.sessions(session.app))).length, 2);
  assert.deepEqual([(await session.get()).revision, (await fork.get()).revision], [8, 6]);
  await lost(() => session.delete());
  assert.equal(told.length, 11);
  assert.ok(told.every((line) => !line.includes("abc")));
  lossy.close();
});

it("a call ends when its signal aborts, or its time is up", async () => {
  const session = await created();
  const reason = new Error("enough");
  await assert.rejects(session.append({}, { signal: AbortSignal.abort(reason) }), reason);
  const proxy = await FaultyProxy.start(server.port);
  proxy.refused = Number.POSITIVE_INFINITY;
  const lossy = new Sessiond(proxy.url).session(session.app, session.user, session.id);
  const stop = new AbortController();
  const waiting = lossy.append({}, { signal: stop.signal });
  while (proxy.connections === 0) await new Promise(setImmediate);
  stop.abort(reason);
  await assert.rejects(waiting, reason);
  await assert.rejects(lossy.get({ retryForMs: 0 }), /1 attempt/);
  await proxy.close();
  assert.equal((await session.get()).revision, 0);
});

it("what has no method is a request", async () => {
  const session = await created({ n: 1 });
  const path = `/v1/apps/${session.app}/users/ada%2F%C3%BC/sessions/s%201`;
  assert.equal(await db.request("GET", `${path}/state/n`), 1);
  assert.deepEqual(await db.request("POST", `${path}/render`, { body: { template: "{n}!" } }), { text: "1!" });
  await assert.rejects(db.request("GET", "/v1/nothing"), (error: SessiondError) => !(error instanceof NotFoundError));
});

it("a token has no `Bearer` in front, and is not shown", () => {
  assert.throws(
    () => new Sessiond({ url: "http://u.example", token: "Bearer sdk_secret" }),
    (error: TypeError) => error.message.includes("without the word `Bearer`") && !error.message.includes("sdk_secret"),
  );
});
