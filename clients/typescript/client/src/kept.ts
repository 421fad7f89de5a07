// What the adapters of frameworks share: objects that are too large for an event are files of its session, as in Python.
import { createHash, randomUUID } from "node:crypto";
import type { Sessiond } from "./client.js";
import { NotFoundError, SessiondError } from "./errors.js";
import type { NewEvent, StoredEvent } from "./events.js";
import { codeOf, segment, success } from "./http.js";
import { isObject, type JsonObject } from "./json.js";
import { sessionPath } from "./paths.js";
import type { Session } from "./session.js";
import { digest, parsed, textOfPacked, unpacked } from "./verbatim.js";

// Bytes from which on an object is a file: fewer, if what goes into one request would be more than that together.
const LARGE = [20, 18, 16, 14, 12].map((bits) => 1 << bits);
const TOGETHER = 6 << 20;

// Of one request of several: half of what a server takes.
const [MOST_EVENTS, MOST_BYTES] = [500, 4 << 20];

/** Yields what has events in parts that a request takes, at least one at a time. */
export function* batches<T>(items: Iterable<T>, eventOf: (item: T) => NewEvent): Generator<T[]> {
  let batch: T[] = [];
  let bytes = 0;
  for (const item of items) {
    const more = size(JSON.stringify(eventOf(item)));
    if (batch.length > 0 && (batch.length === MOST_EVENTS || bytes + more > MOST_BYTES)) {
      yield batch;
      [batch, bytes] = [[], 0];
    }
    batch.push(item);
    bytes += more;
  }
  if (batch.length > 0) yield batch;
}

/**
 * Returns events that are to be appended at once; objects (`packed`) that are too large for that are files of the session, whose names begin
 * with `prefix`.
 *
 * The files are saved when this is fulfilled, each once for an event. The events name them, so that copies of the session have them, too.
 *
 * @throws InputError if one is larger than a file may be.
 * @throws NotFoundError if there is no such session, and it is not to be made.
 */
export async function withFiles(
  client: Sessiond,
  session: Session,
  events: readonly NewEvent[],
  prefix: string,
  create = true,
): Promise<NewEvent[]> {
  const most = largest(events);
  const result: NewEvent[] = [];
  for (const event of events) {
    const { content, ...rest } = event;
    const id = event.id ?? randomUUID();
    const made: NewEvent = content !== undefined && size(JSON.stringify(content)) > most ? { ...rest } : { ...event };
    const artifactDelta: Record<string, number> = {};
    for (const [field, { name: _, json, more }] of packedIn(event)) {
      const bytes = Buffer.from(json);
      if (bytes.length <= most) continue;
      const sha256 = createHash("sha256").update(bytes).digest("hex");
      // One for each event: to remove what this one has takes nothing from others.
      const name = prefix + digest(id, sha256);
      const version = await save(client, session, name, bytes, create);
      made.id = id;
      made.customMetadata = { ...made.customMetadata, [field]: { file: { name, sha256, version }, ...more } };
      artifactDelta[name] = version;
    }
    if (Object.keys(artifactDelta).length > 0) made.actions = { ...made.actions, artifactDelta };
    result.push(made);
  }
  return result;
}

/**
 * Returns the object of a framework in an event; undefined if there is none, or if its author cannot have said it: of who is but a user,
 * only what `maySay` allows is believed, as who may append as `user` could otherwise put words into an agent's mouth.
 *
 * @throws SessiondError if its file is gone, or is another one.
 */
export async function said(
  session: Session,
  event: StoredEvent,
  framework: string,
  field: string,
  maySay: (value: unknown) => boolean,
): Promise<unknown> {
  const { customMetadata, author } = event;
  const kept = isObject(customMetadata) ? customMetadata[framework] : undefined;
  if (!isObject(kept)) return undefined;
  if (author !== "user") return await objectIn(session, kept, field);
  try {
    const value = await objectIn(session, kept, field);
    return maySay(value) ? value : undefined;
  } catch (error) {
    // It has not the form of what an adapter writes.
    if (error instanceof SyntaxError || error instanceof TypeError) return undefined;
    throw error;
  }
}

async function objectIn(session: Session, kept: JsonObject, field: string): Promise<unknown> {
  const { file } = kept;
  if (!isObject(file) || Object.keys(file).sort().join() !== "name,sha256,version") return unpacked(kept, field);
  const { name, sha256, version } = file as { name: string; sha256: string; version: number };
  let bytes: Buffer;
  try {
    bytes = await (await session.artifacts.get(name, { version })).bytes();
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
    const { status, code, requestId } = error;
    const message = `The file ${name} of the session is gone: redact the event that names it to go on without it.`;
    throw new SessiondError(message, { status, code, requestId, cause: error });
  }
  if (createHash("sha256").update(bytes).digest("hex") !== sha256) {
    throw new SessiondError(`The file ${name} of the session is not what an event says that it is.`);
  }
  return parsed(bytes.toString("utf8"));
}

async function save(
  { http }: Sessiond,
  session: Session,
  name: string,
  bytes: Buffer,
  create: boolean,
): Promise<number> {
  const path = `${sessionPath(session.app, session.user, session.id)}/artifacts${segment("name of the file", name)}`;
  for (;;) {
    const file = { bytes, mimeType: "application/json" };
    // By the key, the same again is the version that it was.
    const headers = { "idempotency-key": name };
    const reply = await http.send("PUT", path, { file, query: { event: "none" }, headers });
    if (codeOf(reply) !== "session_not_found" || !create) return Number(success(reply)["version"]);
    await session.create({ existOk: true });
  }
}

/** Returns from which size on what is in events, which are one request, is too large for it. */
function largest(events: readonly NewEvent[]): number {
  const sizes = events.flatMap((event) => [
    ...packedIn(event).map(([, { json }]) => size(json)),
    ...(event.content === undefined ? [] : [size(JSON.stringify(event.content))]),
  ]);
  const together = (most: number): number => sizes.reduce((sum, one) => sum + (one <= most ? one : 0), 0);
  return LARGE.find((most) => together(most) <= TOGETHER) ?? 0;
}

function packedIn({ customMetadata = {} }: NewEvent): [string, NonNullable<ReturnType<typeof textOfPacked>>][] {
  return Object.entries(customMetadata).flatMap(([field, value]) => {
    const packed = textOfPacked(value);
    return packed === undefined ? [] : [[field, packed] as [string, typeof packed]];
  });
}

function size(text: string): number {
  return Buffer.byteLength(text);
}
