// What programs write every day, as literals of the types that openapi-typescript makes of the description. Compiled with
// --strict; nothing here is run.
import type { components, paths } from "./api.js";

type Schemas = components["schemas"];
type Body<P extends keyof paths, M extends keyof paths[P]> = paths[P][M] extends {
  requestBody?: { content: { "application/json": infer B } };
}
  ? B
  : never;

const S = "/v1/apps/{app}/users/{user}/sessions" as const;
const one = `${S}/{session}` as const;

export const create: Body<typeof S, "post">[] = [
  {},
  { state: { x: 1 } },
  { sessionId: "s1", state: { topic: "billing", "user:name": "Ada", "app:model": null, nested: { list: [1, "2", true] } } },
  { labels: { env: "prod" }, ttl: "3600s", displayName: "Ada's invoice" },
  { events: [{ author: "user", content: { role: "user", parts: [{ text: "Hi" }] } }], expireTime: 1_800_000_000.5 },
  // @ts-expect-error a field that there is not
  { stat: { x: 1 } },
  // @ts-expect-error not a text
  { sessionId: 1 },
];
export const getOrCreate: Body<typeof one, "put"> = { state: { x: [] }, expireTime: "2030-01-01T00:00:00Z" };
export const update: Body<typeof one, "patch">[] = [{ displayName: null }, { ttl: 60, labels: {} }];

export const append: Body<`${typeof one}/events`, "post">[] = [
  { id: "e1", author: "agent", actions: { stateDelta: { step: 1, "temp:draft": "?" } } },
  [{ author: "user", invocationId: "i1", timestamp: 1_763_719_000.25 }, { author: "agent", partial: false, turnComplete: true }],
  { author: "agent", actions: { stateOps: [{ op: "increment", key: "visits", value: 1 }, { op: "remove", key: "draft" }] } },
];
export const patch: Body<`${typeof one}/state`, "patch">[] = [
  { stateDelta: { step: 2 } },
  { stateOps: [{ op: "append", key: "list", value: ["a"] }, { op: "merge", key: "o", value: { a: null } }], eventId: "e2" },
  { preconditions: [{ key: "owner", exists: false }, { key: "step", equals: 2 }, { key: "app:x", revision: 3 }] },
  // @ts-expect-error no operator
  { stateOps: [{ op: "add", key: "list", value: 1 }] },
];
export const scope: Body<"/v1/apps/{app}/users/{user}/state", "patch"> = { stateDelta: { name: "Ada" } };
export const fork: Body<`${typeof one}/fork`, "post">[] = [{}, { atRevision: 3, sessionId: "copy" }];
export const rewind: Body<`${typeof one}/rewind`, "post">[] = [{ toRevision: 0 }, { beforeInvocationId: "i1" }];
export const render: Body<`${typeof one}/render`, "post"> = { template: "You help {user:name?}.", missing: "keep" };
export const lease: Body<`${typeof one}/lease`, "post"> = { owner: "pod-7", ttl: 60, exclusive: "turn" };
export const trim: Body<`${typeof one}/trim`, "post"> = { keepLast: 100 };
export const policy: Body<"/v1/apps/{app}/policy", "put"> = { sessions: { idleTtl: "30d" }, events: { maxCount: 1000 } };
export const key: Body<"/v1/keys", "post"> = { name: "shop", role: "agent", apps: ["shop"], ttl: 86_400 };
export const token: Body<"/v1/tokens", "post"> = { app: "shop", user: "ada", ttl: "3600s" };

// And what they read.
export function shown(session: Schemas["Session"], problem: Schemas["Problem"]): string {
  const last = session.events[session.events.length - 1];
  const topic: unknown = session.state["topic"];
  return `${session.id} ${session.revision} ${last?.sequence} ${last?.author ?? ""} ${String(topic)} ${problem.code}`;
}
