/** What the services of all frameworks have in common; for a service of a framework that has none here. */
export { type ArtifactKey, Artifacts, type ArtifactVersion, type PartShape, type Place } from "./artifacts.js";
export * from "./errors.js";
export type { HttpOptions } from "./http.js";
export { type Ops, opsOf, type Target } from "./ops.js";
export type { Dialect, EventShape, SessionFields, SessionShape } from "./session.js";
export {
  type ApplyOptions,
  type Filter,
  type MintedToken,
  type Operation,
  type Precondition,
  type SessiondOptions,
  Sessions,
} from "./sessions.js";
export type { Token } from "./token.js";
export { VERSION } from "./version.js";
export type { WatchItem, WatchRequest } from "./watch.js";
