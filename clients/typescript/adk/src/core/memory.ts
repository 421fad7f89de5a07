import {
  ConflictError,
  type HttpOptions,
  InputError,
  NotFoundError,
  Sessiond,
  type StoredEvent,
  textOf,
} from "@sessiond/client";
import { batches, isObject } from "@sessiond/client/internal";
import { loaded } from "./sessions.js";
import { contentToWire, toSeconds } from "./wire.js";

/** How memories are read. */
export interface MemoryOptions extends HttpOptions {
  /** How many memories a search returns at most: 10 by default, up to 100. */
  limit?: number | undefined;
}

/** What was said: texts, without what a model thought. */
export interface Memory {
  content: { role?: string; parts: { text: string }[] };
  author: string;
  /** When, in ISO 8601. */
  timestamp: string;
}

/** What a memory service needs to know of a framework's events. */
export interface Said {
  id?: string | undefined;
  author?: string | undefined;
  timestamp?: number | undefined;
  content?: object | undefined;
}

// The session of a user that has what was said nowhere else.
const MEMORIES = "memories";

// The server gives no more.
const MOST = 100;

// Characters of a query that are sent: the server looks for 32 words.
const QUERY = 2000;

/** What agents remember of users in one sessiond: what the memory services of all frameworks have in common. */
export class Memories {
  readonly #client: Sessiond;
  readonly #limit: number;
  readonly #ticks: 1 | 1000;

  /** Opens no connection yet. `ticks` are those of a second in the framework. Throws `TypeError` if an option cannot be used. */
  constructor(ticks: 1 | 1000, options: MemoryOptions | string = {}) {
    const { limit = 10, ...rest } = typeof options === "string" ? { url: options } : options;
    if (!Number.isInteger(limit) || limit < 1 || limit > MOST) throw new TypeError(`\`limit\` is 1 to ${MOST}.`);
    this.#client = new Sessiond(rest);
    this.#limit = limit;
    this.#ticks = ticks;
  }

  /**
   * Returns what the user and agents have said that has a word of the query, the best first. What says just the query is left out: a runner
   * has stored the user's question before it is looked for. A query without a word finds nothing.
   *
   * @throws SessiondError of the code `search_off` if the app has no index.
   */
  async search(appName: string, userId: string, query: string): Promise<Memory[]> {
    const text = query.slice(0, QUERY).replace(/\p{Surrogate}/gu, "\ufffd");
    const limit = Math.min(2 * this.#limit, MOST);
    const { hits } = await this.#client.search(appName, userId, text, { limit }).catch((error: unknown) => {
      if (isAboutText(error)) return { hits: [] };
      throw error;
    });
    const asked = words(query);
    const said = hits.filter(({ event }) => words(textOf(event)) !== asked).map(({ event }) => memoryOf(event));
    return said.filter(({ content }) => content.parts.length > 0).slice(0, this.#limit);
  }

  /**
   * Sees that what was said in a session is remembered: if it is in sessiond, it is already. Of a session of another service, the events
   * are appended to the session `memories` of the user, each once, with their content, author and time, and without a change of state.
   *
   * @throws SessionNotFoundError if the session was loaded from sessiond, and is not there any more.
   */
  async add(session: { appName: string; userId: string; id: string; events: readonly Said[] }): Promise<void> {
    const { appName, userId, id, events } = session;
    const there = this.#client.session(appName, userId, id);
    if (loaded.has(session)) {
      await there.get({ last: 0 });
      return;
    }
    const said = new Map(events.filter(isSaid).map((event) => [event.id, event]));
    try {
      if (said.size > 0) {
        for await (const stored of there.events({ order: "desc" })) {
          said.delete(stored.id);
          if (said.size === 0) return;
        }
      }
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
    }
    const written = [...said.values()].map((event) => this.#written(event));
    const memories = this.#client.session(appName, userId, MEMORIES);
    const append = (some: StoredEvent[]): Promise<unknown> =>
      memories.append(some, { create: true, answer: "minimal" });
    for (const batch of batches(written, (event) => event)) {
      await append(batch).catch(async (error: unknown) => {
        if (!isKnown(error)) throw error;
        // Those that are there with another content stay.
        for (const event of batch) {
          await append([event]).catch((other: unknown) => {
            if (!isKnown(other)) throw other;
          });
        }
      });
    }
  }

  /** Closes the connections. The service can be used again. */
  close(): void {
    this.#client.close();
  }

  #written({ id, author, timestamp, content }: Said): StoredEvent {
    const time = timestamp === undefined ? {} : { timestamp: toSeconds(timestamp, this.#ticks) };
    return { id, author, ...time, content: contentToWire(content) } as StoredEvent;
  }
}

/** Whether the server refuses the text, which has no word. */
function isAboutText(error: unknown): boolean {
  return error instanceof InputError && error.status === 422 && error.message.includes("`text`");
}

function isKnown(error: unknown): boolean {
  return error instanceof ConflictError && error.code === "event_id_conflict";
}

function isSaid({ id, content }: Said): boolean {
  return Boolean(id) && isObject(content) && Array.isArray(content["parts"]) && content["parts"].length > 0;
}

function words(text: string): string {
  return text.trim().split(/\s+/).join(" ");
}

function memoryOf({ author, timestamp, content }: StoredEvent): Memory {
  const given = Array.isArray(content?.parts) ? content.parts.filter(isObject) : [];
  const parts = given.flatMap(({ text, thought }) =>
    typeof text === "string" && text !== "" && !thought ? [{ text }] : [],
  );
  const role = typeof content?.role === "string" ? { role: content.role } : {};
  return { content: { ...role, parts }, author, timestamp: new Date(timestamp * 1000).toISOString() };
}
