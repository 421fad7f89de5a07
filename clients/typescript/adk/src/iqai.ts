/**
 * Keeps the sessions, the files and the memory of `@iqai/adk` in sessiond.
 *
 * ```ts
 * const url = "http://127.0.0.1:8080";
 * const { runner } = await AgentBuilder.create("waiter")
 *   .withModel(model)
 *   .withSessionService(new SessiondSessionService(url), { appName: "cafe", userId: "ada" })
 *   .withArtifactService(new SessiondArtifactService(url))
 *   .build();
 * ```
 */
import {
  type BaseMemoryService,
  BaseSessionService,
  Event,
  EventActions,
  type GetSessionConfig,
  type InMemoryArtifactService,
  isArtifactRef,
  type ListSessionsResponse,
  parseArtifactUri,
  type ReadonlyContext,
  type SearchMemoryResponse,
  type Session,
} from "@iqai/adk";
import type { JsonObject } from "@sessiond/client";
import { nameOf, put } from "@sessiond/client/internal";
import {
  Artifacts,
  type HttpOptions,
  Memories,
  type MemoryOptions,
  type Ops,
  opsOf,
  SessiondInputError,
  type SessiondOptions,
  Sessions,
} from "./core/index.js";

export * from "./shared.js";

/**
 * A session service of `@iqai/adk` on sessiond. Times are Unix seconds, as everywhere in `@iqai/adk`.
 *
 * When `appendEvent` is fulfilled, the event and all its state changes are on disk, and every later read through any process
 * shows them. If it rejects, the session object and the event are as they were before, and the same event may be appended
 * again: its id makes sure that it is stored once. Concurrent writers of different keys never undo one another.
 *
 * A key whose new value is null or undefined is removed, in the store as well as in the session object: that is what
 * `@iqai/adk` means by it. What is refused rejects with a {@link SessiondError}.
 */
export class SessiondSessionService extends BaseSessionService {
  /** What sessiond can do beyond what `@iqai/adk` asks of a session service: operators, watch, turns, tokens. */
  readonly sessiond: Sessions<Session, Event>;

  /** Opens no connection yet. Takes the URL of sessiond, or all options. Throws `TypeError` if one cannot be used. */
  constructor(options: SessiondOptions | string = {}) {
    super();
    this.sessiond = new Sessions<Session, Event>(
      {
        ticks: 1,
        compacts: true,
        session: (fields) => fields,
        event: ({ actions, longRunningToolIds, ...fields }) =>
          Object.assign(new Event({ author: String(fields["author"] ?? "") }), fields, {
            actions: Object.assign(new EventActions(), actions),
            ...(Array.isArray(longRunningToolIds) ? { longRunningToolIds: new Set(longRunningToolIds) } : {}),
          }),
        // `error` is an `Error`, whose code and message the event has, too.
        written: ({ error: _, longRunningToolIds, actions, ...event }, known) => ({
          ...event,
          ...(longRunningToolIds === undefined ? {} : { longRunningToolIds: [...longRunningToolIds] }),
          actions: known ? { ...actions } : withRemovals(actions),
        }),
        state: (session) => session.state,
        assign,
        applied: (session, event, temporary) => {
          assign(session, temporary, []);
          const delta = event.actions?.stateDelta ?? {};
          for (const key of Object.keys(delta).filter((name) => name.startsWith("temp:"))) delete delta[key];
          assign(session, delta, removals(delta));
          session.events.push(event);
        },
      },
      options,
    );
  }

  /**
   * Creates a session. `app:` and `user:` keys of `state` go to app and user state, `temp:` keys nowhere. White space around
   * `sessionId` is not part of it; without one, or with a blank one, it is generated.
   *
   * @throws AlreadyExistsError if there is such a session; it is left as it is.
   */
  override async createSession(
    appName: string,
    userId: string,
    state?: Record<string, unknown>,
    sessionId?: string,
  ): Promise<Session> {
    return await this.sessiond.create(appName, userId, state, sessionId);
  }

  /**
   * Returns a session with its merged state and its events, as of one moment; undefined if there is none. The server limits
   * the events: first to the last `numRecentEvents` (0: none), of these to those not before `afterTimestamp`.
   */
  override async getSession(
    appName: string,
    userId: string,
    sessionId: string,
    config?: GetSessionConfig,
  ): Promise<Session | undefined> {
    return await this.sessiond.get({ appName, userId, sessionId }, config);
  }

  /** Returns the sessions of a user, without events and state, by last update, the latest at the end. */
  override async listSessions(appName: string, userId: string): Promise<ListSessionsResponse> {
    return { sessions: await this.sessiond.list(appName, nameOf("id of the user", userId), "asc", false) };
  }

  /** Deletes a session with its events and its own state, if there is one. App and user state stay. */
  override async deleteSession(appName: string, userId: string, sessionId: string): Promise<void> {
    await this.sessiond.delete({ appName, userId, sessionId });
  }

  /** Does nothing: a session in sessiond needs no end. `@iqai/adk` asks for it in some versions. */
  async endSession(_appName: string, _userId: string, _sessionId: string): Promise<void> {}

  /**
   * Appends an event and applies its `stateDelta`, in the store and then in `session`.
   *
   * A partial event is returned as it is. `temp:` keys are put into `session.state` and are not sent; the event loses them.
   * `session.lastUpdateTime` becomes the event's `timestamp`. An event that the session already has is not applied again.
   *
   * @throws SessionNotFoundError if there is no such session, or no more.
   * @throws StaleSessionError with `concurrency: "session"`, if others have appended events that `session` has not seen;
   *   with `"lease"`, if another turn has taken over.
   * @throws SessionBusyError with `concurrency: "lease"`, if another turn has the session.
   * @throws AlreadyExistsError if the session has another event with this id.
   */
  override async appendEvent(session: Session, event: Event): Promise<Event> {
    return await this.sessiond.append(session, event);
  }
}

/** The operators, for every context of `@iqai/adk`: of tools, of callbacks, of agents. */
export const ops: Ops<ReadonlyContext> = opsOf<ReadonlyContext>((context) => {
  // It has no public way from every kind of context to the service.
  const { sessionService: service, session } = context["_invocationContext"];
  if (!(service instanceof SessiondSessionService)) {
    throw new TypeError("The operators need a runner whose session service is a SessiondSessionService.");
  }
  return {
    author: context.agentName,
    invocationId: context.invocationId,
    apply: (operations, options): Promise<JsonObject> => service.sessiond.apply(session, operations, options),
  };
});

function assign(session: Session, set: JsonObject, removed: readonly string[]): void {
  for (const key of Object.keys(set)) put(session.state, key, set[key]);
  for (const key of removed) delete session.state[key];
}

function removals(delta: JsonObject): string[] {
  return Object.keys(delta).filter((key) => delta[key] === null || delta[key] === undefined);
}

/** Returns actions as JSON, in which keys that get null or undefined are removed. */
function withRemovals(actions: EventActions): JsonObject {
  const { stateDelta, stateOps, ...others } = actions as EventActions & { stateOps?: unknown[] };
  const removed = removals(stateDelta ?? {}).filter((key) => !key.startsWith("temp:"));
  const kept = Object.fromEntries(Object.entries(stateDelta ?? {}).filter(([key]) => !removed.includes(key)));
  const asked = [...(stateOps ?? []), ...removed.map((key) => ({ op: "remove", key }))];
  return { ...others, stateDelta: kept, ...(asked.length === 0 ? {} : { stateOps: asked }) };
}

// `@iqai/adk` does not export these types.
type BaseArtifactService = Pick<
  InMemoryArtifactService,
  "saveArtifact" | "loadArtifact" | "listArtifactKeys" | "deleteArtifact" | "listVersions"
>;
type SaveArtifactRequest = Parameters<InMemoryArtifactService["saveArtifact"]>[0];
type Part = SaveArtifactRequest["artifact"];
type FileKey = Omit<SaveArtifactRequest, "artifact">;

// How many references a load follows.
const MOST_REFERENCES = 5;

/**
 * An artifact service of `@iqai/adk` on sessiond: the files of agents, beside their sessions.
 *
 * When `saveArtifact` is fulfilled, the whole file is on disk, and every later read through any process shows it; a request
 * without an answer is sent again, and applied once. Versions count 0, 1, 2, … without a gap, whoever saves at the same time,
 * and a version never changes. A file goes with its session, which must exist, or with its user if its name begins with
 * `user:`. Of a part, its text, its file data, or its inline data are kept.
 *
 * What is refused rejects with a {@link SessiondError}.
 */
export class SessiondArtifactService implements BaseArtifactService {
  /** The service without the framework; `close` closes its connections. */
  readonly sessiond: Artifacts;

  /** Opens no connection yet. Takes the URL of sessiond, or all options. Throws `TypeError` if one cannot be used. */
  constructor(options: HttpOptions | string = {}) {
    this.sessiond = new Artifacts(options);
  }

  /**
   * Saves a version of a file and returns its number.
   *
   * @throws SessionNotFoundError if there is no such session.
   * @throws SessiondInputError if the part has nothing to save, or it or the name breaks a rule of sessiond.
   */
  async saveArtifact({ artifact, ...key }: SaveArtifactRequest): Promise<number> {
    return await this.sessiond.save(key, artifact);
  }

  /**
   * Returns a version of a file, the latest one by default, and of a negative number, one counted from the latest; null if
   * there is none. Of a reference to another version of the same user (`artifact://…`), that one.
   *
   * @throws SessiondInputError if a reference leads to another user, another session, or through too many others.
   */
  async loadArtifact({ version, ...key }: FileKey & { version?: number }): Promise<Part | null> {
    let [at, number] = [key, version ?? undefined];
    if (number !== undefined && number < 0) {
      number = (await this.sessiond.versions(key)).at(number)?.version;
      if (number === undefined) return null;
    }
    for (let left = MOST_REFERENCES; ; left -= 1) {
      const part = (await this.sessiond.load(at, number)) as Part | undefined;
      if (part === undefined) return null;
      if (!isArtifactRef(part)) return part;
      const target = parseArtifactUri(part.fileData?.fileUri ?? "");
      const known = target?.appName === key.appName && target.userId === key.userId;
      if (!known || ![undefined, key.sessionId].includes(target.sessionId) || left === 0) {
        throw new SessiondInputError(`The artifact ${key.filename} refers to no other one of this user and session.`);
      }
      at = { ...key, sessionId: target.sessionId ?? "", filename: target.filename };
      number = target.version;
    }
  }

  /** Returns the names of the files of a session and of its user, in order of their bytes. */
  async listArtifactKeys(key: Omit<FileKey, "filename">): Promise<string[]> {
    return await this.sessiond.names(key);
  }

  /** Deletes all versions of a file, if there is one. Their numbers are not used again. */
  async deleteArtifact(key: FileKey): Promise<void> {
    await this.sessiond.delete(key);
  }

  /** Returns the numbers of the versions of a file, in ascending order. */
  async listVersions(key: FileKey): Promise<number[]> {
    return (await this.sessiond.versions(key)).map(({ version }) => version);
  }
}

/**
 * A memory service of `@iqai/adk` on sessiond: what agents remember of a user is what was said in the sessions of that user.
 *
 * Nothing is copied, so all that is stored is remembered at once, also if nobody calls `addSessionToMemory`; and what is rewound, redacted,
 * trimmed, expired, deleted or erased is not, from then on. The policy of the app has to say `{"search": {"index": true}}`, which is for
 * an operator to set. A memory is an event, found by the whole words of its text; case and accents do not count.
 *
 * What is refused rejects with a {@link SessiondError}.
 */
export class SessiondMemoryService implements BaseMemoryService {
  /** The service without the framework; `close` closes its connections. */
  readonly sessiond: Memories;

  /** Opens no connection yet. Takes the URL of sessiond, or all options. Throws `TypeError` if one cannot be used. */
  constructor(options: MemoryOptions | string = {}) {
    this.sessiond = new Memories(1, options);
  }

  /**
   * Sees that what was said in a session is remembered: if it is in sessiond, it is already. Of a session of another service, the events
   * are appended to the session `memories` of the user, each once.
   *
   * @throws SessionNotFoundError if the session was loaded from sessiond, and is not there any more.
   */
  async addSessionToMemory(session: Session): Promise<void> {
    await this.sessiond.add(session);
  }

  /**
   * Returns what the user and agents have said that has a word of the query, the best first: the text of each event, without thoughts.
   * What says just the query is left out, and a query without a word finds nothing.
   *
   * @throws SessiondError of the code `search_off` if the app has no index: the error says how an operator switches it on.
   */
  async searchMemory({
    appName,
    userId,
    query,
  }: {
    appName: string;
    userId: string;
    query: string;
  }): Promise<SearchMemoryResponse> {
    return { memories: await this.sessiond.search(appName, userId, query) };
  }
}
