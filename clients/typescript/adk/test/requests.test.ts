// What a client does on each answer, as clients/wire/requests.json says it for all languages.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { after, it } from "node:test";
import {
  AccessError,
  BusyError,
  ConflictError,
  GoneError,
  type HttpOptions,
  InputError,
  NotFoundError,
  Sessiond,
  SessiondError,
  StaleError,
} from "@sessiond/client";
import { event, plain } from "./support/plain.js";

interface Case {
  do: string[];
  only?: string[];
  once?: boolean;
  away?: boolean;
  items?: number;
  together?: number;
  token?: string;
  tokens?: (string | null)[];
  retryFor?: number;
  timeout?: number;
  silence?: number;
}

const { cases } = JSON.parse(readFileSync("../wire/requests.json", "utf8")) as { cases: Record<string, Case> };

const fake = spawn("python3", ["../wire/fake_server.py"], { stdio: ["pipe", "pipe", "inherit"] });
after(() => fake.stdin.end());
const [line] = (await once(createInterface(fake.stdout), "line")) as [string];
const [url = "", away = ""] = line.split(" ");

const KINDS = {
  not_found: NotFoundError,
  conflict: ConflictError,
  stale: StaleError,
  busy: BusyError,
  gone: GoneError,
  input: InputError,
  denied: AccessError,
};

/** An error, as the fake server takes it. */
function told(error: unknown): object {
  assert.ok(error instanceof SessiondError);
  const [kind] = Object.entries(KINDS).find(([, of]) => error instanceof of) ?? ["other"];
  const { status = null, code = null, outcome = null, requestId = null, message } = error;
  // What was not answered has a cause.
  assert.ok(status !== null || error.cause !== undefined || message.includes("not sessiond's"), message);
  return { kind, status, code, outcome, requestId, text: `${message} ${JSON.stringify(error)}` };
}

type Watched = { type: string; cursor: string; event?: { id: string } };
type Steps = Record<string, () => Promise<unknown> | AsyncIterable<Watched>>;

/** What a client and a service of ADK do for each step of a case. */
const ways: Record<string, (options: HttpOptions) => { steps: Steps; close: () => unknown }> = {
  client: (options) => {
    const db = new Sessiond(options);
    const session = db.session("a", "u", "s");
    const steps: Steps = {
      append: () => session.append({ id: "e1", author: "a" }, { delta: { k: "hunter2" } }),
      create: () => session.create({ state: { k: "hunter2" } }),
      get: () => session.get(),
      list: async () => {
        for await (const found of db.sessions("a", "u")) assert.fail(found.id);
      },
      delete: () => session.delete(),
      watch: () => session.watch(),
    };
    return { steps, close: () => db.close() };
  },
  adk: (options) => {
    const sessions = plain(options);
    const key = { appName: "a", userId: "u", sessionId: "s" };
    const session = { ...key, id: "s", state: {}, events: [], lastUpdateTime: 0 };
    const added = { ...event({ k: "hunter2" }), id: "e1" };
    const steps: Steps = {
      append: () => sessions.append(session, added),
      create: () => sessions.create("a", "u", { k: "hunter2" }, "s"),
      get: () => sessions.get(key),
      list: () => sessions.list("a", "u", "asc", false),
      delete: () => sessions.delete(key),
      watch: () => sessions.watch(key),
    };
    return { steps, close: () => sessions.close() };
  },
};

/** Returns what the fake server finds wrong after a case. */
async function complaints(way: string, name: string, one: Case): Promise<string[]> {
  const log: string[] = [];
  const items: string[] = [];
  const results: (object | null)[] = [];
  let asked = 0;
  const at = `${one.away ? away : url}/typescript-${way}/${name}`;
  const { steps, close } = (ways[way] as (typeof ways)[string])({
    url: `${at}/`,
    headers: { "X-Tenant": "hunter2" },
    connectTimeoutMs: 60_000,
    token: one.tokens === undefined ? (one.token ?? "") : way === "adk" ? async () => given() : given,
    ...(one.once || one.retryFor ? { retryForMs: (one.retryFor ?? 0) * 1000 } : {}),
    ...(one.timeout ? { timeoutMs: one.timeout * 1000 } : {}),
    ...(one.silence ? { watchSilenceMs: one.silence * 1000 } : {}),
    log: (line) => log.push(line),
  });
  function given(): string {
    asked += 1;
    const token = one.tokens?.[asked - 1];
    if (typeof token !== "string") throw new RangeError("hunter2");
    return token;
  }
  const take = async (step: string): Promise<void> => {
    try {
      const doing = (steps[step] as Steps[string])();
      if (doing instanceof Promise) {
        await doing;
      } else {
        for await (const { type, cursor, event } of doing) {
          items.push([type.replace("caughtUp", "caught_up"), ...(event ? [event.id] : []), cursor].join(" "));
          if (items.length === one.items) break;
        }
      }
      results.push(null);
    } catch (error) {
      results.push(told(error));
    }
  };
  for (const step of one.do) await Promise.all(Array.from({ length: one.together ?? 1 }, () => take(step)));
  await close();
  const body = JSON.stringify({ language: "typescript", url: at, tenant: "hunter2", asked, items, results, log });
  const answer = await fetch(`${url}/check/typescript-${way}/${name}`, { method: "POST", body });
  return (await answer.json()) as string[];
}

for (const way of Object.keys(ways)) {
  it(`each answer is met as the data says: ${way}`, async () => {
    const left = Object.entries(cases).filter(([, { only = ["typescript"] }]) => only.includes("typescript"));
    const wrong: string[] = [];
    // Most cases wait. All at once would take one another's time on a slow machine.
    const places = Array.from({ length: 8 }, async () => {
      for (let next = left.shift(); next !== undefined; next = left.shift()) {
        wrong.push(...(await complaints(way, ...next)));
      }
    });
    await Promise.all(places);
    assert.deepEqual(wrong, []);
  });
}
