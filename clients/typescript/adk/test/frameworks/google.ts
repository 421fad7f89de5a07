// What @google/adk asks of a session service beyond what all frameworks do.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { before, describe, it } from "node:test";
import {
  type CompactedEvent,
  createEvent,
  createEventActions,
  isCompactedEvent,
  type ListSessionsRequest,
  State,
} from "@google/adk";
import { Server } from "../../../support/server.js";
import { SessiondSessionService } from "../../src/index.js";

const server = await Server.shared();
const service = new SessiondSessionService(server.url);

describe("getOrCreateSession", () => {
  it("gives all of many callers at once the same session", async () => {
    const key = { appName: randomUUID(), userId: "ada", sessionId: "s" };
    const callers = Array.from({ length: 20 }, (_, n) => ({ ...key, state: { n } }));
    const sessions = await Promise.all(callers.map((caller) => service.getOrCreateSession(caller)));
    assert.equal(new Set(sessions.map((session) => session.state["n"])).size, 1);
    assert.equal((await service.listSessions(key)).totalItems, 1);
  });

  it("returns the events of a session that exists", async () => {
    const key = { appName: randomUUID(), userId: "ada", sessionId: "s" };
    const session = await service.getOrCreateSession({ ...key, state: { k: 1 } });
    await service.appendEvent({ session, event: createEvent({ id: "e" }) });
    const again = await service.getOrCreateSession({ ...key, state: { k: 2 } });
    assert.deepEqual([again.events.map((event) => event.id), again.state["k"]], [["e"], 1]);
  });

  it("makes an id if there is none", async () => {
    const request = { appName: randomUUID(), userId: "ada", sessionId: " " };
    const [one, two] = [await service.getOrCreateSession(request), await service.getOrCreateSession(request)];
    assert.notEqual(one.id, two.id);
  });
});

describe("listSessions", () => {
  const appName = randomUUID();
  before(async () => {
    for (const [userId, sessionId, timestamp] of [
      ["ada", "a", 3000],
      ["ada", "b", 1000],
      ["ada", "c", 2000],
      ["bob", "d", 2500],
    ] as const) {
      const session = await service.createSession({ appName, userId, sessionId });
      await service.appendEvent({ session, event: createEvent({ timestamp }) });
    }
  });
  const list = async (request: Partial<ListSessionsRequest>): Promise<unknown[]> => {
    const { sessions, ...rest } = await service.listSessions({ appName, ...request });
    return [sessions.map((session) => session.id).join(""), rest];
  };

  it("has the sessions of all users without a user", async () => {
    assert.deepEqual(await list({}), ["bcda", { page: 1, limit: 4, totalItems: 4, totalPages: 1 }]);
  });

  it("orders, skips and pages", async () => {
    const [userId, all] = ["ada", { totalItems: 3, totalPages: 2 }];
    assert.deepEqual(await list({ userId, order: "desc" }), [
      "acb",
      { page: 1, limit: 3, totalItems: 3, totalPages: 1 },
    ]);
    assert.deepEqual(await list({ userId, offset: 1 }), ["ca", { page: 1, limit: 3, totalItems: 3, totalPages: 1 }]);
    assert.deepEqual(await list({ userId, limit: 2 }), ["bc", { page: 1, limit: 2, ...all }]);
    assert.deepEqual(await list({ userId, limit: 2, offset: 2 }), ["a", { page: 2, limit: 2, ...all }]);
    assert.deepEqual(await list({ userId, limit: 2, page: 2, offset: 9 }), ["a", { page: 2, limit: 2, ...all }]);
    assert.deepEqual(await list({ userId, limit: 2, page: 9 }), ["", { page: 9, limit: 2, ...all }]);
    assert.deepEqual(await list({ userId, limit: 0 }), ["", { page: 1, limit: 0, totalItems: 3, totalPages: 0 }]);
    assert.deepEqual(await list({ userId: "nobody" }), ["", { page: 1, limit: 0, totalItems: 0, totalPages: 0 }]);
  });

  it("reads all pages of the server", async () => {
    const many = randomUUID();
    const ids = Array.from({ length: 1100 }, (_, n) => `s${n}`);
    for (let start = 0; start < ids.length; start += 50) {
      const some = ids.slice(start, start + 50);
      await Promise.all(some.map((sessionId) => service.createSession({ appName: many, userId: "ada", sessionId })));
    }
    const { sessions, totalItems } = await service.listSessions({ appName: many, userId: "ada", limit: 10, page: 110 });
    assert.deepEqual([sessions.length, totalItems], [10, 1100]);
  });
});

describe("appendEvent", () => {
  it("finds no key in a state that nobody has set", async () => {
    const session = await service.createSession({ appName: randomUUID(), userId: "ada", sessionId: "s" });
    const read = await service.getSession({ ...session, sessionId: session.id });
    for (const { state } of [session, read!])
      assert.equal(new State(state, Object.create(null)).has("constructor"), false);
  });

  it("returns events that ADK knows as its own", async () => {
    const session = await service.createSession({ appName: randomUUID(), userId: "ada", sessionId: "s" });
    await service.appendEvent({ session, event: createEvent({ timestamp: 1 }) });
    const read = await service.getSession({ ...session, sessionId: session.id });
    assert.ok(Symbol.for("google.adk.event") in read!.events[0]!);
    assert.equal(read?.events[0]?.timestamp, 1);
  });

  it("stores undefined as null", async () => {
    const session = await service.createSession({ appName: randomUUID(), userId: "ada", state: { k: 1 } });
    const event = createEvent({ actions: createEventActions({ stateDelta: { k: undefined } }) });
    await service.appendEvent({ session, event });
    const read = await service.getSession({ ...session, sessionId: session.id });
    assert.equal(read?.state["k"], null);
  });

  it("leaves keys that a tool has assigned since as they are, and puts in `temp:` keys that none has", async () => {
    const session = await service.createSession({ appName: randomUUID(), userId: "ada", sessionId: "s" });
    const [slow, quick] = [createEvent({ id: "slow" }), createEvent({ id: "quick" })];
    const assign = (event: typeof slow, value: string): void => {
      for (const key of ["temp:t", "k"]) new State(session.state, event.actions.stateDelta).set(key, value);
    };
    assign(slow, "early");
    assign(quick, "late");
    await service.appendEvent({ session, event: quick });
    await service.appendEvent({ session, event: slow });
    assert.deepEqual({ ...session.state }, { "temp:t": "late", k: "late" });
    assert.deepEqual(
      session.events.map((event) => Object.keys(event.actions.stateDelta)),
      [["k"], ["k"]],
    );
    // As `outputKey` does, past the state.
    await service.appendEvent({
      session,
      event: createEvent({ actions: createEventActions({ stateDelta: { "temp:t": "said" } }) }),
    });
    assert.equal(session.state["temp:t"], "said");
    assert.equal(State.TEMP_PREFIX, "temp:");
  });

  it("stores the times of a compaction in seconds", async () => {
    const key = { appName: randomUUID(), userId: "ada", sessionId: "s" };
    const session = await service.createSession(key);
    const [startTime, endTime] = [1795579734880, 1795579738250];
    const event: CompactedEvent = {
      ...createEvent({ author: "user" }),
      ...{ isCompacted: true, startTime, endTime, compactedContent: "They spoke of tea." },
    };
    await service.appendEvent({ session, event });
    const path = `/v1/apps/${key.appName}/users/ada/sessions/s/events/${event.id}`;
    const stored = (await (await fetch(server.url + path)).json()) as Record<string, unknown>;
    assert.deepEqual([stored["startTime"], stored["endTime"]], [1795579734.88, 1795579738.25]);
    const [read] = (await service.getSession(key))!.events;
    assert.ok(read && isCompactedEvent(read));
    assert.deepEqual([read.startTime, read.endTime, read.isCompacted], [startTime, endTime, true]);
  });
});
