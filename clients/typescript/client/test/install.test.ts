// What a newcomer types: the lines of installation of the pages run as they are printed, in a clean copy of the repository.
import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, lstatSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { promisify } from "node:util";
import { served } from "../../support/served.js";

const root = new URL("../../../../..", import.meta.url).pathname;
const EXAMPLES = ["client", "adk", "frameworks"].map((name) => `examples/${name}-typescript`);
const PAGES = [...["client", "adk"].map((name) => `clients/typescript/${name}`), ...EXAMPLES];
const listed = execFileSync("git", ["ls-files", "-z", "clients/typescript", ...EXAMPLES], {
  cwd: root,
  encoding: "utf8",
});
const files = listed
  .split("\0")
  .filter((name) => lstatSync(join(root, name), { throwIfNoEntry: false })?.isFile() && !/\/test\//.test(name));

// It takes as long as all other tests, so it runs when what it depends on has changed. Whether the sources compile, others see.
const hash = createHash("sha256").update(process.version);
for (const name of files) if (!/\.ts$/.test(name)) hash.update(readFileSync(join(root, name)));
const state = hash.digest("hex");
const stamp = join(root, "clients/typescript/node_modules/lines-of-installation");
const isKnown = existsSync(stamp) && readFileSync(stamp, "utf8") === state;

const { server } = await served();

/** Returns the blocks of a page that have such a line, and what is printed below it, but for those that take packages of ours that are
 * published: scripts/publish-check runs these. */
function blocks(page: string): string[] {
  const all = page.split(/^```.*\n/m).filter((_, n) => n % 2 === 1);
  const here = all.filter((block) => !/^npm install( @sessiond\/\w+)?\n/.test(block));
  return here.filter((block) => /^(\(?cd .*\n)?.*\bnpm (ci|install)\b|^\$ n(ode|pm) /.test(block));
}

it("the lines of installation work in a clean copy, and so do the programs behind them", {
  skip: isKnown,
}, async () => {
  const clean = mkdtempSync(join(tmpdir(), "sessiond-install-"));
  const env = { ...process.env, SESSIOND_URL: server.url, npm_config_prefer_offline: "true" };
  const run = async (folder: string, script: string): Promise<string> =>
    (await promisify(execFile)("bash", ["-euc", script], { cwd: folder, env })).stdout;
  try {
    for (const name of files) cpSync(join(root, name), join(clean, name), { recursive: true });
    let installed = false;
    for (const page of PAGES) {
      const found = blocks(readFileSync(join(root, page, "README.md"), "utf8"));
      assert.match(found[0] ?? "", /npm ci .*npm pack/s, page);
      for (const block of found) {
        const folder = join(clean, page.startsWith("examples") ? page : ".");
        if (!block.startsWith("$ ")) {
          // What one page has installed there, the next one need not.
          await run(folder, installed ? block.replace(/npm ci [^&]*&& /, "") : block);
          installed = true;
        }
        for (const said of block.split(/^\$ /m).slice(1)) {
          const [line = "", ...printed] = said.trimEnd().split("\n");
          // Two at once, or one that follows, say it in another order, or do not end.
          if (/ & |follow/.test(line)) continue;
          assert.equal((await run(folder, line)).trimEnd(), printed.join("\n"), line);
        }
      }
    }
    for (const name of ["client", "adk"])
      assert.ok(existsSync(join(clean, "clients/typescript", `sessiond-${name}-0.1.0.tgz`)));
    writeFileSync(stamp, state);
  } finally {
    rmSync(clean, { recursive: true });
  }
});
