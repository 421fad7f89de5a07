/**
 * A client for sessiond, without any framework.
 *
 * ```ts
 * const session = new Sessiond("http://127.0.0.1:8080").session("cafe", "ada", "s1");
 * await session.append({ author: "user", content: text("user", "A green tea") }, { create: true });
 * ```
 */
export type { Artifact, Artifacts, ArtifactVersion, FileAddress, SaveOptions, VersionOptions } from "./artifacts.js";
export { type Hit, type Hits, type MintedToken, type SearchOptions, Sessiond, type SessionsOptions } from "./client.js";
export { type Attachment, type Call, conversation, type Message, type Told } from "./conversation.js";
export * from "./errors.js";
export * from "./events.js";
export type { Bytes, CallOptions, HttpOptions } from "./http.js";
export type { JsonObject } from "./json.js";
export type { KeyChange, StateHistoryOptions } from "./key-history.js";
export type { OperatorOptions } from "./operators.js";
export type {
  AppendOptions,
  ApplyOptions,
  ConversationOptions,
  CreateOptions,
  EventsOptions,
  GetOptions,
  LeaseOptions,
  Metadata,
  Session,
  SessionInfo,
  StateOptions,
  StoredSession,
  Turn,
} from "./session.js";
export type { App, User } from "./shared.js";
export type { Token } from "./token.js";
export { VERSION } from "./version.js";
export type { WatchItem, WatchOptions } from "./watch.js";
