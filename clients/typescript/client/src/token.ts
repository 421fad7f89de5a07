import { AccessError } from "./errors.js";

/** A credential, or a function that returns one. */
export type Token = string | (() => string | Promise<string>);

// What RFC 6750, section 2.1, lets a token consist of. Everything else would end as an error that shows the header.
const TOKEN = /^[A-Za-z0-9._~+/-]+=*$/;

/**
 * The value of `Authorization`, with a fixed token or those of a callback.
 *
 * The callback is asked when the first request needs a token, and once for all requests that wait when the server refuses
 * the one that it gave.
 */
export class Bearer {
  readonly #callback: (() => string | Promise<string>) | undefined;
  #token = "";
  // How many tokens there were: the callback may give the same one twice.
  #version = 0;
  #asking: Promise<void> | undefined;

  /** Asks for no token yet. Throws `TypeError`, without the token, if a fixed one cannot be sent. */
  constructor(token: Token) {
    if (typeof token === "string") {
      this.#token = checked(token);
      this.#version = 1;
    } else {
      this.#callback = token;
    }
  }

  /** Whether there can be another token after one was refused. */
  get renews(): boolean {
    return this.#callback !== undefined;
  }

  /** Returns the header and its version, after the callback was asked if there is none later than `version`. */
  async laterThan(version: number): Promise<{ header: string; version: number }> {
    while (this.#version <= version) {
      this.#asking ??= this.#ask().finally(() => {
        this.#asking = undefined;
      });
      await this.#asking;
    }
    return { header: `Bearer ${this.#token}`, version: this.#version };
  }

  async #ask(): Promise<void> {
    try {
      this.#token = checked(await this.#callback?.());
    } catch (error) {
      const kind = error instanceof Error ? error.name : typeof error;
      throw new AccessError(`The callback for the token failed: ${kind}.`, { cause: error });
    }
    this.#version += 1;
  }
}

/** Returns the token without white space around it, which a file may have. */
function checked(token: unknown): string {
  const trimmed = typeof token === "string" ? token.trim() : "";
  if (/^bearer /i.test(trimmed)) {
    throw new TypeError("The token is given without the word `Bearer`, which the client puts in front of it.");
  }
  if (!TOKEN.test(trimmed)) {
    throw new TypeError("The token is empty, or has characters that no token has.");
  }
  return trimmed;
}
