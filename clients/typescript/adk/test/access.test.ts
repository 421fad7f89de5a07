// The credential: where it comes from, and when it is asked for again.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, it } from "node:test";
import { served } from "../../support/served.js";
import { SessiondAccessError, type Token } from "../src/core/index.js";
import { event, type Plain, plain } from "./support/plain.js";

const ADMIN = "admin-".padEnd(40, "x");
const folder = mkdtempSync(join(tmpdir(), "sessiond-ts-key-"));
after(() => rmSync(folder, { recursive: true }));
writeFileSync(join(folder, "key"), ADMIN);
const { server } = await served("--admin-key-file", join(folder, "key"));

function sessions(token?: Token, headers?: Record<string, string>): Plain {
  return plain({ url: server.url, token, headers, retryForMs: 5_000 });
}

async function user(app: string, name: string): Promise<string> {
  const key = (await (
    await fetch(`${server.url}/v1/keys`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${ADMIN}` },
      body: JSON.stringify({ name: "test", role: "agent", apps: [app] }),
    })
  ).json()) as { key: string };
  const minted = await sessions(key.key).mintToken(app, name, undefined, 60_000);
  assert.ok(minted.expireTime.getTime() > Date.now());
  return minted.token;
}

it("is that of SESSIOND_TOKEN, unless it is given", async () => {
  process.env["SESSIOND_TOKEN"] = ADMIN;
  try {
    await sessions().create(randomUUID(), "ada");
    await assert.rejects(sessions("").create("a", "ada"), SessiondAccessError);
    await assert.rejects(sessions("other").create("a", "ada"), SessiondAccessError);
    await sessions(undefined, { authorization: `Bearer ${ADMIN}` }).create(randomUUID(), "ada");
  } finally {
    delete process.env["SESSIOND_TOKEN"];
  }
});

it("is refused if none can be sent so, and not shown", () => {
  for (const bad of ["white space", "new\nline", "\u00e9", " "]) {
    assert.throws(
      () => sessions(bad),
      (error: Error) => error instanceof TypeError && !error.message.includes(bad.trim() || "  "),
    );
  }
});

it("that does not allow a request is told of; what it may not read is not there", async () => {
  const app = randomUUID();
  const [ada, admin] = [sessions(await user(app, "ada")), sessions(ADMIN)];
  const mine = await ada.create(app, "ada", {}, "s");
  await ada.append(mine, { ...event({ k: 1 }), actions: { stateDelta: { k: 1 } } });
  await admin.create(app, "bob", {}, "s");
  assert.equal(await ada.get({ appName: app, userId: "bob", sessionId: "s" }), undefined);
  await assert.rejects(ada.create(app, "bob"), (error: SessiondAccessError) => {
    assert.deepEqual([error.status, error.code, error.outcome], [403, "permission_denied", "not_applied"]);
    return error instanceof SessiondAccessError;
  });
});
