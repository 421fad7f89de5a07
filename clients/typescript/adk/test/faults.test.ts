// What happens when the server is away or an answer gets lost, beyond the cases of requests.test.ts; and what a service is given.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { createServer as listen } from "node:net";
import { after, describe, it } from "node:test";
import { inspect } from "node:util";
import { FaultyProxy } from "../../support/proxy.js";
import { served } from "../../support/served.js";
import { Server } from "../../support/server.js";
import { stub } from "../../support/stub.js";
import type { SessiondError } from "../src/core/index.js";
import { event, plain } from "./support/plain.js";

const { server } = await served();
const proxy = await FaultyProxy.start(server.port);

describe("a lost answer", () => {
  it("with concurrency `session` is no stale session", async () => {
    const sessions = plain({ url: proxy.url, concurrency: "session" });
    const session = await sessions.create(randomUUID(), "ada", {}, "s");
    proxy.lost = 1;
    await sessions.append(session, event());
    await sessions.append(session, event());
    assert.equal(sessions.revision(session), 2);
  });

  it("that stays lost leaves the session object as it was, and the event may be appended again", async () => {
    const sessions = plain({ url: proxy.url, retryForMs: 0 });
    const session = await sessions.create(randomUUID(), "ada", {}, "s");
    const lost = event({ n: 1, "temp:t": 1 });
    proxy.lost = 1;
    await assert.rejects(sessions.append(session, lost), { outcome: "unknown" });
    assert.deepEqual([session.events, Object.keys(session.state), lost.actions.stateDelta["temp:t"]], [[], [], 1]);
    await sessions.append(session, lost);
    assert.deepEqual([session.events.length, session.state["n"], session.state["temp:t"]], [1, 1, 1]);
    assert.equal((await plain(server.url).get({ ...session, sessionId: "s" }))?.events.length, 1);
  });
});

describe("a server", () => {
  it("that comes back is found again, with connections that it has cut", async () => {
    const own = await Server.start();
    after(() => own.remove());
    const sessions = plain(own.url);
    const session = await sessions.create("app", "ada", {}, "s");
    await own.stop();
    const appended = sessions.append(session, event());
    await own.start();
    await appended;
    assert.equal((await sessions.get({ ...session, sessionId: "s" }))?.events.length, 1);
  });

  it("that does not let one connect is given up sooner", async () => {
    // It never answers the handshake of TLS, which is part of connecting.
    const silent = listen(() => {});
    await new Promise<void>((done) => silent.listen(0, "127.0.0.1", done));
    after(() => silent.close());
    const url = `https://127.0.0.1:${(silent.address() as { port: number }).port}`;
    const sessions = plain({ url, connectTimeoutMs: 100, timeoutMs: 60_000, retryForMs: 0 });
    await assert.rejects(sessions.create("a", "u", {}, "s"), (error: SessiondError) => {
      assert.match(error.message, /nothing came within 0\.1 s/);
      assert.equal(error.outcome, "not_applied");
      return true;
    });
  });
});

describe("the URL", () => {
  it("may have a path, and the schemes of sessiond", async () => {
    const paths: (string | undefined)[] = [];
    const url = await stub((request, response) => {
      paths.push(request.url);
      response.writeHead(404).end('{"code":"session_not_found"}');
    });
    for (const base of [`${url}/base/`, url.replace("http:", "sessiond:"), url.replace("http:", "sessiond+http:")]) {
      assert.equal(await plain(base).get({ appName: "a", userId: "...", sessionId: "s/ä" }), undefined);
    }
    const path = "/v1/apps/a/users/.../sessions/s%2F%C3%A4";
    assert.deepEqual(paths, [`/base${path}`, path, path]);
    const away = plain({ url: "sessiond://127.0.0.2", retryForMs: 0, connectTimeoutMs: 500 });
    await assert.rejects(away.create("a", "u"), /http:\/\/127\.0\.0\.2:8080\//);
  });

  it("has no credential, which no error shows", () => {
    for (const url of [
      "http://user:secret@host",
      "http://host?token=secret",
      "http://host#secret",
      "ftp://secret",
      "host:secret",
      "http://",
      "http://ho st/secret",
      "http://host:secret",
      "",
    ]) {
      assert.throws(
        () => plain(url),
        (error: Error) =>
          error instanceof TypeError && /^The URL of sessiond is/.test(error.message) && !/secret/.test(error.message),
        url,
      );
    }
  });

  it("and the other options are checked", () => {
    const url = "http://host";
    assert.throws(() => plain({ url, concurrency: "strict" as "none" }), TypeError);
    assert.throws(() => plain({ url, lease: "never" as "wait" }), TypeError);
    for (const [name, value] of [
      ["x\n", "secret"],
      ["x", "secret\n"],
      ["x", " secret"],
      ["x", "sécret"],
    ] as const) {
      const headers = { [name]: value };
      assert.throws(
        () => plain({ url, headers }),
        (error: Error) => error instanceof TypeError && !/s.cret/.test(error.message),
      );
    }
    const both = { url, token: "secret", headers: { Authorization: "Basic secret" } };
    assert.throws(
      () => plain(both),
      (error: Error) => error instanceof TypeError && !/secret/.test(error.message),
    );
  });
});

it("requests belong to the trace of the program", async () => {
  const { context, propagation, trace, TraceFlags } = await import("@opentelemetry/api");
  const seen: unknown[] = [];
  const url = await stub((request, response) => {
    seen.push(request.headers["traceparent"]);
    response.writeHead(404).end('{"code":"session_not_found"}');
  });
  const sessions = plain(url);
  const key = { appName: "a", userId: "u", sessionId: "s" };
  await sessions.get(key);
  // What a program does that traces; the interface alone brings no propagator.
  const parent = "00-00000000000000000000000000000001-0000000000000001-01";
  propagation.setGlobalPropagator({
    inject: (_, carrier, setter) => setter.set(carrier, "traceparent", parent),
    extract: (given) => given,
    fields: () => ["traceparent"],
  });
  const span = trace.wrapSpanContext({
    traceId: "1".padStart(32, "0"),
    spanId: "1".padStart(16, "0"),
    traceFlags: TraceFlags.SAMPLED,
  });
  await context.with(trace.setSpan(context.active(), span), () => sessions.get(key));
  propagation.disable();
  assert.deepEqual(seen, [undefined, parent]);
});

it("no text form of a service has its credential", () => {
  const sessions = plain({ url: "http://host", token: "s3cret", headers: { "x-key": "s3cret" } });
  for (const text of [inspect(sessions, { depth: 10, showHidden: true }), JSON.stringify(sessions), String(sessions)]) {
    assert.ok(!text.includes("s3cret"), text);
  }
});
