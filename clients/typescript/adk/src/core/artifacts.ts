import {
  type HttpOptions,
  type JsonObject,
  NotFoundError,
  Sessiond,
  type ArtifactVersion as Stored,
  type Artifacts as StoredFiles,
} from "@sessiond/client";
import { all, record, segment, sessionPath, trimmedId, userPath } from "@sessiond/client/internal";
import { SessiondInputError } from "./errors.js";
import { bytesOf } from "./wire.js";

/** What an artifact service needs to know of a framework's parts; one of its fields. */
export interface PartShape {
  text?: string | undefined;
  /** `data` is base64. */
  inlineData?:
    | { data?: string | undefined; mimeType?: string | undefined; displayName?: string | undefined }
    | undefined;
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

/**
 * The files of agents in one sessiond: what the artifact services of all frameworks have in common. Versions of a file count
 * 0, 1, 2, …. Bytes travel as they are, and are in memory as a whole, as in the frameworks' parts.
 */
export class Artifacts {
  readonly #client: Sessiond;

  /** Opens no connection yet. Throws `TypeError` if an option cannot be used. */
  constructor(options: HttpOptions | string = {}) {
    this.#client = new Sessiond(options);
  }

  /**
   * Saves a version of a file, once, also if the first answer gets lost, and returns its number. Of the part, its text, its
   * file data, or its inline data are kept. The session's log is not changed: a framework's runner appends the event that
   * names the version.
   *
   * @throws SessionNotFoundError if there is no such session.
   * @throws SessiondInputError if the part has nothing to save, or breaks a rule of sessiond.
   */
  async save(key: ArtifactKey, part: PartShape, metadata?: JsonObject): Promise<number> {
    // A user has no log.
    const options = { ...(isUsers(key) ? {} : { event: "none" as const }), metadata };
    const { inlineData, fileData, text } = part;
    const files = this.#files(key);
    if (inlineData) {
      const bytes = typeof inlineData.data === "string" ? bytesOf(inlineData.data) : undefined;
      if (bytes === undefined) throw new SessiondInputError("The data of an artifact's inlineData is not base64.");
      const { displayName } = inlineData;
      const contentType = inlineData.mimeType || undefined;
      return (await files.save(key.filename, bytes, { ...options, contentType, displayName })).version;
    }
    const data = fileData ? { fileUri: "", ...fileData } : text;
    if (data === undefined) throw new SessiondInputError("An artifact has inlineData, text or fileData.");
    return (await files.save(key.filename, data, options)).version;
  }

  /** Returns a version of a file, the latest one by default, as it was saved; undefined if there is none. */
  async load(key: ArtifactKey, version?: number): Promise<PartShape | undefined> {
    if (version !== undefined && !(Number.isSafeInteger(version) && version >= 0)) return undefined;
    const files = this.#files(key);
    return await found(async () => {
      const file = await files.get(key.filename, { version }).catch((error: unknown) => {
        if (error instanceof SessiondInputError) return undefined;
        throw error;
      });
      // Of file data there are no bytes.
      if (file === undefined) return await files.part(key.filename, { version });
      if (file.kind === "text") return { text: await file.text() };
      const { contentType: mimeType, displayName } = file;
      const data = (await file.bytes()).toString("base64");
      return { inlineData: { data, ...(mimeType && { mimeType }), ...(displayName !== undefined && { displayName }) } };
    });
  }

  /** Returns the names of the files of a session and of its user, or of the user alone, in order of their bytes. */
  async names(key: Place): Promise<string[]> {
    const listed =
      (await found(async () => await all(this.#files(key).list()))) ??
      // Without a session there are still those of the user.
      (await all(this.#files({ ...key, sessionId: "" }).list()));
    return listed.map(({ name }) => name);
  }

  /** Deletes all versions of a file, if there is one. Their numbers are not used again. */
  async delete(key: ArtifactKey): Promise<void> {
    await found(async () => await this.#files(key).delete(key.filename));
  }

  /** Returns what is known of the versions of a file, in ascending order. */
  async versions(key: ArtifactKey): Promise<ArtifactVersion[]> {
    const versions = await found(async () => await all(this.#files(key).versions(key.filename)));
    return (versions ?? []).map((one) => known(key, one));
  }

  /** Returns what is known of a version of a file, the latest one by default; undefined if there is none. */
  async version(key: ArtifactKey, version?: number): Promise<ArtifactVersion | undefined> {
    if (version !== undefined) return (await this.versions(key)).find((one) => one.version === version);
    const name = isUsers(key) && !key.filename.startsWith(USER) ? USER + key.filename : key.filename;
    // Of the names that begin with this one, it is the first.
    const latest = await found(async () => (await this.#files(key).list({ prefix: name }).next()).value);
    return latest?.name === name ? known(key, latest) : undefined;
  }

  /** Closes the connections. The service can be used again. */
  close(): void {
    this.#client.close();
  }

  #files(key: Partial<ArtifactKey> & Place): StoredFiles {
    const { appName, userId, sessionId = "" } = key;
    const owner = isUsers(key) ? this.#client.user(appName, userId) : this.#client.session(appName, userId, sessionId);
    return owner.artifacts;
  }
}

/** Returns undefined if there is no such session or file. */
async function found<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof NotFoundError) return undefined;
    throw error;
  }
}

function known(key: ArtifactKey, { version, mimeType, metadata }: Stored): ArtifactVersion {
  const { appName, userId, sessionId = "", filename } = key;
  const owner = isUsers(key) ? userPath(appName, userId) : sessionPath(appName, userId, sessionId);
  return {
    version,
    canonicalUri: `sessiond:/${owner.slice("/v1".length)}/artifacts${segment("name of the file", filename)}/versions/${version}`,
    ...(mimeType === undefined ? {} : { mimeType }),
    ...(metadata === undefined ? {} : { customMetadata: record(metadata) }),
  };
}

function isUsers({ sessionId = "", filename = "" }: Partial<ArtifactKey>): boolean {
  return trimmedId(sessionId) === "" || filename.startsWith(USER);
}
