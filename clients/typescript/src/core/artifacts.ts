import { randomUUID } from "node:crypto";
import { SessiondError, SessiondInputError, SessionNotFoundError } from "./errors.js";
import { codeOf, details, Http, type HttpOptions, type Reply, segments, success } from "./http.js";
import { isObject, type JsonObject, record, toJson } from "./json.js";
import { bytesOf } from "./wire.js";

/** What an artifact service needs to know of a framework's parts; one of its fields. */
export interface PartShape {
  text?: string | undefined;
  /** `data` is base64. */
  inlineData?: { data?: string | undefined; mimeType?: string | undefined } | undefined;
  fileData?: object | undefined;
}

/** Whose files: those of a session, or of a user if `sessionId` is empty. */
export interface Place {
  appName: string;
  userId: string;
  sessionId?: string | undefined;
}

/** A file. If its name begins with `user:`, or there is no session, it is the user's. */
export interface ArtifactKey extends Place {
  filename: string;
}

/** What is known of a version of a file. */
export interface ArtifactVersion {
  version: number;
  /** `sessiond://` and the path of the version, which says where sessiond has it. */
  canonicalUri: string;
  /** Absent of file data without a type. */
  mimeType?: string;
  customMetadata?: JsonObject;
}

const USER = "user:";

// Whether what was read is bytes or a text.
const KIND = "sessiond-artifact-kind";

/**
 * The files of agents in one sessiond: what the artifact services of all frameworks have in common. Versions of a file count
 * 0, 1, 2, …. Bytes travel as they are, and are in memory as a whole, as in the frameworks' parts.
 */
export class Artifacts {
  readonly #http: Http;

  /** Opens no connection yet. Throws `TypeError` if an option cannot be used. */
  constructor(options: HttpOptions | string) {
    this.#http = new Http(typeof options === "string" ? { url: options } : options);
  }

  /**
   * Saves a version of a file, once, also if the first answer gets lost, and returns its number. Of the part, its text, its
   * file data, or the bytes and the type of its inline data are kept. The session's log is not changed: a framework's runner
   * appends the event that names the version.
   *
   * @throws SessionNotFoundError if there is no such session.
   * @throws SessiondInputError if the part has nothing to save, or breaks a rule of sessiond.
   */
  async save(key: ArtifactKey, part: PartShape, metadata?: JsonObject): Promise<number> {
    // By which sessiond knows what an attempt before has saved.
    const headers = { "idempotency-key": randomUUID() };
    // A user has no log.
    const event: { event?: "none" } = isUsers(key) ? {} : { event: "none" };
    let reply: Reply;
    if (part.inlineData) {
      const query = { ...event, ...(metadata === undefined ? {} : { metadata: toJson(metadata) }) };
      reply = await this.#http.send("PUT", file(key), { file: written(part.inlineData), query, headers });
    } else {
      const { text, fileData } = part;
      if (!fileData && typeof text !== "string") {
        throw new SessiondInputError("An artifact has inlineData, text or fileData.");
      }
      const body = { name: key.filename, part: fileData ? { fileData } : { text }, ...event, metadata };
      reply = await this.#http.send("POST", place(key, key.filename), { body, headers });
    }
    if (codeOf(reply) === "session_not_found") {
      throw new SessionNotFoundError(`Session ${key.sessionId} not found.`, details(reply));
    }
    return Number(success(reply)["version"]);
  }

  /** Returns a version of a file, the latest one by default, as it was saved; undefined if there is none. */
  async load(key: ArtifactKey, version?: number): Promise<PartShape | undefined> {
    if (version !== undefined && !(Number.isSafeInteger(version) && version >= 0)) return undefined;
    const query: Record<string, string> = version === undefined ? {} : { version: String(version) };
    const reply = await this.#http.send("GET", file(key), { query, wantsFile: true });
    if (reply.status === 422) {
      // Of file data there are no bytes.
      return found(await this.#http.send("GET", file(key), { query: { ...query, as: "part" } }));
    }
    if (reply.status !== 200) return found(reply);
    if (reply.headers[KIND] === "text") return { text: reply.bytes.toString("utf8") };
    if (reply.headers[KIND] === undefined) {
      throw new SessiondError("The answer with status 200 is not sessiond's.", { status: 200 });
    }
    const mimeType = reply.headers["content-type"];
    return { inlineData: { data: reply.bytes.toString("base64"), ...(mimeType === undefined ? {} : { mimeType }) } };
  }

  /** Returns the names of the files of a session and of its user, or of the user alone, in order of their bytes. */
  async names(key: Place): Promise<string[]> {
    const listed =
      (await this.#all(place(key), "artifacts")) ??
      // Without a session there are still those of the user.
      (await this.#all(place({ ...key, sessionId: "" }), "artifacts"));
    return (listed ?? []).map((one) => String(one["name"]));
  }

  /** Deletes all versions of a file, if there is one. Their numbers are not used again. */
  async delete(key: ArtifactKey): Promise<void> {
    found(await this.#http.send("DELETE", file(key)));
  }

  /** Returns what is known of the versions of a file, in ascending order. */
  async versions(key: ArtifactKey): Promise<ArtifactVersion[]> {
    return ((await this.#all(`${file(key)}/versions`, "versions")) ?? []).map((one) => known(key, one));
  }

  /** Returns what is known of a version of a file, the latest one by default; undefined if there is none. */
  async version(key: ArtifactKey, version?: number): Promise<ArtifactVersion | undefined> {
    if (version !== undefined) return (await this.versions(key)).find((one) => one.version === version);
    const name = isUsers(key) && !key.filename.startsWith(USER) ? USER + key.filename : key.filename;
    // Of the names that begin with this one, it is the first.
    const page = found(
      await this.#http.send("GET", place(key, key.filename), { query: { prefix: name, pageSize: "1" } }),
    );
    const [first] = (page?.["artifacts"] ?? []) as JsonObject[];
    return first?.["name"] === name ? known(key, first) : undefined;
  }

  /** Closes the connections. The service can be used again. */
  close(): void {
    this.#http.close();
  }

  /** Returns all of a list; undefined if there is no such session or file. */
  async #all(path: string, field: string): Promise<JsonObject[] | undefined> {
    const query: Record<string, string> = { pageSize: "1000" };
    const listed: JsonObject[] = [];
    for (;;) {
      const page = found(await this.#http.send("GET", path, { query }));
      if (page === undefined) return undefined;
      listed.push(...(page[field] as JsonObject[]));
      if (typeof page["nextPageToken"] !== "string") return listed;
      query["pageToken"] = page["nextPageToken"];
    }
  }
}

/** Returns the object of an answer; undefined if there is no such session or file. */
function found(reply: Reply): JsonObject | undefined {
  const code = codeOf(reply);
  return code === "session_not_found" || code === "artifact_not_found" ? undefined : success(reply);
}

function written({ data, mimeType }: NonNullable<PartShape["inlineData"]>): {
  bytes: Buffer;
  mimeType: string | undefined;
} {
  const bytes = typeof data === "string" ? bytesOf(data) : undefined;
  if (bytes === undefined) throw new SessiondInputError("The data of an artifact's inlineData is not base64.");
  if (mimeType && !/^[\x20-\x7e]+$/.test(mimeType)) {
    throw new SessiondInputError("The type of an artifact has characters that no type has.");
  }
  return { bytes, mimeType: mimeType || undefined };
}

function known(key: ArtifactKey, stored: JsonObject): ArtifactVersion {
  const { version, mimeType, metadata } = stored;
  return {
    version: Number(version),
    canonicalUri: `sessiond:/${file(key).slice("/v1".length)}/versions/${version}`,
    ...(typeof mimeType === "string" ? { mimeType } : {}),
    ...(isObject(metadata) ? { customMetadata: record(metadata) } : {}),
  };
}

function isUsers({ sessionId = "", filename = "" }: Partial<ArtifactKey>): boolean {
  return sessionId.trim() === "" || filename.startsWith(USER);
}

/** The path of the files of a session; of those of its user for a name that is one of theirs. */
function place(key: Place, filename = ""): string {
  const { appName, userId, sessionId = "" } = key;
  const session = isUsers({ ...key, filename }) ? "" : `/sessions${segments(sessionId.trim())}`;
  return `/v1/apps${segments(appName)}/users${segments(userId)}${session}/artifacts`;
}

function file(key: ArtifactKey): string {
  return place(key, key.filename) + segments(key.filename);
}
