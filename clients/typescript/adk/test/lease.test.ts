// One turn at a time.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, it } from "node:test";
import { FaultyProxy } from "../../support/proxy.js";
import { served } from "../../support/served.js";
import { SessionBusyError, type SessiondOptions, SessionNotFoundError, StaleSessionError } from "../src/core/index.js";
import { event, type Plain, type PlainEvent, type PlainSession, plain } from "./support/plain.js";

const services: Plain[] = [];
after(async () => {
  for (const service of services) await service.close();
});
const { server } = await served();
const [one, two] = [sessions(), sessions()];

function sessions(options: Partial<SessiondOptions> = {}): Plain {
  const service = plain({ url: server.url, concurrency: "lease", lease: "fail", ...options });
  services.push(service);
  return service;
}

/** What the server says of the lease. */
async function lease(session: PlainSession): Promise<{ epoch: number; owner?: string }> {
  const path = `/v1/apps/${session.appName}/users/${session.userId}/sessions/${session.id}/lease`;
  return (await (await fetch(server.url + path)).json()) as { epoch: number; owner?: string };
}

async function key(): Promise<{ appName: string; userId: string; sessionId: string }> {
  const found = { appName: randomUUID(), userId: "ada", sessionId: "s" };
  await one.create(found.appName, "ada", { k: 0 }, "s");
  return found;
}

/** An invocation: what a runner does, as far as its session service sees it. */
async function* run(
  service: Plain,
  session: PlainSession,
  id: string,
  ...steps: (() => unknown)[]
): AsyncGenerator<PlainEvent> {
  yield await service.append(session, event({ by: id }, id));
  for (const step of steps) {
    await step();
    yield await service.append(session, event({ by: id }, id));
  }
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

it("a turn has the session, and another one fails at once", async () => {
  const at = await key();
  const [mine, theirs] = [(await one.get(at))!, (await two.get(at))!];
  await one.append(mine, event({}, "i1"));
  await assert.rejects(two.append(theirs, event({}, "i2")), (error: SessionBusyError) => {
    assert.ok(error instanceof SessionBusyError);
    assert.deepEqual([error.status, error.code, error.outcome], [409, "lease_held", "not_applied"]);
    assert.match(error.owner ?? "", new RegExp(`/${process.pid}/`));
    assert.ok((error.expireTime?.getTime() ?? 0) > Date.now());
    return true;
  });
  assert.deepEqual(theirs.events, []);
  await one.append(mine, event({}, "i1"));
  assert.equal((await lease(mine)).epoch, 1);
});

it("the same invocation on another session object is another turn", async () => {
  const at = await key();
  const [mine, theirs] = [(await one.get(at))!, (await one.get(at))!];
  await one.append(mine, event({}, "i"));
  await assert.rejects(one.append(theirs, event({}, "i")), SessionBusyError);
});

it("a turn ends with its run, be it whole, left or failed", async () => {
  const at = await key();
  const mine = (await one.get(at))!;
  const ran = await all(one.turn(() => run(one, mine, "i1", () => {})));
  assert.equal(ran.length, 2);
  assert.equal((await lease(mine)).owner, undefined);

  for await (const _ of one.turn(() => run(one, mine, "i2", () => {}))) {
    assert.notEqual((await lease(mine)).owner, undefined);
    break;
  }
  assert.equal((await lease(mine)).owner, undefined);

  const failing = one.turn(() =>
    run(one, mine, "i3", () => {
      throw new RangeError("model");
    }),
  );
  await assert.rejects(all(failing), RangeError);
  assert.equal((await lease(mine)).owner, undefined);
});

it("ends the turns of its own run alone", async () => {
  const [a, b] = [await key(), await key()];
  const [mine, other] = [(await one.get(a))!, (await one.get(b))!];
  const long = one.turn(() => run(one, other, "long", () => {}))[Symbol.asyncIterator]();
  await long.next();
  await all(one.turn(() => run(one, mine, "short")));
  assert.equal((await lease(mine)).owner, undefined);
  assert.notEqual((await lease(other)).owner, undefined);
  await long.return?.();
  assert.equal((await lease(other)).owner, undefined);
});

it("the next invocation of a session object ends the one before", async () => {
  const at = await key();
  const mine = (await one.get(at))!;
  await one.append(mine, event({}, "i1"));
  await one.append(mine, event({}, "i2"));
  assert.equal((await lease(mine)).epoch, 2);
  await one.close();
  assert.equal((await lease(mine)).owner, undefined);
});

it("who waits gets its turn at the end of the other, and sees what that did", async () => {
  const at = await key();
  const waiting = sessions({ lease: "wait" });
  const [mine, theirs] = [(await one.get(at))!, (await waiting.get(at))!];
  let done = false;
  const first = one.turn(() => run(one, mine, "i1", () => {}));
  const iterator = first[Symbol.asyncIterator]();
  await iterator.next();
  theirs.state["temp:t"] = "mine";
  const waited = waiting.append(theirs, event({ seen: true }, "i2")).then(() => {
    done = true;
  });
  await one.append(mine, event({ k: 1, "user:u": 1 }, "i1"));
  await one.apply(mine, [{ op: "remove", key: "by" }]);
  assert.equal(done, false);
  while (!(await iterator.next()).done);
  await waited;
  assert.deepEqual({ ...theirs.state }, { k: 1, "user:u": 1, by: "i1", seen: true, "temp:t": "mine" });
  assert.deepEqual(
    theirs.events.map((known) => known.id),
    (await one.get(at))!.events.map((known) => known.id),
  );
  assert.equal(waiting.revision(theirs), 5);
});

it("who has waited long enough fails", async () => {
  const at = await key();
  const waiting = sessions({ lease: "wait", leaseWaitMs: 1_200 });
  const [mine, theirs] = [(await one.get(at))!, (await waiting.get(at))!];
  await one.append(mine, event({}, "i1"));
  await assert.rejects(waiting.append(theirs, event({}, "i2")), SessionBusyError);
});

it("a turn that was superseded stores nothing any more", async () => {
  const at = await key();
  const short = sessions({ leaseTtlMs: 1_000 });
  const waiting = sessions({ lease: "wait" });
  const [slow, quick] = [(await short.get(at))!, (await waiting.get(at))!];
  await short.append(slow, event({ by: "slow" }, "i1"));
  await waiting.append(quick, event({ by: "quick" }, "i2"));
  for (let tries = 0; tries < 2; tries += 1) {
    await assert.rejects(short.append(slow, event({ by: "slow" }, "i1")), (error: StaleSessionError) => {
      assert.ok(error instanceof StaleSessionError);
      assert.deepEqual([error.status, error.code, error.outcome], [409, "fenced", "not_applied"]);
      return true;
    });
  }
  assert.equal((await one.get(at))?.state["by"], "quick");
  await waiting.append(quick, event({}, "i2"));
});

it("events without an invocation, and services without turns, are not part of it", async () => {
  const at = await key();
  const [mine, side] = [(await one.get(at))!, (await two.get(at))!];
  await one.append(mine, event({}, "i1"));
  await two.append(side, event({ side: 1 }));
  const none = sessions({ concurrency: "none" });
  await none.append((await none.get(at))!, event({ side: 2 }, "i9"));
  await one.append(mine, event({}, "i1"));
  assert.equal((await one.get(at))?.events.length, 4);
});

it("a lease whose answer gets lost is taken once", async () => {
  const at = await key();
  const proxy = await FaultyProxy.start(server.port);
  const service = sessions({ url: proxy.url });
  const mine = (await service.get(at))!;
  proxy.lost = 1;
  await service.append(mine, event({}, "i1"));
  assert.equal((await lease(mine)).epoch, 1);
  await service.close();
});

it("there is no turn in a session that is gone", async () => {
  const at = await key();
  const mine = (await one.get(at))!;
  await one.delete(at);
  await assert.rejects(one.append(mine, event({}, "i1")), SessionNotFoundError);
});
