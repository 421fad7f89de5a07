import { randomUUID } from "node:crypto";
import { Artifacts } from "./artifacts.js";
import type { Operation } from "./events.js";
import { type CallOptions, codeOf, type Http, nameOf, refusal, segment, success } from "./http.js";
import { isObject, type JsonObject } from "./json.js";
import { type KeyChange, keyHistory, type StateHistoryOptions } from "./key-history.js";
import { checkChange, type OperatorOptions, Operators } from "./operators.js";
import { texts } from "./pages.js";
import { appPath, userPath } from "./paths.js";

/** The state that the sessions of an app or of a user share. Keys are without their prefix here. */
export class SharedState extends Operators<OperatorOptions> {
  readonly #http: Http;
  readonly #path: string;

  /** @internal */
  constructor(http: Http, path: string) {
    super();
    this.#http = http;
    this.#path = `${path}/state`;
  }

  /** Returns the state, or what begins with `prefix`; `{}` if there is none. */
  async state(options?: { prefix?: string | undefined } & CallOptions): Promise<JsonObject>;
  /** Returns the value of a key; undefined if there is none. */
  async state(key: string, call?: CallOptions): Promise<unknown>;
  async state(
    first: string | ({ prefix?: string | undefined } & CallOptions) = {},
    second?: CallOptions,
  ): Promise<unknown> {
    if (!isObject(first as unknown)) nameOf("key", first);
    if (typeof first !== "string") {
      const { prefix, ...call } = first;
      return success(await this.#http.send("GET", this.#path, { ...call, query: texts({ prefix }) }));
    }
    const reply = await this.#http.send("GET", this.#path + segment("key", first), { ...second });
    if (codeOf(reply) === "state_key_not_found") return undefined;
    if (reply.status !== 200) throw refusal(reply);
    return reply.body;
  }

  /**
   * Yields the changes of a key, the latest first, reading page after page: what it was, when, and which event made it so.
   *
   * @throws NotFoundError if there never was such a key, as far as is known.
   */
  stateHistory(key: string, options?: StateHistoryOptions): AsyncGenerator<KeyChange, void, undefined> {
    return keyHistory(this.#http, this.#path, key, options);
  }

  /**
   * Applies operators in order, all or none, and returns the values of their keys; a removed key is absent. A change is
   * remembered for a day by its id (`once`); what it returns when it is made again are the values as they are then.
   */
  async apply(operations: readonly Operation[], options: OperatorOptions = {}): Promise<JsonObject> {
    const { when, ifRevision, once, ...call } = options;
    checkChange(operations, options);
    const headers: Record<string, string> = { "idempotency-key": once ?? randomUUID() };
    if (ifRevision !== undefined) headers["if-match"] = `"${ifRevision}"`;
    const body = { stateOps: operations, preconditions: when };
    const state = success(
      await this.#http.send("PATCH", this.#path, { ...call, body, query: { answer: "changed" }, headers }),
    );
    const keys = new Set(operations.map(({ key }) => key));
    return Object.fromEntries(Object.entries(state).filter(([key]) => keys.has(key)));
  }
}

/** An app. To make one costs no request. */
export class App extends SharedState {
  readonly name: string;

  /** @internal */
  constructor(http: Http, name: string) {
    super(http, appPath(name));
    this.name = name;
  }
}

/** A user of an app, with state and files that all of its sessions share. To make one costs no request. */
export class User extends SharedState {
  readonly app: string;
  readonly id: string;
  /** The user's files. */
  readonly artifacts: Artifacts;

  /** @internal */
  constructor(http: Http, app: string, id: string) {
    const path = userPath(app, id);
    super(http, path);
    this.app = app;
    this.id = id;
    this.artifacts = new Artifacts(http, path);
  }
}
