// The published adk-typescript imports its own files by names that differ in case from those of the files, so it works only
// where case does not matter. This gives each such file a second name; elsewhere, it does nothing.
import { existsSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";

const root = new URL("../../../node_modules/adk-typescript/dist", import.meta.url).pathname;
for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile() || !/\.(js|d\.ts)$/.test(entry.name)) continue;
  const file = join(entry.parentPath, entry.name);
  const ending = file.endsWith(".js") ? ".js" : ".d.ts";
  for (const [, name] of readFileSync(file, "utf8").matchAll(/(?:from |import\(|require\()["'](\.\.?\/[^"']+)["']/g)) {
    const wanted = `${resolve(dirname(file), name)}${ending}`;
    if (existsSync(wanted) || existsSync(wanted.slice(0, -ending.length)) || !existsSync(dirname(wanted))) continue;
    const meant = readdirSync(dirname(wanted)).find((other) => other.toLowerCase() === basename(wanted).toLowerCase());
    if (meant !== undefined) symlinkSync(meant, wanted);
  }
}
