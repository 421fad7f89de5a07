// What every session service promises, for each framework.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, describe, it } from "node:test";
import { Server } from "../../../support/server.js";
import {
  AlreadyExistsError,
  SessiondInputError,
  SessionNotFoundError,
  StaleSessionError,
} from "../../src/core/index.js";
import { load, NAMES } from "../support/frameworks.js";

const server = await Server.shared();

/** What the server has, as it has it. */
async function raw(path: string, init?: RequestInit): Promise<string> {
  const answer = await fetch(server.url + path, init);
  const text = await answer.text();
  assert.ok(answer.ok, text);
  return text;
}

function post(body: string): RequestInit {
  return { method: "POST", headers: { "content-type": "application/json" }, body };
}

function session_(app: string, id = "s"): string {
  return `/v1/apps/${app}/users/ada/sessions/${id}`;
}

for (const name of NAMES) {
  const framework = await load(name);
  const service = framework.service(server.url);
  describe(name, () => {
    after(() => service.sessiond.close());
    const fresh = (): string => `${name}-${randomUUID()}`;

    it("keeps state by its prefix, and gives it to the sessions it is meant for", async () => {
      const app = fresh();
      const session = await service.create(app, "ada", { k: 1, "app:a": [1], "user:u": { x: null }, "temp:t": 1 }, "s");
      assert.deepEqual(framework.state(session), { k: 1, "app:a": [1], "user:u": { x: null } });
      assert.deepEqual([session.id, session.appName, session.userId, session.events], ["s", app, "ada", []]);
      const others = await Promise.all([service.create(app, "ada"), service.create(app, "bob")]);
      assert.deepEqual(others.map(framework.state), [{ "app:a": [1], "user:u": { x: null } }, { "app:a": [1] }]);
      assert.notEqual(others[0]?.id, others[1]?.id);
    });

    it("refuses to create a session that exists, and leaves it as it is", async () => {
      const app = fresh();
      await service.create(app, "ada", { k: 1 }, " s ");
      await assert.rejects(service.create(app, "ada", { k: 2 }, "s"), (error: AlreadyExistsError) => {
        assert.ok(error instanceof AlreadyExistsError);
        assert.deepEqual([error.status, error.code, error.outcome], [409, "session_already_exists", "not_applied"]);
        assert.ok(error.requestId);
        return true;
      });
      assert.deepEqual(framework.state((await service.get(app, "ada", "s"))!), { k: 1 });
    });

    it("finds no session that is not there, and deletes what is", async () => {
      const app = fresh();
      assert.equal(await service.get(app, "ada", "s"), undefined);
      assert.equal(await service.get(app, "ada", " "), undefined);
      await service.remove(app, "ada", "s");
      const session = await service.create(app, "ada", { "user:u": 1 }, "s");
      await service.remove(app, "ada", "s");
      assert.equal(await service.get(app, "ada", "s"), undefined);
      assert.deepEqual(framework.state(await service.create(app, "ada")), { "user:u": 1 });
      const event = framework.event({ text: "late" });
      await assert.rejects(service.append(session, event), SessionNotFoundError);
      assert.deepEqual(session.events, []);
    });

    it("appends an event to the store and then to the session object", async () => {
      const app = fresh();
      const session = await service.create(app, "ada", { k: 1 }, "s");
      const event = framework.event({
        id: "e1",
        author: "waiter",
        invocationId: "i",
        timestamp: 1_790_000_000.25,
        text: "Coming.",
        stateDelta: { k: 2, "app:a": 1, "user:u": "x", "temp:t": "now", nothing: "" },
      });
      assert.equal(await service.append(session, event), event);
      const stored = { k: 2, "app:a": 1, "user:u": "x", nothing: "" };
      assert.deepEqual(framework.state(session), { ...stored, "temp:t": "now" });
      assert.deepEqual(session.events, [event]);
      assert.deepEqual({ ...event.actions.stateDelta }, stored);
      assert.equal(session.lastUpdateTime, 1_790_000_000.25 * framework.ticks);

      const read = (await service.get(app, "ada", "s"))!;
      assert.deepEqual(framework.state(read), stored);
      assert.equal(read.lastUpdateTime, 1_790_000_000.25 * framework.ticks);
      assert.equal(read.events.length, 1);
      const [found] = read.events;
      assert.deepEqual(
        [found?.id, found?.author, found?.invocationId, found?.timestamp, found?.content?.parts?.[0]?.text],
        ["e1", "waiter", "i", 1_790_000_000.25 * framework.ticks, "Coming."],
      );
      assert.equal(Object.getPrototypeOf(found), Object.getPrototypeOf(event));
      const text = await raw(session_(app));
      assert.match(text, /"timestamp":1790000000.25[,}]/);
      assert.doesNotMatch(text, /temp:/);
    });

    it("does not send partial events", async () => {
      const app = fresh();
      const session = await service.create(app, "ada", {}, "s");
      const event = framework.event({ text: "Com", partial: true, stateDelta: { k: 1 } });
      assert.equal(await service.append(session, event), event);
      assert.deepEqual([session.events, framework.state(session)], [[], {}]);
      assert.deepEqual((await service.get(app, "ada", "s"))?.events, []);
    });

    it("lets the server filter events", async () => {
      const app = fresh();
      const session = await service.create(app, "ada", {}, "s");
      for (const [id, timestamp] of [
        ["a", 100],
        ["b", 200.5],
        ["c", 150],
        ["d", 300],
      ] as const) {
        await service.append(session, framework.event({ id, timestamp }));
      }
      const ids = async (config: { numRecentEvents?: number; afterTimestamp?: number }): Promise<string[]> =>
        (await service.get(app, "ada", "s", config))!.events.map((event) => event.id);
      assert.deepEqual(await ids({}), ["a", "b", "c", "d"]);
      assert.deepEqual(await ids({ numRecentEvents: 2 }), ["c", "d"]);
      assert.deepEqual(await ids({ numRecentEvents: 0 }), []);
      assert.deepEqual(await ids({ afterTimestamp: 200.5 * framework.ticks }), ["b", "d"]);
      assert.deepEqual(await ids({ afterTimestamp: 0 }), ["a", "b", "c", "d"]);
      assert.deepEqual(await ids({ numRecentEvents: 3, afterTimestamp: 200 * framework.ticks }), ["b", "d"]);
      await assert.rejects(ids({ numRecentEvents: -1 }), SessiondInputError);
    });

    it("lists the sessions of a user by last update, without events and state", async () => {
      const app = fresh();
      for (const [id, timestamp] of [
        ["x", 300],
        ["y", 100],
        ["z", 200],
      ] as const) {
        const session = await service.create(app, "ada", { k: 1 }, id);
        await service.append(session, framework.event({ timestamp }));
      }
      await service.create(app, "bob", {}, "other");
      const listed = await service.list(app, "ada");
      assert.deepEqual(
        listed.map((session) => [session.id, session.lastUpdateTime, session.events, framework.state(session)]),
        [
          ["y", 100],
          ["z", 200],
          ["x", 300],
        ].map(([id, time]) => [id, Number(time) * framework.ticks, [], {}]),
      );
      assert.deepEqual(await service.list(app, "nobody"), []);
    });

    it("takes ids of all characters", async () => {
      const ids = ["a/b", "a?b#c", "a b+c", "日本", "%2F", "..x", "a:b@c", "'\"\\", "🍵"];
      const app = `${fresh()}/é`;
      for (const id of ids) {
        const session = await service.create(app, id, { "user:id": id }, id);
        await service.append(session, framework.event({ id, text: id }));
        const read = await service.get(app, id, id);
        assert.deepEqual([read?.id, read?.userId, read?.events[0]?.id], [id, id, id]);
        assert.deepEqual(
          (await service.list(app, id)).map((listed) => listed.id),
          [id],
        );
        await service.remove(app, id, id);
        assert.equal(await service.get(app, id, id), undefined);
      }
      await assert.rejects(service.create(app, "ada", {}, ".."), SessiondInputError);
    });

    it("keeps values as JSON has them", async () => {
      const app = fresh();
      const values = {
        "": "empty",
        ":": 0,
        "app:": 1,
        constructor: "own",
        __proto: { a: [] },
        text: '\u0000\u2028"\\é日🍵',
        list: [null, true, false, -0.5, 1e-7, { "\n": [] }],
        big: Number.MAX_SAFE_INTEGER,
        "Temp:x": 1,
        temp_x: 2,
      };
      const session = await service.create(app, "ada", {}, "s");
      const delta = { ...values };
      Object.defineProperty(delta, "__proto__", { value: "own", enumerable: true });
      await service.append(session, framework.event({ stateDelta: delta }));
      const read = (await service.get(app, "ada", "s"))!;
      assert.deepEqual(JSON.parse(JSON.stringify(framework.state(read))), JSON.parse(JSON.stringify(delta)));
      assert.match(await raw(`${session_(app)}/state`), /"__proto__":"own"/);
      assert.equal({}.constructor, Object);
    });

    it("refuses values that JSON does not have, and changes nothing", async () => {
      const app = fresh();
      const session = await service.create(app, "ada", { k: 0 }, "s");
      const cycle: unknown[] = [];
      cycle.push(cycle);
      for (const value of [Number.NaN, Number.POSITIVE_INFINITY, 1n, [{ deep: Number.NaN }], cycle, "\ud800"]) {
        const event = framework.event({ stateDelta: { k: value, "temp:t": 1 } });
        await assert.rejects(service.append(session, event), SessiondInputError);
        assert.deepEqual(framework.state(session), { k: 0 });
        assert.deepEqual([session.events, event.actions.stateDelta["temp:t"]], [[], 1]);
        await assert.rejects(service.create(app, "ada", { k: value }), SessiondInputError);
      }
    });

    it("leaves out what was taken back, and what took it back", async () => {
      const app = fresh();
      const session = await service.create(app, "ada", { k: 0 }, "s");
      const say = async (id: string, invocationId: string, k: number): Promise<void> => {
        await service.append(session, framework.event({ id, invocationId, timestamp: k, stateDelta: { k } }));
      };
      await say("a", "i1", 1);
      await say("b", "i2", 2);
      await say("c", "i3", 3);
      await raw(`${session_(app)}/rewind`, post('{"beforeInvocationId":"i2"}'));
      await say("d", "i4", 4);
      const ids = async (config?: object): Promise<string[]> =>
        (await service.get(app, "ada", "s", config))!.events.map(({ id }) => id);
      assert.deepEqual(await ids(), ["a", "d"]);
      assert.deepEqual(await ids({ numRecentEvents: 1 }), ["d"]);
      assert.deepEqual(await ids({ numRecentEvents: 2 }), ["a", "d"]);
      assert.deepEqual(await ids({ numRecentEvents: 9 }), ["a", "d"]);
      assert.deepEqual(await ids({ afterTimestamp: 2 * framework.ticks }), ["d"]);
      assert.deepEqual(framework.state((await service.get(app, "ada", "s"))!), { k: 4 });
      // It has all events of the store, so it may be appended to.
      const strict = framework.service({ url: server.url, concurrency: "session" });
      const read = (await strict.get(app, "ada", "s"))!;
      await strict.append(read, framework.event({ id: "e", stateDelta: {} }));
      assert.deepEqual(await ids(), ["a", "d", "e"]);
    });

    it("removes what an event said", async () => {
      const app = fresh();
      const session = await service.create(app, "ada", {}, "s");
      const said = await service.append(session, framework.event({ text: "my password", stateDelta: { secret: "x" } }));
      const key = { appName: app, userId: "ada", sessionId: "s" };
      const redacted = await service.sessiond.redactEvent(key, said.id, { reason: "a password", state: "remove" });
      assert.equal(redacted.id, said.id);
      assert.ok(!JSON.stringify(await service.get(app, "ada", "s")).includes("my password"));
      assert.deepEqual(framework.state((await service.get(app, "ada", "s"))!), {});
      await assert.rejects(service.sessiond.redactEvent({ ...key, sessionId: "none" }, said.id), SessionNotFoundError);
    });

    it("makes a change that has an id once", async () => {
      const app = fresh();
      const session = await service.create(app, "ada", { n: 1 }, "s");
      const add = [
        { op: "increment", key: "n", value: 1 },
        { op: "remove", key: "gone" },
      ] as const;
      const options = { once: "order 17", preconditions: [{ key: "n", equals: 1 }] };
      const { sessiond } = service;
      assert.deepEqual({ ...(await sessiond.apply(session, add, options)) }, { n: 2 });
      await sessiond.apply(session, [{ op: "set", key: "n", value: 10 }]);
      // Of the same agent, of another one, in another invocation, through another object; the precondition held then.
      const other = (await service.get(app, "ada", "s"))!;
      for (const [target, author, invocationId] of [
        [session, "user", ""],
        [session, "agent", "i2"],
        [other, "agent", "i3"],
      ] as const) {
        const values = await sessiond.apply(target, add, { ...options, author, invocationId });
        assert.deepEqual({ ...values }, { n: 2 });
        assert.deepEqual([framework.state(target), target.events.length], [{ n: 10 }, 2]);
      }
      // Another change, or another event, of the same id is none of ours.
      const two = [{ op: "increment", key: "n", value: 2 }] as const;
      await assert.rejects(sessiond.apply(session, two, { once: "order 17" }), AlreadyExistsError);
      await service.append(session, framework.event({ id: "said", stateDelta: {} }));
      await assert.rejects(sessiond.apply(session, add, { once: "said" }), AlreadyExistsError);
      // An object that has not seen the change shows it.
      const late = await service.create(app, "ada", {}, "late");
      const early = (await service.get(app, "ada", "late"))!;
      for (const target of [late, early]) {
        await sessiond.apply(target, [{ op: "increment", key: "l", value: 1 }], { once: "first" });
        assert.deepEqual([framework.state(target)["l"], target.events.length], [1, 1]);
      }
    });

    it("rounds integers beyond 2^53, in this process alone", async () => {
      const app = fresh();
      await service.create(app, "ada", {}, "s");
      const exact = "9007199254740993";
      await raw(
        `${session_(app)}/events`,
        post(`{"id":"big","author":"x","actions":{"stateDelta":{"n":${exact},"app:n":1e2}}}`),
      );
      const session = (await service.get(app, "ada", "s"))!;
      assert.deepEqual(framework.state(session), { n: 9007199254740992, "app:n": 100 });
      await service.append(session, framework.event({ stateDelta: { other: 1 } }));
      // Operators count in the store, where nothing is rounded.
      await service.sessiond.apply(session, [{ op: "increment", key: "n", value: 2 }]);
      assert.match(await raw(`${session_(app)}/state`), /"n":9007199254740995[,}]/);
      assert.match(await raw(`${session_(app)}/state`), /"app:n":1e2[,}]/);
    });

    it("keeps microseconds", async () => {
      const app = fresh();
      await service.create(app, "ada", {}, "s");
      const times = ["1790000000.123456", "1790000000.000001", "0.5", "1790000001"];
      for (const time of times) await raw(`${session_(app)}/events`, post(`{"author":"x","timestamp":${time}}`));
      const { events } = (await service.get(app, "ada", "s"))!;
      const expected = times.map((time) => Math.round(Number(time) * 1e6) * (framework.ticks / 1000));
      assert.deepEqual(
        events.map((event) => Math.round(event.timestamp * 1e3)),
        framework.ticks === 1000 ? expected : times.map((time) => Math.round(Number(time) * 1e3)),
      );
      // Read, and appended elsewhere, they are the same.
      const copy = await service.create(app, "ada", {}, "copy");
      for (const event of events) await service.append(copy, event);
      const stored = JSON.parse(await raw(session_(app, "copy"))) as { events: { timestamp: number }[] };
      assert.deepEqual(
        stored.events.map((event) => event.timestamp),
        times.map(Number),
      );
    });

    it("stores an event once, however often it is appended", async () => {
      const app = fresh();
      const session = await service.create(app, "ada", {}, "s");
      const event = framework.event({ id: "once", text: "x", stateDelta: { n: 1 } });
      await service.append(session, event);
      await service.append(session, event);
      assert.equal(session.events.length, 1);
      const other = framework.event({ id: "once", text: "y" });
      await assert.rejects(
        service.append(session, other),
        (error: AlreadyExistsError) => error.code === "event_id_conflict",
      );
      assert.deepEqual(
        (await service.get(app, "ada", "s"))?.events.map((known) => known.content?.parts?.[0]?.text),
        ["x"],
      );
    });

    it("knows an event again that another client wrote, whatever fields it has", async () => {
      const app = fresh();
      await service.create(app, "ada", {}, "s");
      const events = [
        '{"id":"bare"}',
        '{"id":"go","author":"a","invocationId":"i","timestamp":1.5,"actions":{"stateDelta":{"k":null,"n":1}}}',
        `{"id":"py","author":"a","content":{"parts":[{"text":"t"},{"functionCall":{"name":"f","args":{"x":[1.5]}}}],"role":"model"},
          "actions":{"stateDelta":{},"artifactDelta":{},"requestedAuthConfigs":{},"requestedToolConfirmations":{}},"longRunningToolIds":["c"]}`,
        '{"id":"own","author":"a","ourField":{"deep":[1]},"customMetadata":{"m":1},"longRunningToolIds":[],"actions":{"theirs":7,"compaction":{"x":1}}}',
        '{"id":"ops","author":"a","actions":{"stateOps":[{"op":"increment","key":"app:n","value":1}]}}',
        '{"id":"snake","invocation_id":"i","actions":{"state_delta":{"s":"x"},"artifact_delta":{"f":1}}}',
      ];
      for (const event of events) await raw(`${session_(app)}/events`, post(event));
      const before = await raw(session_(app));
      const session = (await service.get(app, "ada", "s"))!;
      assert.equal(session.events.length, events.length);
      for (const event of [...session.events]) await service.append(session, event);
      assert.equal(await raw(session_(app)), before);
      assert.equal(session.events.length, events.length);
      const own = session.events[3] as unknown as { ourField: unknown; actions: { theirs: unknown } };
      assert.deepEqual([own.ourField, own.actions.theirs], [{ deep: [1] }, 7]);
    });

    it("writes a new event as the other frameworks do", async () => {
      const app = fresh();
      const session = await service.create(app, "ada", {}, "s");
      const fields = { id: "e", author: "a", invocationId: "i", timestamp: 1.25, text: "t", role: "model" };
      await service.append(session, framework.event({ ...fields, stateDelta: { k: 1 } }));
      const stored = JSON.parse(await raw(`${session_(app)}/events/e`)) as Record<string, unknown>;
      delete stored["commitTime"];
      assert.deepEqual(stored, {
        id: "e",
        author: "a",
        invocationId: "i",
        timestamp: 1.25,
        content: { parts: [{ text: "t" }], role: "model" },
        actions: { stateDelta: { k: 1 }, artifactDelta: {}, requestedAuthConfigs: {}, requestedToolConfirmations: {} },
        sequence: 1,
      });
    });

    it("loses no event of many writers, in one object and in several", async () => {
      const app = fresh();
      const session = await service.create(app, "ada", {}, "s");
      const objects = [session, session, (await service.get(app, "ada", "s"))!, (await service.get(app, "ada", "s"))!];
      await Promise.all(
        objects.flatMap((object, writer) =>
          Array.from({ length: 10 }, (_, n) =>
            service.append(object, framework.event({ stateDelta: { [`app:k${writer}-${n}`]: n } })),
          ),
        ),
      );
      const read = (await service.get(app, "ada", "s"))!;
      assert.equal(read.events.length, 40);
      assert.equal(Object.keys(framework.state(read)).length, 40);
      assert.equal(session.events.length, 20);
    });

    it("with concurrency `session`, lets one of several writers win", async () => {
      const app = fresh();
      const strict = framework.service({ url: server.url, concurrency: "session" });
      const mine = await strict.create(app, "ada", {}, "s");
      const theirs = (await strict.get(app, "ada", "s"))!;
      await strict.append(mine, framework.event({ stateDelta: { k: "mine" } }));
      const late = framework.event({ stateDelta: { k: "theirs" } });
      await assert.rejects(strict.append(theirs, late), (error: StaleSessionError) => {
        assert.ok(error instanceof StaleSessionError);
        assert.deepEqual([error.status, error.code, error.outcome], [412, "revision_mismatch", "not_applied"]);
        return true;
      });
      assert.deepEqual([theirs.events, framework.state(theirs)], [[], {}]);
      await strict.append(mine, framework.event({ stateDelta: { k: "mine again" } }));
      const read = (await strict.get(app, "ada", "s"))!;
      assert.deepEqual([read.events.length, framework.state(read)], [2, { k: "mine again" }]);
      await strict.append(read, late);
      assert.equal(strict.sessiond.revision(read), 3);
      await assert.rejects(strict.append({ ...read }, framework.event({})), StaleSessionError);
    });
  });
}
