import { InputError } from "./errors.js";

/** An object of JSON. */
export type JsonObject = Record<string, unknown>;

/** Whether a value is an object and no array. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Returns a value as JSON. It refuses what `JSON.stringify` would turn into something else or fail at: a NaN, an
 * infinity, a bigint, a cycle.
 */
export function toJson(value: unknown): string {
  try {
    return JSON.stringify(value, (key, part: unknown) => {
      if (typeof part === "bigint" || (typeof part === "number" && !Number.isFinite(part))) {
        throw new TypeError(`\`${key}\` is ${typeof part === "bigint" ? "a bigint" : part}, which JSON does not have`);
      }
      return part;
    });
  } catch (error) {
    throw new InputError(`The request cannot be written as JSON: ${(error as Error).message}.`, {
      cause: error,
    });
  }
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
