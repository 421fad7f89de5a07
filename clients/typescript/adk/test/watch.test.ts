// Following a session.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, it } from "node:test";
import { served } from "../../support/served.js";
import type { PositionGoneError, WatchItem } from "../src/core/index.js";
import { event, type PlainEvent, type PlainSession, plain } from "./support/plain.js";

type Item = WatchItem<PlainEvent>;

const { server } = await served();
const sessions = plain(server.url);

async function session(): Promise<PlainSession> {
  return await sessions.create(randomUUID(), "ada", {}, "s");
}

function at(session: PlainSession): { appName: string; userId: string; sessionId: string } {
  return { appName: session.appName, userId: "ada", sessionId: " s " };
}

/** Takes items until one fits. */
async function until(watch: AsyncIterator<Item>, fits: (item: Item) => boolean): Promise<Item[]> {
  const items: Item[] = [];
  for (;;) {
    const { value, done } = await watch.next();
    if (done) return items;
    items.push(value);
    if (fits(value)) return items;
  }
}

describe("a watch", () => {
  it("yields what is there, says so, and goes on with what comes until the session is gone", async () => {
    const own = await session();
    const old = [event({ a: 1 }), event()];
    for (const one of old) await sessions.append(own, one);
    const watch = sessions.watch(at(own));
    const first = await until(watch, (item) => item.type === "caughtUp");
    assert.deepEqual(
      first.map((item) => item.type),
      ["event", "event", "metadata", "caughtUp"],
    );
    const [one] = first;
    assert.ok(one?.type === "event");
    assert.deepEqual(
      [one.sequence, one.event.timestamp, { ...one.event.actions.stateDelta }],
      [1, old[0]?.timestamp, { a: 1 }],
    );
    assert.ok(Math.abs(one.commitTime.getTime() - Date.now()) < 600_000);
    assert.ok(!("sequence" in one.event));
    const fresh = event();
    const [[next]] = await Promise.all([until(watch, (item) => item.type === "event"), sessions.append(own, fresh)]);
    assert.ok(next?.type === "event" && next.event.id === fresh.id && next.sequence === 3);
    await sessions.delete(at(own));
    const [gone, ...others] = await until(watch, () => false);
    assert.ok(gone?.type === "deleted" && gone.reason === "deleted" && others.length === 0);
  });

  it("shows the state, and changes of app and user state", async () => {
    const own = await session();
    await sessions.append(own, event({ k: 1, "user:u": 1 }));
    const watch = sessions.watch({ ...at(own), includeState: true });
    const first = (await until(watch, (item) => item.type === "caughtUp")).find((item) => item.type === "state");
    assert.ok(first?.type === "state");
    assert.deepEqual({ ...first.state }, { k: 1, "user:u": 1 });
    const other = await sessions.create(own.appName, "ada", {}, "other");
    const changes = until(watch, (item) => item.type === "state" && "app:a" in item.set);
    await sessions.append(other, event({ "app:a": [1] }));
    await sessions.apply(other, [{ op: "remove", key: "user:u" }]);
    const change = (await changes).at(-1);
    assert.ok(change?.type === "state" && change.state === undefined);
    assert.deepEqual(change.set["app:a"], [1]);
    if (!change.removed.includes("user:u")) {
      const more = await until(watch, (item) => item.type === "state" && item.removed.includes("user:u"));
      assert.equal(more.at(-1)?.type, "state");
    }
    await watch.return();
  });

  it("that cannot begin behind a place says where the session is", async () => {
    const own = await session();
    await sessions.append(own, event());
    await assert.rejects(sessions.watch({ ...at(own), after: 7 }).next(), (error: PositionGoneError) => {
      assert.deepEqual([error.status, error.code, error.revision, error.baseRevision], [410, "position_gone", 1, 0]);
      return true;
    });
  });

  it("ends when its signal aborts, with the signal's reason: waiting, between attempts, and before it began", async () => {
    const own = await session();
    const controller = new AbortController();
    const watch = sessions.watch({ ...at(own), signal: controller.signal });
    await until(watch, (item) => item.type === "caughtUp");
    const next = watch.next();
    const reason = new Error("enough");
    controller.abort(reason);
    await assert.rejects(next, reason);
    await assert.rejects(sessions.watch({ ...at(own), signal: controller.signal }).next(), reason);

    const pausing = new AbortController();
    const away = plain({ url: "http://127.0.0.1:1", log: () => setImmediate(() => pausing.abort()) });
    const waiting = away.watch({ ...at(own), signal: pausing.signal });
    await assert.rejects(waiting.next(), { name: "AbortError" });
  });
});
