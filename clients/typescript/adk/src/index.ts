/**
 * Keeps the sessions, the files and the memory of `@google/adk` in sessiond.
 *
 * ```ts
 * const url = "http://127.0.0.1:8080";
 * const [sessionService, artifactService] = [new SessiondSessionService(url), new SessiondArtifactService(url)];
 * const runner = new Runner({ appName, agent, sessionService, artifactService });
 * ```
 */
import {
  type AppendEventRequest,
  type ArtifactVersion,
  type BaseArtifactService,
  type BaseMemoryService,
  BaseSessionService,
  type CreateSessionRequest,
  createEvent,
  createSession,
  type DeleteArtifactRequest,
  type DeleteSessionRequest,
  type Event,
  type EventActions,
  type GetSessionRequest,
  type ListArtifactKeysRequest,
  type ListSessionsRequest,
  type ListSessionsResponse,
  type ListVersionsRequest,
  type LoadArtifactRequest,
  type ReadonlyContext,
  type SaveArtifactRequest,
  type SearchMemoryRequest,
  type SearchMemoryResponse,
  type Session,
  State,
} from "@google/adk";
import type { JsonObject } from "@sessiond/client";
import { nameOf, put, trimmedId } from "@sessiond/client/internal";
import {
  Artifacts,
  type HttpOptions,
  Memories,
  type MemoryOptions,
  type Ops,
  opsOf,
  type SessiondOptions,
  Sessions,
} from "./core/index.js";
import { fromSeconds, toSeconds } from "./core/wire.js";

export * from "./shared.js";

/**
 * A session service of `@google/adk` on sessiond. Times are Unix milliseconds, as everywhere in `@google/adk`; in the store
 * they are seconds with microseconds.
 *
 * When `appendEvent` is fulfilled, the event and all its state changes are on disk, and every later read through any process
 * shows them. If it rejects, the session object and the event are as they were before, and the same event may be appended
 * again: its id makes sure that it is stored once. Concurrent writers of different keys never undo one another.
 *
 * What is refused rejects with a {@link SessiondError}.
 */
export class SessiondSessionService extends BaseSessionService {
  /** What sessiond can do beyond what `@google/adk` asks of a session service: operators, watch, turns, tokens. */
  readonly sessiond: Sessions<Session, Event>;

  /** Opens no connection yet. Takes the URL of sessiond, or all options. Throws `TypeError` if one cannot be used. */
  constructor(options: SessiondOptions | string = {}) {
    super();
    this.sessiond = new Sessions<Session, Event>(
      {
        ticks: 1000,
        session: createSession,
        event: (fields) => {
          const event = createEvent(fields as object as Partial<Event> & { actions: EventActions });
          // It takes 0 for absent.
          event.timestamp = Number(fields["timestamp"]);
          return times(event, (seconds) => fromSeconds(seconds, 1000));
        },
        written: (event) => times({ ...event }, (time) => toSeconds(time, 1000)),
        state: (session) => session.state,
        assign: (session, set, removed) => {
          for (const key of removed) delete session.state[key];
          for (const key of Object.keys(set)) put(session.state, key, set[key]);
        },
        applied: async (session, event, temporary) => {
          const prefix = State.TEMP_PREFIX;
          const names = State as { TEMP_PREFIX: string };
          let appended: Promise<Event>;
          try {
            // ADK knows the order in which keys were assigned, and leaves what a tool has assigned since. It tells that to
            // nobody but its base class, which leaves out `temp:` keys. It is back before anything else runs.
            names.TEMP_PREFIX = "\0";
            appended = super.appendEvent({ session, event });
          } finally {
            names.TEMP_PREFIX = prefix;
          }
          await appended;
          for (const key of Object.keys(temporary)) delete event.actions.stateDelta[key];
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
  override async createSession({ appName, userId, state, sessionId }: CreateSessionRequest): Promise<Session> {
    return await this.sessiond.create(appName, userId, state, sessionId);
  }

  /**
   * Returns a session, with merged state and all events, after creating it if there is none. Of several callers at once, one
   * creates it, and all get the same.
   */
  override async getOrCreateSession({ appName, userId, state, sessionId }: CreateSessionRequest): Promise<Session> {
    return sessionId !== undefined && trimmedId(sessionId) !== ""
      ? await this.sessiond.getOrCreate(appName, userId, state, sessionId)
      : await this.sessiond.create(appName, userId, state);
  }

  /**
   * Returns a session with its merged state and its events, as of one moment; undefined if there is none. The server limits
   * the events: first to the last `numRecentEvents` (0: none), of these to those not before `afterTimestamp`.
   */
  override async getSession({ config, ...key }: GetSessionRequest): Promise<Session | undefined> {
    return await this.sessiond.get(key, config);
  }

  /**
   * Returns the sessions of a user, or without a `userId` of all users of the app, without events and state, by last update: ascending unless
   * `order` says otherwise.
   *
   * The server's list has no numbered pages, so this one is read whole to count its items and pages, also for one page.
   */
  override async listSessions(request: ListSessionsRequest): Promise<ListSessionsResponse> {
    const { appName, limit, offset = 0, page, order = "asc" } = request;
    // One that is there and undefined is a mistake, and not all users.
    const userId = "userId" in request ? nameOf("id of the user", request.userId) : undefined;
    const sessions = await this.sessiond.list(appName, userId, order, false);
    const totalItems = sessions.length;
    if (limit === undefined) {
      return { sessions: sessions.slice(offset), page: 1, limit: totalItems, totalItems, totalPages: totalItems && 1 };
    }
    const start = page === undefined ? offset : (page - 1) * limit;
    return {
      sessions: sessions.slice(start, start + limit),
      page: page ?? (limit === 0 ? 1 : Math.floor(start / limit) + 1),
      limit,
      totalItems,
      totalPages: limit === 0 ? 0 : Math.ceil(totalItems / limit),
    };
  }

  /** Deletes a session with its events and its own state, if there is one. App and user state stay. */
  override async deleteSession(key: DeleteSessionRequest): Promise<void> {
    await this.sessiond.delete(key);
  }

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
  override async appendEvent({ session, event }: AppendEventRequest): Promise<Event> {
    return await this.sessiond.append(session, event);
  }
}

/** Converts the times of a compacted event, which are beside its timestamp; one beyond the year 9999 is in milliseconds. */
function times<T extends object>(event: T, convert: (time: number) => number): T {
  const compacted = event as T & { isCompacted?: unknown; startTime?: unknown; endTime?: unknown };
  if (compacted.isCompacted !== true) return event;
  if (typeof compacted.startTime === "number") compacted.startTime = convert(compacted.startTime);
  if (typeof compacted.endTime === "number") compacted.endTime = convert(compacted.endTime);
  return event;
}

/** The operators, for every context of `@google/adk` that leads to its invocation: of tools, of callbacks, of agents. */
export const ops: Ops<ReadonlyContext> = opsOf<ReadonlyContext>((context) => {
  const { sessionService: service, session } = context.invocationContext;
  if (!(service instanceof SessiondSessionService)) {
    throw new TypeError("The operators need a runner whose session service is a SessiondSessionService.");
  }
  return {
    author: context.agentName,
    invocationId: context.invocationId,
    apply: (operations, options): Promise<JsonObject> => service.sessiond.apply(session, operations, options),
  };
});

/**
 * An artifact service of `@google/adk` on sessiond: the files of agents, beside their sessions.
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
   * Saves a version of a file and returns its number. `customMetadata` is an object of up to 8 KiB of JSON.
   *
   * @throws SessionNotFoundError if there is no such session.
   * @throws SessiondInputError if the part has nothing to save, or it or the name breaks a rule of sessiond.
   */
  async saveArtifact({ artifact, customMetadata, ...key }: SaveArtifactRequest): Promise<number> {
    return await this.sessiond.save(key, artifact, customMetadata);
  }

  /** Returns a version of a file, the latest one by default; undefined if there is none. */
  async loadArtifact({ version, ...key }: LoadArtifactRequest): Promise<SaveArtifactRequest["artifact"] | undefined> {
    return (await this.sessiond.load(key, version)) as SaveArtifactRequest["artifact"] | undefined;
  }

  /** Returns the names of the files of a session and of its user, in order of their bytes. */
  async listArtifactKeys(key: ListArtifactKeysRequest): Promise<string[]> {
    return await this.sessiond.names(key);
  }

  /** Deletes all versions of a file, if there is one. Their numbers are not used again. */
  async deleteArtifact(key: DeleteArtifactRequest): Promise<void> {
    await this.sessiond.delete(key);
  }

  /** Returns the numbers of the versions of a file, in ascending order. */
  async listVersions(key: ListVersionsRequest): Promise<number[]> {
    return (await this.sessiond.versions(key)).map(({ version }) => version);
  }

  /** Returns what is known of the versions of a file, in ascending order. */
  async listArtifactVersions(key: ListVersionsRequest): Promise<ArtifactVersion[]> {
    return await this.sessiond.versions(key);
  }

  /** Returns what is known of a version of a file, the latest one by default; undefined if there is none. */
  async getArtifactVersion({ version, ...key }: LoadArtifactRequest): Promise<ArtifactVersion | undefined> {
    return await this.sessiond.version(key, version);
  }
}

/**
 * A memory service of `@google/adk` on sessiond: what agents remember of a user is what was said in the sessions of that user.
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
    this.sessiond = new Memories(1000, options);
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
  async searchMemory({ appName, userId, query }: SearchMemoryRequest): Promise<SearchMemoryResponse> {
    return { memories: await this.sessiond.search(appName, userId, query) };
  }
}
