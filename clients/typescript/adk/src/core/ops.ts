import type { Operation, Precondition } from "@sessiond/client";
import type { ApplyOptions } from "./sessions.js";

/** Where operators of a context go. */
export interface Target {
  /** Applies operators to the session of the context. */
  apply(operations: readonly Operation[], options: ApplyOptions): Promise<Record<string, unknown>>;
  author: string;
  invocationId: string;
}

/**
 * Atomic changes of state, for tools and callbacks.
 *
 * To read a number from `context.state`, add one and write it back loses a change if two agents do so at once. An operator is
 * applied by the server to what is there. Each call is one event of the session, stored when its promise is fulfilled, by
 * the agent that is running, in the current invocation, also if the tool fails afterwards; `context.state` shows the new value.
 * A key that the same tool also assigns ends with the assigned value.
 *
 * All of them reject with `TypeError` if the runner has another session service, and with what `applyOps` of the service
 * rejects with.
 */
export interface Ops<Context> {
  /** Adds a number, an absent key being 0, and returns the sum; exact in the store for integers of any size. */
  increment(context: Context, key: string, by?: number): Promise<number>;
  /** Puts values at the end of a list, an absent key being an empty one, and returns the list. */
  append(context: Context, key: string, ...values: unknown[]): Promise<unknown[]>;
  /** Puts those values at the end of a list that are not in it yet, and returns the list. */
  union(context: Context, key: string, ...values: unknown[]): Promise<unknown[]>;
  /** Removes a key, which is something else than to set it to null. An absent key stays absent. */
  remove(context: Context, key: string): Promise<void>;
  /**
   * Applies several operators in order, all or none, and returns the values of the keys after it; a removed key is absent.
   * If a precondition does not hold, nothing is written, and it rejects with `StaleSessionError`.
   */
  apply(
    context: Context,
    operations: readonly Operation[],
    options?: { preconditions?: readonly Precondition[]; once?: string },
  ): Promise<Record<string, unknown>>;
  /**
   * Returns the operators for a change that has an id, the same in every run of the program: the session makes a change of
   * this id once. So a tool that died in the middle may run again:
   *
   * ```ts
   * const number = await ops.once(`number of ${order}`).increment(context, "app:orders");
   * ```
   *
   * Made again, a change changes nothing, and returns what it returned the first time. Each call needs an id of its own: for
   * another change of the same id it rejects with `AlreadyExistsError`.
   */
  once(id: string): Omit<Ops<Context>, "once">;
}

/** Returns the operators for the contexts of a framework. */
export function opsOf<Context>(target: (context: Context) => Target): Ops<Context> {
  return { ...operators(target), once: (id) => operators(target, id) };
}

function operators<Context>(target: (context: Context) => Target, id?: string): Omit<Ops<Context>, "once"> {
  const apply: Ops<Context>["apply"] = async (context, operations, options = {}) => {
    const { author, invocationId, ...found } = target(context);
    return await found.apply(operations, { once: id, ...options, author, invocationId });
  };
  const one = async (context: Context, operation: Operation): Promise<unknown> =>
    (await apply(context, [operation]))[operation.key];
  return {
    apply,
    increment: async (context, key, by = 1) => (await one(context, { op: "increment", key, value: by })) as number,
    append: async (context, key, ...value) => (await one(context, { op: "append", key, value })) as unknown[],
    union: async (context, key, ...value) => (await one(context, { op: "union", key, value })) as unknown[],
    remove: async (context, key) => void (await one(context, { op: "remove", key })),
  };
}
