/**
 * Keeps the sessions and the files of `adk-typescript` in sessiond.
 *
 * Frozen: it is kept working, and gets no new feature. `adk-typescript` 1.0.3 does not load by itself where file names have a case, as on
 * Linux.
 *
 * ```ts
 * const url = "http://127.0.0.1:8080";
 * const [sessionService, artifactService] = [new SessiondSessionService(url), new SessiondArtifactService(url)];
 * const runner = new Runner({ appName, agent, sessionService, artifactService });
 * ```
 */

import type { JsonObject } from "@sessiond/client";
import { nameOf } from "@sessiond/client/internal";
import { CallbackContext, type ReadonlyContext } from "adk-typescript/agents";
import type { ArtifactParams, BaseArtifactService } from "adk-typescript/artifacts";
import { Event as AdkEvent, EventActions } from "adk-typescript/events";
import {
  BaseSessionService,
  type Event,
  type GetSessionConfig,
  type SessionInterface,
  type SessionsList,
  State,
} from "adk-typescript/sessions";
import {
  Artifacts,
  type HttpOptions,
  type Ops,
  opsOf,
  type SessiondOptions,
  SessionNotFoundError,
  Sessions,
} from "./core/index.js";

export * from "./shared.js";

// Of each session object, the service that it comes from: the runner of `adk-typescript` 1.0.3 puts a session where the
// context of an invocation has its session service.
const origins = new WeakMap<object, SessiondSessionService>();

interface Key {
  appName: string;
  userId: string;
  sessionId: string;
}

/**
 * A session service of `adk-typescript` on sessiond. Times are Unix seconds, as everywhere in `adk-typescript`.
 *
 * When `appendEvent` is fulfilled, the event and all its state changes are on disk, and every later read through any process
 * shows them. If it rejects, the session object and the event are as they were before, and the same event may be appended
 * again: its id makes sure that it is stored once. Concurrent writers of different keys never undo one another.
 *
 * What is refused rejects with a {@link SessiondError}. The runner of `adk-typescript` catches what an append of an agent's
 * event rejects with, writes it to the console, and goes on.
 */
export class SessiondSessionService extends BaseSessionService {
  /** What sessiond can do beyond what `adk-typescript` asks of a session service: operators, watch, turns, tokens. */
  readonly sessiond: Sessions<SessionInterface, Event>;

  /** Opens no connection yet. Takes the URL of sessiond, or all options. Throws `TypeError` if one cannot be used. */
  constructor(options: SessiondOptions | string = {}) {
    super();
    this.sessiond = new Sessions<SessionInterface, Event>(
      {
        ticks: 1,
        session: ({ state, ...fields }) => {
          const session = { ...fields, state: new State(state) };
          origins.set(session, this);
          return session;
        },
        event: ({ actions, longRunningToolIds, ...fields }) => {
          const { requestedAuthConfigs, ...others } = actions;
          const event = Object.assign(new AdkEvent({ author: "" }), fields, {
            actions: Object.assign(new EventActions(), others, {
              requestedAuthConfigs: new Map(Object.entries(requestedAuthConfigs ?? {})),
            }),
            ...(Array.isArray(longRunningToolIds) ? { longRunningToolIds: new Set(longRunningToolIds) } : {}),
          });
          return event as unknown as Event;
        },
        written: ({ longRunningToolIds, actions: { requestedAuthConfigs, ...actions } = {}, ...event }) => ({
          ...event,
          ...(longRunningToolIds === undefined ? {} : { longRunningToolIds: [...longRunningToolIds] }),
          actions: {
            ...actions,
            requestedAuthConfigs:
              requestedAuthConfigs instanceof Map ? Object.fromEntries(requestedAuthConfigs) : requestedAuthConfigs,
          },
        }),
        state: (session) => session.state.getAll(),
        assign,
        applied: (session, event, temporary) => {
          assign(session, temporary, []);
          const delta = event.actions?.stateDelta ?? {};
          for (const key of Object.keys(delta).filter((name) => name.startsWith("temp:"))) delete delta[key];
          assign(session, delta, []);
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
  override async createSession(request: {
    appName: string;
    userId: string;
    state?: Record<string, unknown>;
    sessionId?: string;
  }): Promise<SessionInterface> {
    return await this.sessiond.create(request.appName, request.userId, request.state, request.sessionId);
  }

  /**
   * Returns a session with its merged state and its events, as of one moment; null if there is none. The server limits the
   * events: first to the last `numRecentEvents` (0: none), of these to those not before `afterTimestamp`.
   */
  override async getSession({ config, ...key }: Key & { config?: GetSessionConfig }): Promise<SessionInterface | null> {
    return (await this.sessiond.get(key, config)) ?? null;
  }

  /** Returns the sessions of a user, without events and state, by last update, the latest at the end. */
  override async listSessions({ appName, userId }: { appName: string; userId: string }): Promise<SessionsList> {
    return { sessions: await this.sessiond.list(appName, nameOf("id of the user", userId), "asc", false) };
  }

  /** Deletes a session with its events and its own state, if there is one. App and user state stay. */
  override async deleteSession(key: Key): Promise<void> {
    await this.sessiond.delete(key);
  }

  /**
   * Changes the state of a session, through an event of its own, and returns the session without its events.
   *
   * @throws SessionNotFoundError if there is no such session.
   */
  override async updateSessionState(
    appName: string,
    userId: string,
    sessionId: string,
    stateDelta: Record<string, unknown>,
  ): Promise<SessionInterface> {
    const session = await this.sessiond.get({ appName, userId, sessionId }, { numRecentEvents: 0 });
    if (session === undefined) throw new SessionNotFoundError(`Session ${sessionId} not found.`, { status: 404 });
    const event = new AdkEvent({ author: "user", actions: new EventActions({ stateDelta: { ...stateDelta } }) });
    await this.sessiond.append(session, event as unknown as Event);
    return session;
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
  override async appendEvent({ session, event }: { session: SessionInterface; event: Event }): Promise<Event> {
    return await this.sessiond.append(session, event);
  }
}

/** The operators, for every context of `adk-typescript`: of tools, of callbacks, of agents. */
export const ops: Ops<ReadonlyContext> = opsOf<ReadonlyContext>((context) => {
  // It has no public way from every kind of context to the session.
  const { session } = context["invocationContext"];
  const service = origins.get(session);
  if (service === undefined) {
    throw new TypeError("The operators need a runner whose session service is a SessiondSessionService.");
  }
  return {
    author: context.agentName,
    invocationId: context.invocationId,
    apply: async (operations, options): Promise<JsonObject> => {
      const values = await service.sessiond.apply(session as unknown as SessionInterface, operations, options);
      // The state of a tool or callback is a copy, made when it was called.
      if (context instanceof CallbackContext) {
        assign(
          context,
          values,
          operations.map(({ key }) => key).filter((key) => !(key in values)),
        );
      }
      return values;
    },
  };
});

/** Changes a state without a pending change of another key getting lost: `update` drops what is pending. */
function assign({ state }: { state: State }, set: JsonObject, removed: readonly string[]): void {
  state.update({ ...state.getDelta(), ...set });
  for (const key of removed) state.delete(key);
}

/**
 * An artifact service of `adk-typescript` on sessiond: the files of agents, beside their sessions.
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
  async saveArtifact({ artifact, ...key }: ArtifactParams): Promise<number> {
    return await this.sessiond.save(key, artifact ?? {});
  }

  /** Returns a version of a file, the latest one by default; undefined if there is none. */
  async loadArtifact({ version, ...key }: ArtifactParams): Promise<ArtifactParams["artifact"]> {
    return (await this.sessiond.load(key, version)) as ArtifactParams["artifact"];
  }

  /** Returns the names of the files of a session and of its user, in order of their bytes. */
  async listArtifactKeys(key: Omit<ArtifactParams, "filename">): Promise<string[]> {
    return await this.sessiond.names(key);
  }

  /** Deletes all versions of a file, if there is one. Their numbers are not used again. */
  async deleteArtifact(key: ArtifactParams): Promise<void> {
    await this.sessiond.delete(key);
  }

  /** Returns the numbers of the versions of a file, in ascending order. */
  async listVersions(key: ArtifactParams): Promise<number[]> {
    return (await this.sessiond.versions(key)).map(({ version }) => version);
  }
}
