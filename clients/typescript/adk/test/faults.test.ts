// What happens when the server is away, silent, busy, or its answer gets lost.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as listen } from "node:net";
import { after, before, describe, it } from "node:test";
import { inspect } from "node:util";
import { FaultyProxy } from "../../support/proxy.js";
import { Server } from "../../support/server.js";
import type { SessiondError } from "../src/core/index.js";
import { event, type Plain, plain } from "./support/plain.js";

let server: Server;
let proxy: FaultyProxy;
let direct: Plain;
before(async () => {
  server = await Server.start();
  proxy = await FaultyProxy.start(server.port);
  direct = plain(server.url);
});
after(async () => {
  await direct.close();
  await proxy.close();
  await server.remove();
});

const closing: (() => unknown)[] = [];
after(async () => {
  for (const close of closing) await close();
});

/** A server that answers each request with what the function makes of it. */
async function stub(answer: (request: IncomingMessage, response: ServerResponse, n: number) => void): Promise<string> {
  let n = 0;
  const http = createServer((request, response) => {
    request.resume();
    request.on("end", () => {
      n += 1;
      answer(request, response, n);
    });
  });
  await new Promise<void>((done) => http.listen(0, "127.0.0.1", done));
  closing.push(() => {
    http.closeAllConnections();
    http.close();
  });
  return `http://127.0.0.1:${(http.address() as { port: number }).port}`;
}

function problem(response: ServerResponse, status: number, fields: object, headers: Record<string, string> = {}): void {
  response.writeHead(status, { "content-type": "application/problem+json", ...headers });
  response.end(JSON.stringify({ status, requestId: "r1", ...fields }));
}

describe("a lost answer", () => {
  it("with concurrency `session` is no stale session", async () => {
    const sessions = plain({ url: proxy.url, concurrency: "session" });
    closing.push(() => sessions.close());
    const session = await sessions.create(randomUUID(), "ada", {}, "s");
    proxy.lost = 1;
    await sessions.append(session, event());
    await sessions.append(session, event());
    assert.equal(sessions.revision(session), 2);
  });

  it("that stays lost leaves the session object as it was, and the event may be appended again", async () => {
    const sessions = plain({ url: proxy.url, retryForMs: 0 });
    closing.push(() => sessions.close());
    const session = await sessions.create(randomUUID(), "ada", {}, "s");
    const lost = event({ n: 1, "temp:t": 1 });
    proxy.lost = 1;
    await assert.rejects(sessions.append(session, lost), (error: SessiondError) => {
      assert.deepEqual([error.status, error.outcome], [undefined, "unknown"]);
      assert.match(
        error.message,
        /Gave up POST http:\/\/127\.0\.0\.1:\d+\/v1\/apps\/\S+\/events after 1 attempt in \d+\.\d s\.$/,
      );
      return true;
    });
    assert.deepEqual([session.events, Object.keys(session.state), lost.actions.stateDelta["temp:t"]], [[], [], 1]);
    await sessions.append(session, lost);
    assert.deepEqual([session.events.length, session.state["n"], session.state["temp:t"]], [1, 1, 1]);
    assert.equal((await direct.get({ ...session, sessionId: "s" }))?.events.length, 1);
  });
});

// At once, for the sake of time: each has a server of its own.
describe("a server", { concurrency: true }, () => {
  it("that comes back is found again, with connections that it has cut", async () => {
    const own = await Server.start();
    closing.push(() => own.remove());
    const sessions = plain(own.url);
    closing.push(() => sessions.close());
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
    closing.push(() => silent.close());
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
      problem(response, 404, { code: "session_not_found" });
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

it("requests say who sends them, and belong to the trace of the program", async () => {
  const { context, propagation, trace, TraceFlags } = await import("@opentelemetry/api");
  const seen: IncomingMessage["headers"][] = [];
  const url = await stub((request, response) => {
    seen.push(request.headers);
    problem(response, 404, { code: "session_not_found" });
  });
  const sessions = plain({ url, headers: { "X-Mine": "1" } });
  const key = { appName: "a", userId: "u", sessionId: "s" };
  await sessions.get(key);
  // What a program does that traces; the interface alone brings no propagator.
  propagation.setGlobalPropagator({
    inject: (_, carrier, setter) =>
      setter.set(carrier, "traceparent", "00-00000000000000000000000000000001-0000000000000001-01"),
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
  assert.deepEqual(
    seen.map((headers) => headers["user-agent"]),
    ["sessiond-typescript/0.1.0", "sessiond-typescript/0.1.0"],
  );
  assert.deepEqual(
    seen.map((headers) => headers["x-mine"]),
    ["1", "1"],
  );
  assert.deepEqual(
    seen.map((headers) => headers["traceparent"]?.slice(0, 3)),
    [undefined, "00-"],
  );
});

it("no text form of a service has its credential", () => {
  const sessions = plain({ url: "http://host", token: "s3cret", headers: { "x-key": "s3cret" } });
  for (const text of [inspect(sessions, { depth: 10, showHidden: true }), JSON.stringify(sessions), String(sessions)]) {
    assert.ok(!text.includes("s3cret"), text);
  }
});
