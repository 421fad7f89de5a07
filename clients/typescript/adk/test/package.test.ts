// The packages as npm packs them, installed, and the example on top of it.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, it } from "node:test";
import { served } from "../../support/served.js";

const root = new URL("../../..", import.meta.url).pathname;
const folder = mkdtempSync(join(tmpdir(), "sessiond-ts-package-"));
const { server } = await served();

function run(command: string, ...args: string[]): string {
  const env = { ...process.env, SESSIOND_URL: server.url };
  return execFileSync(command, args, { cwd: folder, env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

before(() => {
  // What `npm install` would put there; the frameworks are installed already.
  const modules = join(folder, "node_modules");
  for (const name of ["client", "adk"]) {
    run("npm", "pack", "--silent", "--ignore-scripts", "--pack-destination", folder, join(root, name));
    mkdirSync(join(modules, "@sessiond", name), { recursive: true });
    run("tar", "xzf", `sessiond-${name}-0.1.0.tgz`, "-C", `node_modules/@sessiond/${name}`, "--strip-components=1");
  }
  for (const name of ["@google", "@iqai", "@types", "@opentelemetry", "adk-typescript"]) {
    symlinkSync(join(root, "node_modules", name), join(modules, name));
  }
  for (const name of ["src", "package.json", "tsconfig.json"]) {
    cpSync(join(root, "../../examples/adk-typescript", name), join(folder, name), { recursive: true });
  }
});
after(() => rmSync(folder, { recursive: true }));

it("has an entry for each framework, and one for none, which loads none of them", () => {
  const script = `
    for (const entry of ["", "/iqai", "/adk-typescript"]) {
      const { SessiondSessionService, ops, SessiondError } = await import("@sessiond/adk" + entry);
      new SessiondSessionService("http://127.0.0.1:1");
      if (!ops.increment || !SessiondError) throw new Error(entry);
    }
    const { Sessions } = await import("@sessiond/adk/core");
    process.stdout.write(typeof Sessions);`;
  assert.equal(run(process.execPath, "--input-type=module", "--eval", script), "function");
  rmSync(join(folder, "node_modules/@iqai"));
  const core = 'import { VERSION } from "@sessiond/adk/core"; process.stdout.write(VERSION);';
  assert.equal(run(process.execPath, "--input-type=module", "--eval", core), "0.1.0");
});

it("the example tells the story of its README", async () => {
  run(process.execPath, join(root, "node_modules/typescript/bin/tsc"));
  const readme = readFileSync(join(root, "../../examples/adk-typescript/README.md"), "utf8");
  const commands = [...readme.matchAll(/^\$ npm (?:start|run follow) --silent -- (.*)\n((?:[^`\n].*\n)+)/gm)];
  const [followed = [], ...said] = commands.reverse();
  assert.equal(said.length, 3);
  for (const [, words, printed] of said.reverse()) {
    assert.equal(run("sh", "-c", `node dist/main.js ${words}`), printed);
  }
  const env = { ...process.env, SESSIOND_URL: server.url };
  const follow = spawn(process.execPath, ["dist/follow.js", "ada"], {
    cwd: folder,
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise((done) => follow.once("exit", done));
  const lines: string[] = [];
  for await (const line of createInterface({ input: follow.stdout })) {
    if (lines.push(line) === 4) follow.kill("SIGINT");
  }
  assert.equal(lines.map((line) => `${line}\n`).join(""), followed[2]);
  assert.equal(await ended, 0);
});
