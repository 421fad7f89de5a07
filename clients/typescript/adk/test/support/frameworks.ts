import type { JsonObject } from "@sessiond/client";
import type {
  Artifacts,
  EventShape,
  PartShape,
  SessiondOptions,
  SessionShape,
  Sessions,
} from "../../src/core/index.js";
import { eventFromWire, eventToWire } from "../../src/core/wire.js";

/** A session of any of the frameworks. */
export type AnySession = SessionShape<AnyEvent>;

/** An event of any of the frameworks. */
export interface AnyEvent extends EventShape {
  id: string;
  author?: string;
  timestamp: number;
  content?: { role?: string; parts?: { text?: string }[] };
  actions: { stateDelta: Record<string, unknown>; [field: string]: unknown };
}

/** Of what a test makes an event; `timestamp` in seconds. */
export interface EventFields {
  id?: string;
  author?: string;
  invocationId?: string;
  timestamp?: number;
  text?: string;
  role?: string;
  stateDelta?: Record<string, unknown>;
  artifactDelta?: Record<string, number>;
  partial?: boolean;
}

/** A framework's session service, with the framework's signatures made one. */
export interface Service {
  sessiond: Sessions<AnySession, AnyEvent>;
  create(app: string, user: string, state?: Record<string, unknown>, id?: string): Promise<AnySession>;
  get(
    app: string,
    user: string,
    id: string,
    config?: { numRecentEvents?: number; afterTimestamp?: number },
  ): Promise<AnySession | undefined>;
  list(app: string, user: string): Promise<AnySession[]>;
  remove(app: string, user: string, id: string): Promise<void>;
  append(session: AnySession, event: AnyEvent): Promise<AnyEvent>;
}

/** A framework's artifact service, with the framework's signatures made one. */
export interface Files {
  sessiond: Artifacts;
  save(app: string, user: string, session: string, filename: string, part: PartShape): Promise<number>;
  /** Returns undefined if there is none, as which the framework may have null. */
  load(app: string, user: string, session: string, filename: string, version?: number): Promise<PartShape | undefined>;
  list(app: string, user: string, session: string): Promise<string[]>;
  remove(app: string, user: string, session: string, filename: string): Promise<void>;
  versions(app: string, user: string, session: string, filename: string): Promise<number[]>;
}

/** A framework. */
export interface Framework {
  name: string;
  /** Its units of time in a second. */
  ticks: number;
  service(options: SessiondOptions | string): Service;
  files(options: SessiondOptions | string): Files;
  event(fields: EventFields): AnyEvent;
  /** Reads an event as it is stored. */
  read(stored: JsonObject): AnyEvent;
  /** Writes an event as it is to be stored. */
  write(event: AnyEvent): JsonObject;
  /** The session's state as plain data. */
  state(session: AnySession): Record<string, unknown>;
}

export const NAMES = ["google", "iqai", "adk-typescript"] as const;

/** Loads a framework. */
export async function load(name: string): Promise<Framework> {
  switch (name) {
    case "google":
      return await google();
    case "iqai":
      return await iqai();
    case "adk-typescript":
      return await adkTypescript();
    default:
      throw new Error(`There is no framework ${name}; there are ${NAMES.join(", ")}.`);
  }
}

// What differs in type alone is made one by these casts: that is what this file is for.
type Any = never;

async function google(): Promise<Framework> {
  const { createEvent, createEventActions } = await import("@google/adk");
  const { SessiondArtifactService, SessiondSessionService } = await import("../../src/index.js");
  return {
    name: "google",
    ...wire(new SessiondSessionService("http://127.0.0.1:1").sessiond),
    ticks: 1000,
    service: (options) => named(new SessiondSessionService(options)),
    files: (options) => filesOf(new SessiondArtifactService(options)),
    event: (fields) =>
      createEvent({
        ...common(fields, 1000),
        actions: createEventActions(deltas(fields)),
      }) as Any,
    state: (session) => plain((session as Any as { state: object }).state),
  };
}

async function iqai(): Promise<Framework> {
  const { Event, EventActions } = await import("@iqai/adk");
  const { SessiondArtifactService, SessiondSessionService } = await import("../../src/iqai.js");
  return {
    name: "iqai",
    ...wire(new SessiondSessionService("http://127.0.0.1:1").sessiond),
    ticks: 1,
    service: (options) => {
      const service = new SessiondSessionService(options);
      return {
        sessiond: service.sessiond as Any,
        create: async (app, user, state, id) => (await service.createSession(app, user, state, id)) as Any,
        get: async (app, user, id, config) => (await service.getSession(app, user, id, config)) as Any,
        list: async (app, user) => (await service.listSessions(app, user)).sessions as Any,
        remove: (app, user, id) => service.deleteSession(app, user, id),
        append: async (session, event) => (await service.appendEvent(session as Any, event as Any)) as Any,
      };
    },
    files: (options) => filesOf(new SessiondArtifactService(options)),
    event: (fields) => new Event({ ...common(fields, 1), actions: new EventActions(deltas(fields)) }) as Any,
    state: (session) => plain((session as Any as { state: object }).state),
  };
}

async function adkTypescript(): Promise<Framework> {
  // It tells the console whatever it does.
  console.log = () => {};
  const { Event, EventActions } = await import("adk-typescript/events");
  const { SessiondArtifactService, SessiondSessionService } = await import("../../src/adk-typescript.js");
  return {
    name: "adk-typescript",
    ...wire(new SessiondSessionService("http://127.0.0.1:1").sessiond),
    ticks: 1,
    service: (options) => named(new SessiondSessionService(options)),
    files: (options) => filesOf(new SessiondArtifactService(options)),
    event: (fields) => new Event({ ...common(fields, 1), actions: new EventActions(deltas(fields)) }) as Any,
    state: (session) => plain((session as Any as { state: { getAll(): object } }).state.getAll()),
  };
}

/** What the session services of two frameworks can do, which take what they are given by name. */
interface SessionService {
  sessiond: unknown;
  createSession(request: Any): Promise<unknown>;
  getSession(request: Any): Promise<unknown>;
  listSessions(request: Any): Promise<{ sessions: unknown }>;
  deleteSession(request: Any): Promise<void>;
  appendEvent(request: Any): Promise<unknown>;
}

function named(service: SessionService): Service {
  return {
    sessiond: service.sessiond as Any,
    create: async (appName, userId, state, sessionId) => {
      const more = { ...(state ? { state } : {}), ...(sessionId === undefined ? {} : { sessionId }) };
      return (await service.createSession({ appName, userId, ...more } as Any)) as Any;
    },
    get: async (appName, userId, sessionId, config) => {
      const more = config ? { config } : {};
      return ((await service.getSession({ appName, userId, sessionId, ...more } as Any)) ?? undefined) as Any;
    },
    list: async (appName, userId) => (await service.listSessions({ appName, userId } as Any)).sessions as Any,
    remove: (appName, userId, sessionId) => service.deleteSession({ appName, userId, sessionId } as Any),
    append: async (session, event) => (await service.appendEvent({ session, event } as Any)) as Any,
  };
}

/** What the artifact services of all frameworks can do. */
interface ArtifactService {
  sessiond: Artifacts;
  saveArtifact(request: Any): Promise<number>;
  loadArtifact(request: Any): Promise<unknown>;
  listArtifactKeys(request: Any): Promise<string[]>;
  deleteArtifact(request: Any): Promise<void>;
  listVersions(request: Any): Promise<number[]>;
}

function filesOf(service: ArtifactService): Files {
  return {
    sessiond: service.sessiond,
    save: (appName, userId, sessionId, filename, artifact) =>
      service.saveArtifact({ appName, userId, sessionId, filename, artifact } as Any),
    load: async (appName, userId, sessionId, filename, version) => {
      const more = version === undefined ? {} : { version };
      return ((await service.loadArtifact({ appName, userId, sessionId, filename, ...more } as Any)) ??
        undefined) as Any;
    },
    list: (appName, userId, sessionId) => service.listArtifactKeys({ appName, userId, sessionId } as Any),
    remove: (appName, userId, sessionId, filename) =>
      service.deleteArtifact({ appName, userId, sessionId, filename } as Any),
    versions: (appName, userId, sessionId, filename) =>
      service.listVersions({ appName, userId, sessionId, filename } as Any),
  };
}

function wire({ dialect }: { dialect: unknown }): Pick<Framework, "read" | "write"> {
  return {
    read: (stored) => eventFromWire(dialect as Any, stored) as Any,
    write: (event) => eventToWire(dialect as Any, event as Any),
  };
}

function deltas({ stateDelta = {}, artifactDelta = {} }: EventFields) {
  return { stateDelta, artifactDelta };
}

function common(fields: EventFields, ticks: number) {
  const { id, author = "user", invocationId = "", timestamp, text, role, partial } = fields;
  return {
    ...(id === undefined ? {} : { id }),
    author,
    invocationId,
    ...(timestamp === undefined ? {} : { timestamp: Math.round(timestamp * 1e6) / (1e6 / ticks) }),
    ...(text === undefined ? {} : { content: { ...(role === undefined ? {} : { role }), parts: [{ text }] } }),
    ...(partial === undefined ? {} : { partial }),
  };
}

function plain(state: object): Record<string, unknown> {
  return { ...state };
}
