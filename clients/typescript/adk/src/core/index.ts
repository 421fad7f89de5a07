/** What the services of all frameworks have in common; for a service of a framework that has none here. */
export {
  type HttpOptions,
  type MintedToken,
  type Operation,
  type Precondition,
  type Token,
  VERSION,
} from "@sessiond/client";
export { type ArtifactKey, Artifacts, type ArtifactVersion, type PartShape, type Place } from "./artifacts.js";
export * from "./errors.js";
export { Memories, type Memory, type MemoryOptions, type Said } from "./memory.js";
export { type Ops, opsOf, type Target } from "./ops.js";
export type { Dialect, EventShape, SessionFields, SessionShape } from "./session.js";
export { type ApplyOptions, type Filter, type SessiondOptions, Sessions } from "./sessions.js";
export type { WatchItem, WatchRequest } from "./watch.js";
