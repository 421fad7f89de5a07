/** Says something to the agents of the café, in a new session: npm start USER MESSAGE. */
import { Runner } from "@google/adk";
import { SessiondSessionService } from "@sessiond/adk";
import { rootAgent } from "./agent.js";

const [userId, text] = process.argv.slice(2);
if (!userId || !text) throw new Error("usage: npm start USER MESSAGE");

const sessionService = new SessiondSessionService(process.env["SESSIOND_URL"] ?? "http://127.0.0.1:8080");
const runner = new Runner({ appName: "cafe", agent: rootAgent, sessionService });
const { id: sessionId } = await sessionService.createSession({ appName: "cafe", userId });

console.log(`${userId}: ${text}`);
for await (const event of runner.runAsync({ userId, sessionId, newMessage: { role: "user", parts: [{ text }] } })) {
  for (const part of event.content?.parts ?? []) if (part.text) console.log(`${event.author}: ${part.text}`);
}

// As stored, for any other process to read.
const stored = await sessionService.getSession({ appName: "cafe", userId, sessionId });
const keys = Object.keys(stored?.state ?? {}).sort();
const scope = (fits: (key: string) => boolean): string =>
  JSON.stringify(Object.fromEntries(keys.filter(fits).map((key) => [key, stored?.state[key]])));
console.log(
  "app state:    ",
  scope((key) => key.startsWith("app:")),
);
console.log(
  "user state:   ",
  scope((key) => key.startsWith("user:")),
);
console.log(
  "session state:",
  scope((key) => !key.includes(":")),
);
await sessionService.sessiond.close();
