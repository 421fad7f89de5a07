import type { Operation, Precondition } from "./events.js";
import { type CallOptions, nameOf } from "./http.js";
import type { JsonObject } from "./json.js";

/** How an operator is applied. */
export interface OperatorOptions extends CallOptions {
  /** If one of them does not hold, nothing is written, and it rejects with `StaleError`. */
  when?: readonly Precondition[] | undefined;
  /** If this is not the revision, nothing is written, and it rejects with `StaleError`. */
  ifRevision?: number | undefined;
  /**
   * An id for this change, the same in every run of the program, so that what died in the middle may run again: a change of
   * this id is made once. Made again, it changes nothing. Another change of the same id is a `ConflictError`.
   */
  once?: string | undefined;
}

/** Throws `InputError` for an operation whose key, or an id of a change, that is no text. */
export function checkChange(operations: readonly Operation[], { once }: OperatorOptions): void {
  for (const { key } of operations) nameOf("key", key, true);
  if (once !== undefined) nameOf("id of the change", once);
}

/**
 * Atomic changes of state.
 *
 * To read a number, add one and write it back loses a change if two do so at once. An operator is applied by the server to what
 * is there. A request without an answer is sent again, and applied once.
 *
 * All of them reject with `InputError` if the key has a value of another type.
 */
export abstract class Operators<Options extends OperatorOptions> {
  /** Applies operators in order, all or none, and returns the values of their keys after it; a removed key is absent. */
  abstract apply(operations: readonly Operation[], options?: Options): Promise<JsonObject>;

  /** Adds a number, an absent key being 0, and returns the sum; exact in the store for integers of any size. */
  async increment(key: string, by = 1, options?: Options): Promise<number> {
    return (await this.#one({ op: "increment", key, value: by }, options)) as number;
  }

  /** Puts values at the end of a list, an absent key being an empty one, and returns the list. */
  async push(key: string, values: readonly unknown[], options?: Options): Promise<unknown[]> {
    return (await this.#one({ op: "append", key, value: values }, options)) as unknown[];
  }

  /** Puts those values at the end of a list that are not in it yet, and returns the list. */
  async union(key: string, values: readonly unknown[], options?: Options): Promise<unknown[]> {
    return (await this.#one({ op: "union", key, value: values }, options)) as unknown[];
  }

  /** Merges an object into the one that is there (RFC 7396: a null removes its field), and returns the result. */
  async merge(key: string, patch: JsonObject, options?: Options): Promise<JsonObject> {
    return (await this.#one({ op: "merge", key, value: patch }, options)) as JsonObject;
  }

  /** Sets a number if it is greater than the one that is there, and returns the greater one. */
  async max(key: string, value: number, options?: Options): Promise<number> {
    return (await this.#one({ op: "max", key, value }, options)) as number;
  }

  /** Sets a number if it is less than the one that is there, and returns the lesser one. */
  async min(key: string, value: number, options?: Options): Promise<number> {
    return (await this.#one({ op: "min", key, value }, options)) as number;
  }

  /** Sets a key. */
  async set(key: string, value: unknown, options?: Options): Promise<void> {
    await this.#one({ op: "set", key, value }, options);
  }

  /** Removes a key, which is something else than to set it to null. An absent key stays absent. */
  async remove(key: string, options?: Options): Promise<void> {
    await this.#one({ op: "remove", key }, options);
  }

  async #one(operation: Operation, options?: Options): Promise<unknown> {
    return (await this.apply([operation], options))[operation.key];
  }
}
