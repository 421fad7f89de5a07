import { createReadStream, createWriteStream, readFileSync, writeFileSync } from "node:fs";
import { pipeline } from "node:stream/promises";
<<< imports
import { textOf } from "@sessiond/client";

<<< docs/clients.md: import { Sessiond, text }

const db = new Sessiond("http://127.0.0.1:8080");
await db.request("PUT", "/v1/apps/cafe/policy", { body: { search: { index: true } } });
<<< clients/typescript/client/README.md: session.conversation()
<<< clients/typescript/client/README.md: db.search
<<< clients/typescript/client/README.md: session.union
const stop = new AbortController();
const signal = stop.signal;
const following = (async () => {
  <<< clients/typescript/client/README.md: session.watch
})().catch((error) => {
  if (!signal.aborted) throw error;
});
const think = async (events) => text("model", `${events.length} events`);
<<< clients/typescript/client/README.md: session.lease
stop.abort();
await following;
const bytes = Buffer.from("a receipt");
writeFileSync("scan.tif", "a scan");
<<< clients/typescript/client/README.md: receipt.pdf
if (!(order >= 1 && hits.length >= 1) || readFileSync("copy.pdf", "utf8") !== "a receipt") throw new Error("not as printed");
db.close();
