// A change that has an id, in a tool that runs again. Each run is a process, which loads the framework: that takes its time.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { it } from "node:test";
import { fileURLToPath } from "node:url";
import { served } from "../../support/served.js";

const { server } = await served();

it("a tool that dies in the middle changes each thing once when it runs again", async () => {
  const app = randomUUID();
  const at = `${server.url}/v1/apps/${app}`;
  const headers = { "content-type": "application/json" };
  assert.equal((await fetch(`${at}/users/ada/sessions/s`, { method: "PUT", headers, body: "{}" })).status, 201);
  const program = fileURLToPath(new URL("crash.js", import.meta.url));
  const env = { ...process.env, SESSIOND_URL: server.url };
  for (const [where, code, said] of [
    ["in-the-middle", 9, ""],
    ["at-the-end", 9, ""],
    ["nowhere", 0, '{"number":1,"items":["tea"]}\n'],
  ] as const) {
    // In the background: a connection that is kept meanwhile is to be seen to close.
    const ended = await new Promise((resolve) => {
      execFile(process.execPath, [program, app, where], { env }, (error, stdout, stderr) => {
        resolve([error?.code ?? 0, stdout, code === (error?.code ?? 0) ? "" : stderr]);
      });
    });
    assert.deepEqual(ended, [code, said, ""]);
  }
  assert.deepEqual(await (await fetch(`${at}/state`)).json(), { orders: 1 });
  assert.deepEqual(await (await fetch(`${at}/users/ada/state`)).json(), { items: ["tea"] });
});
