import { randomUUID } from "node:crypto";
import { InputError, SessiondError } from "./errors.js";
import { type Bytes, type CallOptions, type Http, nameOf, type Reply, refusal, segment, success } from "./http.js";
import { type JsonObject, toJson } from "./json.js";
import { items, texts } from "./pages.js";

/** What is known of a version of a file. Times are Unix seconds. */
export interface ArtifactVersion {
  name: string;
  /** 0, 1, 2, …; never used again. */
  version: number;
  /** `uri` is a file that is elsewhere, and has no size here. */
  kind: "bytes" | "text" | "uri";
  mimeType?: string;
  size?: number;
  /** In hex. */
  sha256?: string;
  createTime: number;
  metadata?: JsonObject;
  displayName?: string;
  fileUri?: string;
  /** The revision of the session, in the answer to a save that appended an event. */
  revision?: number;
}

/** A file that is elsewhere. */
export interface FileAddress {
  fileUri: string;
  mimeType?: string | undefined;
}

/** How a version is saved. */
export interface SaveOptions extends CallOptions {
  /** The media type of bytes: `application/octet-stream` by default. */
  contentType?: string | undefined;
  /** Kept with the version: up to 8 KiB of JSON. */
  metadata?: JsonObject | undefined;
  /** A name for people. Of bytes alone. */
  displayName?: string | undefined;
  /**
   * In a session: whether the same transaction appends an event that names the version (`append`, the default), or the log stays as
   * it is (`none`).
   */
  event?: "append" | "none" | undefined;
  /** The author of that event: `user` by default. */
  author?: string | undefined;
  /** The invocation of that event. */
  invocationId?: string | undefined;
  /** The number of the version, above all that the file has had; the next one by default. */
  version?: number | undefined;
  /** If this is not the latest version, nothing is saved, and it rejects with `StaleError`; null: there must be none. */
  ifVersion?: number | null | undefined;
}

/** Which version of a file. */
export interface VersionOptions extends CallOptions {
  /** This one; the latest by default. */
  version?: number | undefined;
  /** In a session: the one that the events up to this revision name. */
  at?: number | undefined;
}

// How often the bytes of a file may break off without a byte more.
const MOST_BREAKS = 5;

/** A version of a file, whose bytes are read when somebody asks for them, once. */
export class Artifact implements AsyncIterable<Uint8Array> {
  readonly name: string;
  readonly version: number;
  /** `text` is one that was saved as a text. */
  readonly kind: "bytes" | "text";
  readonly contentType: string | undefined;
  /** The name for people that the save gave. */
  readonly displayName: string | undefined;
  /** How many bytes it has; undefined if a proxy has changed the form in which they come. */
  readonly size: number | undefined;
  readonly #read: () => AsyncIterable<Buffer>;

  /** @internal */
  constructor(name: string, reply: Reply, read: () => AsyncIterable<Buffer>) {
    const { etag = "", "content-type": type, "content-length": size, "sessiond-artifact-kind": kind } = reply.headers;
    const { "sessiond-artifact-display-name": displayName } = reply.headers;
    this.name = name;
    this.version = Number(/^"(\d+)-/.exec(etag)?.[1]);
    if (kind === undefined || Number.isNaN(this.version)) {
      throw new SessiondError(`The answer with status ${reply.status} is not sessiond's.`, { status: reply.status });
    }
    this.kind = kind === "text" ? "text" : "bytes";
    this.contentType = type;
    this.displayName = displayName === undefined ? undefined : decodeURIComponent(String(displayName));
    this.size = size === undefined ? undefined : Number(size);
    this.#read = read;
  }

  /** Yields the bytes as they come. Where the connection breaks, it goes on behind the last byte. */
  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return this.#read()[Symbol.asyncIterator]();
  }

  /** Returns all bytes. */
  async bytes(): Promise<Buffer> {
    const chunks: Buffer[] = [];
    for await (const chunk of this.#read()) chunks.push(chunk);
    return Buffer.concat(chunks);
  }

  /** Returns all bytes as a text in UTF-8. */
  async text(): Promise<string> {
    return (await this.bytes()).toString("utf8");
  }
}

/** The files of a session, or of a user. A name that begins with `user:` is the user's in both. */
export class Artifacts {
  readonly #http: Http;
  readonly #path: string;
  readonly #ofSession: boolean;
  readonly #headers: Record<string, string>;

  /** @internal */
  constructor(http: Http, path: string, ofSession = false, headers: Record<string, string> = {}) {
    this.#http = http;
    this.#path = `${path}/artifacts`;
    this.#ofSession = ofSession;
    this.#headers = headers;
  }

  /**
   * Saves a version of a file: a text, bytes, or the address of a file that is elsewhere. It is saved once, also if the first
   * answer gets lost, whole or not at all; when it is fulfilled, the file is on disk.
   *
   * Bytes are sent as they come. A stream can be read once, so there is one attempt; a function that returns one is called for
   * each attempt, as a program does that reads a file from disk: `() => createReadStream(path)`.
   */
  async save(name: string, data: string | Bytes | FileAddress, options: SaveOptions = {}): Promise<ArtifactVersion> {
    const { contentType, metadata, displayName, event, author, invocationId, version, ifVersion, ...call } = options;
    nameOf("name of the file", name);
    // By which sessiond knows what an attempt before has saved.
    const headers: Record<string, string> = { ...this.#headers, "idempotency-key": randomUUID() };
    if (ifVersion === null) headers["if-none-match"] = "*";
    else if (ifVersion !== undefined) headers["if-match"] = `"${ifVersion}"`;
    const said = { event, author, invocationId, version };
    if (isAddress(data) || (typeof data === "string" && contentType === undefined)) {
      if (displayName !== undefined) throw new InputError("Only bytes have a `displayName`.");
      const part = isAddress(data) ? { fileData: data } : { text: data };
      const body = { name, part, metadata, ...said };
      return version_(await this.#http.send("POST", this.#path, { ...call, body, headers }));
    }
    if (contentType !== undefined && !/^[\x20-\x7e]+$/.test(contentType)) {
      throw new InputError("The type of the file has characters that no type has.");
    }
    const file = { bytes: typeof data === "string" ? Buffer.from(data) : data, mimeType: contentType };
    const query = texts({ ...said, displayName, metadata: metadata && toJson(metadata) });
    return version_(await this.#http.send("PUT", this.#of(name), { ...call, file, query, headers }));
  }

  /**
   * Returns a version of a file, the latest one by default, to be read. Of a file that is elsewhere there are no bytes: it rejects with
   * `InputError`, and `part` says where it is.
   *
   * @throws NotFoundError if there is none.
   */
  async get(name: string, options: VersionOptions = {}): Promise<Artifact> {
    const { version, at, ...call } = options;
    const query = texts({ version, atRevision: at });
    const reply = await this.#http.send("GET", this.#of(name), { ...call, query, wantsFile: true });
    if (reply.file === undefined) throw refusal(reply);
    const artifact: Artifact = new Artifact(name, reply, () => this.#read(artifact, reply, call));
    return artifact;
  }

  /** Returns a version of a file as a part of a content: `text`, `inlineData` (in base64) or `fileData`. */
  async part(name: string, options: VersionOptions = {}): Promise<JsonObject> {
    const { version, at, ...call } = options;
    const query = texts({ version, atRevision: at, as: "part" });
    return success(await this.#http.send("GET", this.#of(name), { ...call, query }));
  }

  /**
   * Yields the latest version of each file, in order of the bytes of their names: of a session also those of its user. With `at` those
   * that the events up to this revision name.
   */
  list(
    options: { prefix?: string | undefined; at?: number | undefined } & CallOptions = {},
  ): AsyncGenerator<ArtifactVersion, void, undefined> {
    const { prefix, at, ...call } = options;
    return items(this.#http, this.#path, "artifacts", { prefix, atRevision: at }, call);
  }

  /** Yields what is known of the versions of a file, in ascending order. */
  versions(name: string, call?: CallOptions): AsyncGenerator<ArtifactVersion, void, undefined> {
    return items(this.#http, `${this.#of(name)}/versions`, "versions", {}, call);
  }

  /** Deletes all versions of a file, or one; also if there is none. Their numbers are not used again. */
  async delete(name: string, options: { version?: number | undefined } & CallOptions = {}): Promise<void> {
    const { version, ...call } = options;
    const request = { ...call, query: texts({ version }), headers: this.#ofSession ? this.#headers : {} };
    success(await this.#http.send("DELETE", this.#of(name), request));
  }

  #of(name: string): string {
    return this.#path + segment("name of the file", name);
  }

  async *#read({ name, version }: Artifact, first: Reply, call: CallOptions): AsyncGenerator<Buffer> {
    let reply = first;
    let read = 0;
    for (let breaks = 0; ; breaks += 1) {
      try {
        for await (const chunk of reply.file ?? []) {
          read += (chunk as Buffer).length;
          breaks = 0;
          yield chunk as Buffer;
        }
        if (reply.file?.complete) return;
      } catch (error) {
        call.signal?.throwIfAborted();
        if (breaks === MOST_BREAKS) {
          throw new SessiondError(`The bytes of the file ${name} broke off too often.`, { cause: error });
        }
      } finally {
        reply.file?.destroy();
      }
      const headers = { range: `bytes=${read}-`, "if-range": first.headers.etag ?? "" };
      const query = { version: String(version) };
      reply = await this.#http.send("GET", this.#of(name), { ...call, query, headers, wantsFile: true });
      if (reply.status !== 206) {
        reply.file?.destroy();
        throw reply.file === undefined ? refusal(reply) : new SessiondError(`The file ${name} has changed.`);
      }
    }
  }
}

function isAddress(data: string | Bytes | FileAddress): data is FileAddress {
  return typeof data === "object" && "fileUri" in data;
}

function version_(reply: Reply): ArtifactVersion {
  return success(reply) as unknown as ArtifactVersion;
}
