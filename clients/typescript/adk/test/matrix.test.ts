// The program that the cross-language test drives, and the same event from each framework.
import assert from "node:assert/strict";
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { after, it } from "node:test";
import { served } from "../../support/served.js";
import { NAMES } from "./support/frameworks.js";
import { plain } from "./support/plain.js";

const { server } = await served();

class Program {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #lines: AsyncIterator<string>;

  constructor(readonly name: string) {
    const program = new URL("matrix.js", import.meta.url).pathname;
    this.#child = spawn(process.execPath, [program, name], { env: { ...process.env, SESSIOND_URL: server.url } });
    // Of a test that has failed, too: it would keep the process running.
    after(() => this.#child.kill());
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  async ask(command: object): Promise<Record<string, unknown>> {
    this.#child.stdin.write(`${JSON.stringify({ app: "cafe", user: "ada/ü", session: "s", ...command })}\n`);
    return JSON.parse((await this.#lines.next()).value) as Record<string, unknown>;
  }

  async end(): Promise<number | null> {
    const ended = new Promise<number | null>((done) => this.#child.once("exit", done));
    this.#child.stdin.end();
    return await ended;
  }
}

it("each framework appends, counts, follows, and knows the events of the others", async () => {
  const sessions = plain(server.url);
  await sessions.create("cafe", "ada/ü", { "app:n": 0 }, "s");
  const programs = NAMES.map((name) => new Program(name));
  const event = (n: number): object => ({
    do: "append",
    event: {
      id: `e${n}`,
      author: "a",
      invocationId: "i",
      timestamp: 1790000000.123456 + n,
      text: `é${n}`,
      stateDelta: { [`k${n}`]: n },
      artifactDelta: { [`f${n}`]: n },
    },
  });
  for (const [n, program] of programs.entries()) {
    const appended = await program.ask(event(n));
    assert.equal((appended["state"] as Record<string, unknown>)[`k${n}`], n);
    assert.deepEqual(await program.ask({ do: "increment", key: "app:n", by: 2 }), { ok: true, value: 2 * (n + 1) });
  }
  // The same events from another framework each: they are known, and nothing is applied again.
  for (const [n, program] of programs.entries()) assert.equal((await program.ask(event((n + 1) % 3)))["ok"], true);
  const stored = await sessions.get({ appName: "cafe", userId: "ada/ü", sessionId: "s" });
  const ids = stored?.events.map((one) => one.id);
  assert.equal(ids?.length, 6);
  for (const program of programs) {
    const got = await program.ask({ do: "get" });
    assert.deepEqual(got, {
      ok: true,
      state: { "app:n": 6, k0: 0, k1: 1, k2: 2 },
      events: ids,
      said: ["é0", "é1", "é2"].map((text) => ["a", text]),
      artifacts: { f0: 0, f1: 1, f2: 2 },
      lastUpdateTime: stored?.lastUpdateTime,
    });
    const name = `by ${program.name}`;
    assert.deepEqual(await program.ask({ do: "save", name, text: "é" }), { ok: true, version: 0 });
    const bytes = { data: "AP8=", mimeType: "a/b" };
    assert.deepEqual(await program.ask({ do: "save", name, ...bytes }), { ok: true, version: 1 });
    assert.deepEqual(await program.ask({ do: "load", name, version: 0 }), { ok: true, text: "é" });
    assert.deepEqual(await program.ask({ do: "load", name }), { ok: true, ...bytes });
    assert.deepEqual(await program.ask({ do: "load", name: "none" }), { ok: true });
    assert.ok(((await program.ask({ do: "files" }))["names"] as string[]).includes(name));
    assert.deepEqual(await program.ask({ do: "watch", count: 6 }), { ok: true, events: ids });
    const none = await program.ask({ do: "get", session: "none" });
    assert.deepEqual([none["ok"], none["code"], none["status"]], [false, "session_not_found", 404]);
    const bad = await program.ask({ do: "increment", key: "temp:x" });
    assert.deepEqual([bad["ok"], bad["status"]], [false, 422]);
    assert.equal(await program.end(), 0);
  }
});
