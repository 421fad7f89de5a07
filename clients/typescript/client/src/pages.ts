import { InputError } from "./errors.js";
import { type CallOptions, type Http, success } from "./http.js";
import type { JsonObject } from "./json.js";

/** A query: what is undefined is left out. */
export type Query = Record<string, string | number | boolean | undefined>;

/** Returns a query as texts. Throws `InputError` for what is neither a text, a number nor a boolean. */
export function texts(query: Query): Record<string, string> {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  for (const [name, value] of given) {
    if (!["string", "number", "boolean"].includes(typeof value)) {
      const what = value === null ? "null" : `of type ${typeof value}`;
      throw new InputError(`\`${name}\` is ${what}.`, { outcome: "not_applied" });
    }
  }
  return Object.fromEntries(given.map(([name, value]) => [name, String(value)]));
}

/** Yields the pages of a list, each when it is asked for. `pageSize` of the query is 1,000 by default, the most. */
export async function* pages(
  http: Http,
  path: string,
  query: Query,
  call: CallOptions = {},
): AsyncGenerator<JsonObject, void, undefined> {
  const asked = texts({ pageSize: 1000, ...query });
  for (;;) {
    const page = success(await http.send("GET", path, { ...call, query: asked }));
    yield page;
    if (typeof page["nextPageToken"] !== "string") return;
    asked["pageToken"] = page["nextPageToken"];
  }
}

/** Yields what is in the field of a list's pages. */
export async function* items<T>(
  http: Http,
  path: string,
  field: string,
  query: Query,
  call?: CallOptions,
): AsyncGenerator<T, void, undefined> {
  for await (const page of pages(http, path, query, call)) yield* page[field] as T[];
}

/** Returns all that an iterator yields. */
export async function all<T>(yielded: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const one of yielded) found.push(one);
  return found;
}
