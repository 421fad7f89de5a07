// One language of the cross-language test: node dist-test/adk/test/matrix.js google|iqai|adk-typescript
//
// Reads a command a line, answers a line each, and ends with its input. SESSIOND_URL says where sessiond is.
import { createInterface } from "node:readline";
import { SessiondError } from "../src/core/index.js";
import { type EventFields, type Files, type Framework, load, type Service } from "./support/frameworks.js";

interface Command {
  do: string;
  app: string;
  user: string;
  session: string;
  event: EventFields;
  to: string;
  key: string;
  by?: number;
  count: number;
  name: string;
  version?: number;
  text?: string;
  data?: string;
  mimeType?: string;
  displayName?: string;
}

// Standard output is for the answers; some frameworks write there, too.
console.log = console.error;
const framework = await load(process.argv[2] ?? "");
const url = process.env["SESSIOND_URL"] ?? "http://127.0.0.1:8080";
const service = framework.service(url);
const files = framework.files(url);
for await (const line of createInterface({ input: process.stdin })) {
  if (line.trim() === "") continue;
  let answer: object;
  try {
    const command = JSON.parse(line) as Command;
    const ofFiles = ["save", "load", "files"].includes(command.do);
    answer = { ok: true, ...(await (ofFiles ? filed(command, files) : done(command, framework, service))) };
  } catch (error) {
    const { code = null, status = null } = error instanceof SessiondError ? error : {};
    answer = { ok: false, error: String(error), code, status };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
await service.sessiond.close();
files.sessiond.close();

async function done(command: Command, { event, state, ticks }: Framework, service: Service): Promise<object> {
  const { app, user, session: id } = command;
  if (command.do === "watch") return { events: await watched(command, service) };
  const session = await service.get(app, user, id);
  if (session === undefined)
    throw new SessiondError("There is no such session.", { status: 404, code: "session_not_found" });
  switch (command.do) {
    case "get":
      return {
        state: state(session),
        events: session.events.map((stored) => stored.id),
        said: session.events.flatMap(({ author, content }) =>
          (content?.parts ?? []).flatMap(({ text }) => (text ? [[author, text]] : [])),
        ),
        artifacts: Object.assign({}, ...session.events.map((stored) => stored.actions["artifactDelta"])),
        lastUpdateTime: (session.lastUpdateTime ?? 0) / ticks,
      };
    case "append":
      await service.append(session, event(command.event));
      return { state: state(session) };
    case "copy": {
      const target = await service.get(app, user, command.to);
      if (target === undefined) throw new Error("There is no such session.");
      // What the framework has of each event, and nothing else, goes into the other session.
      for (const read of session.events) await service.append(target, read);
      return {};
    }
    case "increment": {
      const { key, by = 1 } = command;
      return { value: (await service.sessiond.apply(session, [{ op: "increment", key, value: by }]))[key] };
    }
    default:
      throw new Error(`There is no command ${command.do}.`);
  }
}

async function filed(command: Command, files: Files): Promise<object> {
  const { app, user, session, name, version, text, data, mimeType, displayName } = command;
  switch (command.do) {
    case "save": {
      const part = text === undefined ? { inlineData: { data, mimeType, displayName } } : { text };
      return { version: await files.save(app, user, session, name, part) };
    }
    case "load": {
      const part = await files.load(app, user, session, name, version);
      return part?.inlineData ?? part ?? {};
    }
    default:
      return { names: await files.list(app, user, session) };
  }
}

async function watched({ app, user, session, count }: Command, { sessiond }: Service): Promise<string[]> {
  const ids: string[] = [];
  if (count <= 0) return ids;
  for await (const item of sessiond.watch({ appName: app, userId: user, sessionId: session })) {
    if (item.type === "event" && ids.push(item.event.id) === count) break;
  }
  return ids;
}
