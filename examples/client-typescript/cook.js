// Cooks what is open, one order of a table at a time: node cook.js NAME. Start as many as you like.
import { setTimeout as sleep } from "node:timers/promises";
import { BusyError, Sessiond, text, textOf } from "@sessiond/client";

const [name] = process.argv.slice(2);
if (name === undefined) throw new Error("Usage: node cook.js NAME");
const db = new Sessiond(process.env.SESSIOND_URL ?? "http://127.0.0.1:8080");

for await (const { userId, id } of db.sessions("kitchen")) {
  const session = db.session("kitchen", userId, id);
  try {
    await session.lease({ owner: name }, async (turn) => {
      const open = await turn.state("open");
      if (open === undefined) return;
      let dish = "";
      for await (const event of turn.events({ last: 1, author: "guest" })) dish = textOf(event);
      // Another cook who comes to this table meanwhile goes on to the next one.
      await sleep(200, undefined, { signal: turn.signal });
      await turn.append({ author: name, content: text("model", `${dish}, ready.`) });
      await turn.remove("open");
      await turn.union("user:cooks", [name]);
      console.log(`${name}: order ${open} of table ${id}: ${dish}, ready.`);
    });
  } catch (error) {
    if (!(error instanceof BusyError)) throw error;
    console.log(`${name}: ${error.owner} has table ${id}.`);
  }
}
db.close();
