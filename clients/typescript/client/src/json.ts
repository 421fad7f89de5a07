import { randomUUID } from "node:crypto";
import { InputError } from "./errors.js";

/** An object of JSON. */
export type JsonObject = Record<string, unknown>;

/** Whether a value is an object and no array. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether a value is an object that its fields make, as an event is: no `Map`, no promise, no bytes, no text as an object. */
export function isFields(value: unknown): value is JsonObject {
  const others = [...REFUSED, Date, String, Number, Boolean];
  return isObject(value) && !ArrayBuffer.isView(value) && !others.some((kind) => (value as object) instanceof kind);
}

/**
 * Returns a value as JSON. It refuses what `JSON.stringify` would turn into something else, leave out, or fail at: a NaN, a
 * bigint, a `Map`, bytes, a function, an undefined in a list, a cycle. A field that is undefined is absent.
 */
export function toJson(value: unknown): string {
  return written(value, (allowed) => JSON.stringify(allowed), false);
}

/**
 * Returns a value as JSON, or as what JavaScript and Python write in its place where it has numbers that JSON does not have: `NaN`,
 * `Infinity`. A `-0` stays one. With `sorted`, the fields of objects are in the order of their names.
 *
 * @throws InputError as `toJson` does, of all else.
 */
export function toExtendedJson(value: unknown, sorted = false): string {
  const replaced = (_: string, member: unknown): unknown => {
    if (typeof member === "number" && (!Number.isFinite(member) || Object.is(member, -0))) {
      return MARK + (member === 0 ? "-0.0" : String(member));
    }
    if (!sorted || !isObject(member)) return member;
    return Object.fromEntries(Object.entries(member).sort(([one], [other]) => (one < other ? -1 : 1)));
  };
  return written(value, (allowed) => JSON.stringify(allowed, replaced)?.replace(MARKED, "$1"), true);
}

/** Returns the value of a text that `toExtendedJson` has written, or Python. Throws `SyntaxError` if it is none. */
export function fromExtendedJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    if (!/NaN|Infinity/.test(text)) throw error;
    const mark = (part: string): string => part.replace(/-?Infinity|NaN/g, (token) => `"${MARK}${token}"`);
    const marked = partsOf(text).map((part, n) => (n % 2 === 0 ? mark(part) : part));
    return JSON.parse(marked.join(""), (_, member: unknown) =>
      typeof member === "string" && member.startsWith(MARK) ? Number(member.slice(MARK.length)) : member,
    ) as unknown;
  }
}

// What no text has that others have written.
const MARK = `${randomUUID()}:`;
const MARKED = new RegExp(`"${MARK}([^"]*)"`, "g");

/**
 * Returns the parts of a text of JSON: what is between its strings, and behind each of these but the last one a string. Regular expressions
 * for that overflow the stack at strings of 8 MiB.
 */
export function partsOf(json: string): string[] {
  const parts: string[] = [];
  let at = 0;
  for (let begin = json.indexOf('"'); begin >= 0; begin = json.indexOf('"', at)) {
    let end = json.indexOf('"', begin + 1);
    while (isEscaped(json, end)) end = json.indexOf('"', end + 1);
    parts.push(json.slice(at, begin));
    // A string that does not end is for the parser to refuse.
    at = end < 0 ? json.length : end + 1;
    parts.push(json.slice(begin, at));
  }
  return [...parts, json.slice(at)];
}

/** Whether an odd number of backslashes is before a place. */
function isEscaped(json: string, at: number): boolean {
  let before = at;
  while (json[before - 1] === "\\") before -= 1;
  return (at - before) % 2 === 1;
}

function written(value: unknown, write: (value: unknown) => string, anyNumber: boolean): string {
  try {
    check(value, "", "", [], anyNumber);
    return write(value);
  } catch (error) {
    throw new InputError(`What is to be sent is no JSON: ${(error as Error).message}.`, { cause: error });
  }
}

// What has no fields that would be written, and bytes, which would be an object of numbers.
const REFUSED = [Map, Set, WeakMap, WeakSet, RegExp, Error, Promise, ArrayBuffer];

function check(given: unknown, key: string, place: string, within: readonly unknown[], anyNumber: boolean): void {
  const refuse = (what: string): never => {
    throw new TypeError(`it has ${what} at ${place || "its root"}`);
  };
  if (ArrayBuffer.isView(given)) refuse(`bytes (${given.constructor.name}; give them in base64)`);
  if (given instanceof Date && Number.isNaN(given.getTime())) refuse("a date that is none");
  const isWritten = typeof (given as { toJSON?: unknown } | null | undefined)?.toJSON === "function";
  const value: unknown = isWritten ? (given as { toJSON(key: string): unknown }).toJSON(key) : given;
  if (typeof value === "bigint" || typeof value === "function" || typeof value === "symbol")
    refuse(`a ${typeof value}`);
  if (typeof value === "number" && !Number.isFinite(value) && !anyNumber)
    refuse(`${value}, a number that JSON does not have,`);
  if (typeof value !== "object" || value === null) return;
  const kind = REFUSED.find((one) => value instanceof one);
  if (kind !== undefined) refuse(`a ${kind.name}`);
  if (within.includes(value)) refuse("a cycle");
  const path = [...within, value];
  for (const [name, part] of Object.entries(value)) {
    check(part, name, `${place}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`, path, anyNumber);
  }
  if (!Array.isArray(value)) return;
  // Also where a list has a hole.
  const gap = Array.from(value as unknown[]).indexOf(undefined);
  if (gap >= 0) throw new TypeError(`it has undefined at ${place}/${gap}`);
}

/** Returns the value of a JSON text; undefined if it is none. */
export function fromJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns a copy without a prototype, in which only its own keys are found: `"constructor" in record` is false. */
export function record(fields: JsonObject | undefined): JsonObject {
  return Object.assign(Object.create(null), fields) as JsonObject;
}

/** Sets a key, also one like `__proto__`. */
export function put(target: object, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
}
