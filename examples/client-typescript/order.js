// Takes an order: node order.js TABLE WHAT...
import { Sessiond, text } from "@sessiond/client";

const [table, ...words] = process.argv.slice(2);
if (table === undefined || words.length === 0) throw new Error("Usage: node order.js TABLE WHAT...");
const db = new Sessiond(process.env.SESSIOND_URL ?? "http://127.0.0.1:8080");
const session = db.session("kitchen", "evening", table);

await session.create({ existOk: true, labels: { floor: table.startsWith("t") ? "terrace" : "hall" } });
const number = await session.increment("app:orders");
await session.append({ author: "guest", content: text("user", words.join(" ")) }, { delta: { open: number } });
console.log(`Order ${number} of table ${table}: ${words.join(" ")}.`);
db.close();
