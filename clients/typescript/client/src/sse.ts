/** An event of a stream of server-sent events. */
export interface Frame {
  /** Its `event:`, `message` if it has none. */
  name: string;
  /** Its lines of `data:`, joined by line feeds. */
  data: string;
  /** The last `id:` of the stream: its own, else that of an earlier frame. */
  id: string;
}

const DAY_MS = 86_400_000;

/**
 * Reads one stream of server-sent events (HTML standard, section 9.2.6), in chunks that may be cut anywhere, also within a
 * character or a line's end. What comes after the last blank line is no frame: the stream was cut there.
 */
export class Parser {
  /** The last `retry:` of the stream, in milliseconds, at most a day. */
  retry: number | undefined;
  // It takes a byte order mark away.
  readonly #decoder = new TextDecoder();
  #rest = "";
  #afterCr = false;
  #name = "";
  #data: string[] = [];
  #id: string;

  /** Takes the id that the stream begins behind. */
  constructor(lastId = "") {
    this.#id = lastId;
  }

  /** Returns the frames that end within this chunk. */
  feed(chunk: Uint8Array): Frame[] {
    let text = this.#decoder.decode(chunk, { stream: true });
    if (text === "") return [];
    // A CRLF is one end of a line, and its halves may come apart.
    if (this.#afterCr && text.startsWith("\n")) text = text.slice(1);
    this.#afterCr = text === "" ? false : text.endsWith("\r");
    const lines = text.split(/\r\n|\n|\r/);
    lines[0] = this.#rest + lines[0];
    this.#rest = lines.pop() ?? "";
    return lines.map((line) => this.#take(line)).filter((frame) => frame !== undefined);
  }

  #take(line: string): Frame | undefined {
    if (line === "") return this.#end();
    // A line that begins with a colon is a comment: its field is empty.
    const [, field, value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (field === "data") this.#data.push(value);
    else if (field === "event") this.#name = value;
    else if (field === "id" && !value.includes("\0")) this.#id = value;
    else if (field === "retry" && /^\d+$/.test(value)) this.retry = Math.min(Number(value), DAY_MS);
    return undefined;
  }

  #end(): Frame | undefined {
    const frame = { name: this.#name || "message", data: this.#data.join("\n"), id: this.#id };
    const whole = this.#data.length > 0;
    this.#name = "";
    this.#data = [];
    return whole ? frame : undefined;
  }
}
