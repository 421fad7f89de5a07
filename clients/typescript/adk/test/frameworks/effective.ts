// The effective history, in every framework.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, describe, it } from "node:test";
import { Server } from "../../../support/server.js";
import { StaleSessionError } from "../../src/core/index.js";
import { type AnySession, load, NAMES, type Service } from "../support/frameworks.js";

const server = await Server.shared();

const user = { author: "user" };

function summary(id: string, start: number, end: number): object {
  const compactedContent = { role: "model", parts: [{ text: "in short" }] };
  const compaction = { startTimestamp: start, endTimestamp: end, compactedContent };
  return { ...user, id, timestamp: end + 2, actions: { compaction } };
}

async function append(app: string, events: object): Promise<void> {
  const path = `${server.url}/v1/apps/${app}/users/ada/sessions/s/events`;
  const body = JSON.stringify(events);
  const answer = await fetch(path, { method: "POST", headers: { "content-type": "application/json" }, body });
  assert.ok(answer.ok, await answer.text());
}

const idsOf = (session: AnySession): string[] => session.events.map(({ id }) => id);

for (const name of NAMES) {
  const framework = await load(name);
  describe(`the effective history of ${name}`, () => {
    const made: Service[] = [];
    const full = service("none", "full");
    after(async () => {
      for (const { sessiond } of made) await sessiond.close();
    });

    function service(concurrency: "none" | "session" | "lease", history: "full" | "effective"): Service {
      const service = framework.service({ url: server.url, concurrency, history });
      made.push(service);
      return service;
    }

    // Iqai's agents know compactions, so that it reads the last events in any case.
    const limit = { numRecentEvents: 1000 };

    /** A session of six events, of which the fifth sums up the first three and comes after the fourth. */
    async function compacted(): Promise<string> {
      const app = randomUUID();
      await full.create(app, "ada", {}, "s");
      const said = [0, 1, 2, 3].map((n) => {
        const content = { role: "user", parts: [{ text: `text ${n}` }] };
        return { ...user, id: `e${n}`, timestamp: 1000 + n, content, actions: { stateDelta: { n } } };
      });
      await append(app, [...said, summary("c", 1000, 1002), { ...user, id: "e5", timestamp: 1005 }]);
      return app;
    }

    it("lacks what is covered", async () => {
      const app = await compacted();
      const effective = service("none", "effective");
      const session = (await effective.get(app, "ada", "s", limit))!;
      const knows = name === "iqai";
      assert.deepEqual(idsOf(session), knows ? ["e3", "c", "e5"] : ["c", "e3", "e5"]);
      if (!knows) assert.equal(session.events[0]?.content?.parts?.[0]?.text, "in short");
      assert.deepEqual(framework.state(session), { n: 3 });
      assert.deepEqual(idsOf((await effective.get(app, "ada", "s", { numRecentEvents: 1 }))!), ["e5"]);
      assert.equal((await full.get(app, "ada", "s"))!.events.length, 6);
      const got = await effective.sessiond.getOrCreate(app, "ada", undefined, "s");
      assert.deepEqual(idsOf(got), knows ? ["e0", "e1", "e2", "e3", "c", "e5"] : idsOf(session));
      // More than are read in any case.
      const later = Array.from({ length: 100 }, (_, n) => ({ ...user, id: `l${n}`, timestamp: 1006 + n }));
      await append(app, later);
      const long = (await effective.get(app, "ada", "s"))!;
      assert.deepEqual(idsOf(long).slice(0, 4), [...idsOf(session), "l0"]);
      await append(app, summary("all", 1000, 2000));
      const left = idsOf((await effective.get(app, "ada", "s"))!);
      assert.deepEqual([left.length, left.at(-1)], [knows ? 100 : 1, "all"]);
    });

    it("knows that it is stale", async () => {
      const app = await compacted();
      const strict = service("session", "effective");
      const session = (await strict.get(app, "ada", "s"))!;
      await strict.append(session, framework.event({ id: "mine", timestamp: 2000, stateDelta: {} }));
      await append(app, summary("all", 1000, 1006));
      const late = framework.event({ id: "late", timestamp: 2001, stateDelta: {} });
      await assert.rejects(strict.append(session, late), StaleSessionError);
      const again = (await strict.get(app, "ada", "s", limit))!;
      assert.deepEqual(idsOf(again).sort(), ["all", "mine"]);
      await strict.append(again, late);
    });

    it("does not apply what is covered once more", async () => {
      const app = await compacted();
      const effective = service("none", "effective");
      const first = framework.event({ id: "first", timestamp: 1003.5, stateDelta: { n: 4 } });
      await effective.append((await effective.get(app, "ada", "s"))!, first);
      await append(app, [
        { ...user, id: "next", timestamp: 1004, actions: { stateDelta: { n: 5 } } },
        summary("all", 1000, 1006),
      ]);
      const session = (await effective.get(app, "ada", "s", limit))!;
      await effective.append(session, framework.event({ id: "first", timestamp: 1003.5, stateDelta: { n: 4 } }));
      assert.deepEqual(framework.state(session), { n: 5 });
      assert.deepEqual(idsOf(session), ["all"]);
    });

    it("shows a turn what was compacted meanwhile", async () => {
      const app = await compacted();
      const turns = service("lease", "effective");
      const session = (await turns.get(app, "ada", "s"))!;
      await append(app, summary("all", 1000, 1006));
      await turns.append(session, framework.event({ id: "mine", invocationId: "i", timestamp: 2000, stateDelta: {} }));
      assert.deepEqual(idsOf(session).slice(-2), ["all", "mine"]);
      assert.equal(session.events.length, name === "iqai" ? 8 : 2);
    });
  });
}

it("there are two histories", async () => {
  const framework = await load("google");
  assert.throws(() => framework.service({ url: server.url, history: "some" as never }), TypeError);
});
