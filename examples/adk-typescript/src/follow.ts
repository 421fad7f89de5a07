/** Shows what is said in the newest session of a user, and then what comes, until Ctrl-C: npm run follow USER. */
import { SessiondSessionService } from "@sessiond/adk";

const [userId] = process.argv.slice(2);
if (!userId) throw new Error("usage: npm run follow USER");
const stop = new AbortController();
process.once("SIGINT", () => stop.abort());

const { sessiond, ...service } = await newest();
try {
  for await (const item of sessiond.watch({ ...service, signal: stop.signal })) {
    if (item.type !== "event") continue;
    for (const part of item.event.content?.parts ?? [])
      if (part.text) console.log(`${item.event.author}: ${part.text}`);
  }
} catch (error) {
  if (!stop.signal.aborted) throw error;
}
await sessiond.close();

async function newest() {
  const service = new SessiondSessionService(process.env["SESSIOND_URL"] ?? "http://127.0.0.1:8080");
  const key = { appName: "cafe", userId: String(userId) };
  const { sessions } = await service.listSessions({ ...key, order: "desc", limit: 1 });
  if (!sessions[0]) throw new Error(`${userId} has no session.`);
  return { sessiond: service.sessiond, ...key, sessionId: sessions[0].id };
}
