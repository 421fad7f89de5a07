// The package as npm packs it, installed: what its README prints, and the example on top of it.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, it } from "node:test";
import { promisify } from "node:util";
import { served } from "../../support/served.js";

const root = new URL("../../..", import.meta.url).pathname;
const folder = mkdtempSync(join(tmpdir(), "sessiond-ts-client-"));
const { server } = await served();

async function run(command: string, ...args: string[]): Promise<string[]> {
  const env = { ...process.env, SESSIOND_URL: server.url };
  const { stdout } = await promisify(execFile)(command, args, { cwd: folder, env });
  return stdout.trimEnd().split("\n");
}

before(async () => {
  await run("npm", "pack", "--silent", "--ignore-scripts", "--pack-destination", folder, join(root, "client"));
  mkdirSync(join(folder, "node_modules/@sessiond/client"), { recursive: true });
  await run("tar", "xzf", "sessiond-client-0.1.0.tgz", "-C", "node_modules/@sessiond/client", "--strip-components=1");
  cpSync(join(root, "../../examples/client-typescript"), folder, { recursive: true });
});
after(() => rmSync(folder, { recursive: true }));

it("the first screen of the README works as printed", async () => {
  const readme = readFileSync(join(root, "client/README.md"), "utf8");
  const [, program = "", printed = ""] = /```js\n(.*?)```.*?```\n(.*?)```/s.exec(readme) ?? [];
  writeFileSync(join(folder, "readme.js"), program.replace("http://127.0.0.1:8080", server.url));
  const lines = (await run("node", "readme.js")).map((line) => line.trimEnd());
  assert.deepEqual(lines, printed.trimEnd().split("\n"));
});

it("has an entry for each framework, and loads none but that of its class", async () => {
  const script = `
    const { SessiondStore } = await import("@sessiond/client/claude-agent");
    const { SessiondSession } = await import("@sessiond/client/openai-agents");
    const { SessiondChat } = await import("@sessiond/client/ai-sdk");
    new SessiondStore({ app: "a" });
    console.log(new SessiondChat("c", { app: "a", user: "u" }).id);
    console.log(await new SessiondSession("s", { app: "a", user: "u" }).getSessionId());
    await import("@sessiond/client/langgraph").catch((error) => console.log(error.message.split(" imported")[0]));`;
  assert.deepEqual(await run("node", "--input-type=module", "--eval", script), [
    "c",
    "s",
    "Cannot find package '@langchain/core'",
  ]);
});

it("the example tells the story of its README", async () => {
  assert.deepEqual(await run("node", "order.js", "t1", "A", "soup"), ["Order 1 of table t1: A soup."]);
  assert.deepEqual(await run("node", "order.js", "7", "A", "cake"), ["Order 2 of table 7: A cake."]);
  const told = await Promise.all(["Bo", "Al"].map((name) => run("node", "cook.js", name)));
  const cooked = told.flat().flatMap((line) => /order.*/.exec(line) ?? []);
  assert.deepEqual(cooked.sort(), ["order 1 of table t1: A soup, ready.", "order 2 of table 7: A cake, ready."]);
});
