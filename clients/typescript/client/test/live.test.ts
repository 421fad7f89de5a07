// Leases, watches and files, on a real server.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import { it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { FaultyProxy } from "../../support/proxy.js";
import { served } from "../../support/served.js";
import {
  BusyError,
  ConflictError,
  InputError,
  NotFoundError,
  type Session,
  Sessiond,
  StaleError,
  type WatchItem,
} from "../src/index.js";
import { all } from "../src/pages.js";

const { server, db } = await served();

async function created(client = db, app: string = randomUUID()): Promise<Session> {
  const session = client.session(app, "ada", "s");
  await session.create({ existOk: true });
  return session;
}

it("of all turns one runs at a time, and its writes show the lease", async () => {
  const session = await created();
  const order: string[] = [];
  await Promise.all(
    ["a", "b", "c"].map((owner) =>
      session.lease({ owner, waitMs: 60_000 }, async (turn) => {
        order.push(`${owner} begins`);
        await turn.append({ author: owner });
        await turn.increment("turns");
        await turn.artifacts.save("f", "text");
        assert.deepEqual([turn.owner, turn.signal.aborted], [owner, false]);
        order.push(`${owner} ends`);
      }),
    ),
  );
  for (let n = 0; n < 6; n += 2) assert.equal(order[n]?.[0], order[n + 1]?.[0]);
  assert.equal(await session.state("turns"), 3);

  await session.lease({ owner: "a", exclusive: "all" }, async () => {
    await assert.rejects(
      db.session(session.app, "ada", "s").lease({}, () => {}),
      (error: BusyError) => {
        assert.ok(error instanceof BusyError && error.owner === "a" && error.expireTime instanceof Date);
        return true;
      },
    );
    await assert.rejects(session.append({}), BusyError);
  });
  await assert.rejects(
    session.lease({}, () => Promise.reject(new Error("inside"))),
    /inside/,
  );
  assert.equal(await session.lease({}, () => 7), 7);
});

it("a lease is renewed while its turn runs", async () => {
  const session = await created();
  const ran = await session.lease({ ttlMs: 1_000 }, async (turn) => {
    const lease = `/v1/apps/${session.app}/users/ada/sessions/s/lease`;
    const { expireTime } = (await db.request("GET", lease)) as { expireTime: number };
    for (;;) {
      const now = (await db.request("GET", lease)) as { expireTime: number; epoch: number };
      if (now.expireTime > expireTime) return now.epoch === turn.epoch;
      await sleep(50);
    }
  });
  assert.ok(ran);
});

it("a turn that was superseded writes nothing, and is told", async () => {
  const session = await created();
  await session.lease({ owner: "slow", ttlMs: 1_000 }, async (turn) => {
    await session.lease({ owner: "fast", steal: true }, (other) => other.append({ id: "1" }));
    await assert.rejects(turn.append({ id: "2" }), (error: StaleError) => {
      assert.ok(error instanceof StaleError && error.code === "fenced" && error.outcome === "not_applied");
      return true;
    });
    if (!turn.signal.aborted) await new Promise((done) => turn.signal.addEventListener("abort", done));
    assert.ok(turn.signal.reason instanceof StaleError);
  });
  assert.equal((await session.get()).revision, 1);
});

it("a watch comes back by itself behind the last item", async () => {
  const proxy = await FaultyProxy.start(server.port);
  const session = await created(new Sessiond(proxy.url));
  await session.append([{ id: "1" }, { id: "2", content: { parts: [{ text: "secret" }] } }]);
  const seen: WatchItem[] = [];
  for await (const item of session.watch({ includeState: true })) {
    seen.push(item);
    if (item.type === "caught_up" && item.revision === 2) {
      proxy.cut();
      await session.append({ id: "3" }, { delta: { "user:n": 1 } });
    }
    if (item.type === "event" && item.event.id === "3") await session.redact("2");
    if (item.type === "redacted") await session.delete();
  }
  const events = seen.flatMap((item) => (item.type === "event" ? [item.event.sequence] : []));
  assert.deepEqual(events, [1, 2, 3]);
  const [metadata] = seen.filter((item) => item.type === "metadata");
  assert.deepEqual(metadata && { ...metadata, cursor: "" }, {
    type: "metadata",
    cursor: "",
    displayName: null,
    labels: {},
    expireTime: null,
  });
  const redacted = seen.find((item) => item.type === "redacted");
  assert.deepEqual([redacted?.event.id, redacted?.event.content], ["2", undefined]);
  assert.equal(seen.at(-1)?.type, "deleted");
});

it("a watch begins where it is asked to, and ends when it is told to", async () => {
  const session = await created();
  await session.append([{ id: "1" }, { id: "2" }]);
  const next = async (after: string | number): Promise<WatchItem> => {
    for await (const item of session.watch({ after })) if (item.type !== "metadata") return item;
    throw new Error("The watch ended.");
  };
  assert.equal((await next("now")).type, "caught_up");
  const second = await next(1);
  assert.ok(second.type === "event" && second.event.id === "2");
  assert.equal((await next(second.cursor)).type, "caught_up");
  const stop = new AbortController();
  await assert.rejects(async () => {
    for await (const item of session.watch({ after: "now", signal: stop.signal })) {
      if (item.type === "caught_up") stop.abort(new Error("enough"));
    }
  }, /enough/);
  await assert.rejects(db.session(session.app, "ada", "none").watch().next(), NotFoundError);
});

it("files are saved and read, as bytes, texts, streams and addresses", async () => {
  const session = await created();
  const files = session.artifacts;
  const first = await files.save("a/b.pdf", Buffer.from([0, 255]), {
    contentType: "application/pdf",
    metadata: { n: 1 },
    displayName: "Ünser (1 + 1) 100%.pdf",
  });
  assert.deepEqual(
    [first.version, first.kind, first.size, first.metadata, first.revision],
    [0, "bytes", 2, { n: 1 }, 1],
  );
  const read = await files.get("a/b.pdf");
  assert.deepEqual([read.version, read.kind, read.contentType, read.size], [0, "bytes", "application/pdf", 2]);
  assert.equal(read.displayName, "Ünser (1 + 1) 100%.pdf");
  assert.deepEqual(await read.bytes(), Buffer.from([0, 255]));

  assert.equal((await files.save("note", "é", { event: "none" })).kind, "text");
  assert.equal(await (await files.get("note")).text(), "é");
  assert.equal((await files.save("note", "<p>", { contentType: "text/html" })).version, 1);
  assert.deepEqual(await files.part("note", { version: 0 }), { text: "é" });

  const large = Buffer.alloc(3 << 20, "x");
  await files.save("large", Readable.from([large.subarray(0, 1 << 20), large.subarray(1 << 20)]));
  let size = 0;
  for await (const chunk of await files.get("large")) size += chunk.length;
  assert.equal(size, large.length);
  await files.save("empty", Buffer.of());
  assert.equal((await (await files.get("empty")).bytes()).length, 0);

  await files.save("link", { fileUri: "gs://bucket/x", mimeType: "image/png" });
  await assert.rejects(files.get("link"), InputError);
  assert.deepEqual(await files.part("link"), { fileData: { fileUri: "gs://bucket/x", mimeType: "image/png" } });

  await db.user(session.app, "ada").artifacts.save("user:own", "mine");
  const names = (await all(files.list())).map(({ name, version }) => `${name} ${version}`);
  assert.deepEqual(names, ["a/b.pdf 0", "empty 0", "large 0", "link 0", "note 1", "user:own 0"]);
  assert.deepEqual(
    (await all(files.list({ prefix: "l" }))).map(({ name }) => name),
    ["large", "link"],
  );
  assert.deepEqual(
    (await all(files.versions("note"))).map(({ version }) => version),
    [0, 1],
  );
  assert.equal((await files.get("a/b.pdf", { at: 1 })).version, 0);

  await assert.rejects(files.save("note", "x", { ifVersion: null }), StaleError);
  await assert.rejects(files.save("note", "x", { ifVersion: 0 }), StaleError);
  await assert.rejects(files.save("note", "x", { version: 1 }), ConflictError);
  await files.delete("note", { version: 1 });
  await files.delete("note");
  await assert.rejects(files.get("note"), NotFoundError);
  await assert.rejects(files.save("x", Buffer.from(""), { contentType: "a\nb" }), InputError);
});

it("a file that breaks off is read on behind the last byte, and one that breaks off is sent anew", async () => {
  const proxy = await FaultyProxy.start(server.port);
  const session = await created(new Sessiond(proxy.url));
  const bytes = Buffer.from(Array.from({ length: 8 << 20 }, (_, n) => n % 251));
  proxy.cut();
  proxy.refused = 1;
  let begun = 0;
  await session.artifacts.save("f", () => {
    begun += 1;
    return Readable.from([bytes.subarray(0, 1000), bytes.subarray(1000)]);
  });
  const read: Uint8Array[] = [];
  let cuts = 0;
  for await (const chunk of await session.artifacts.get("f")) {
    read.push(chunk);
    if (cuts < 3 && read.length % 5 === 0) {
      cuts += 1;
      proxy.cut();
    }
  }
  assert.ok(Buffer.concat(read).equals(bytes));
  assert.ok(cuts === 3 && begun > 1);

  proxy.cut();
  proxy.lost = 1;
  await assert.rejects(session.artifacts.save("g", Readable.from([bytes])), /after 1 attempt/);
});
