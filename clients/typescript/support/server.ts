import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

// `run-tests` makes it absolute; from the folder of this package otherwise.
const BIN = resolve(process.env["SESSIOND_BIN"] ?? "../../target/debug/sessiond");

// Ends the server when the pipe ends from which it reads: when the tests say so, or are gone. Ends with the server.
const GUARD =
  'exec 3<&0; "$@" </dev/null & server=$!; { read -r _ <&3; kill -9 $server; } >/dev/null 2>&1 & wait $server';

/** A port on which nobody listens. */
export async function freePort(): Promise<number> {
  const listener = createServer();
  await new Promise<void>((done) => listener.listen(0, "127.0.0.1", done));
  const { port } = listener.address() as { port: number };
  await new Promise((done) => listener.close(done));
  return port;
}

/** A sessiond on SQLite in a temporary folder, which can be stopped and started again at its address. */
export class Server {
  readonly folder = mkdtempSync(join(tmpdir(), "sessiond-ts-"));
  readonly port: number;
  static #shared: Promise<Server> | undefined;
  readonly #options: string[];
  #process: ChildProcess | undefined;

  private constructor(port: number, options: string[]) {
    this.port = port;
    this.#options = options;
  }

  static async start(...options: string[]): Promise<Server> {
    const server = new Server(await freePort(), options);
    await server.start();
    return server;
  }

  /** The server that all suites of a process share. */
  static async shared(): Promise<Server> {
    Server.#shared ??= Server.start();
    return await Server.#shared;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async start(): Promise<void> {
    const database = `sqlite://${join(this.folder, "db")}`;
    const command = [BIN, "serve", "--database-url", database, "--listen", `127.0.0.1:${this.port}`, ...this.#options];
    let log = "";
    const { SESSIOND_TOKEN: _, ...env } = process.env;
    const child = spawn("sh", ["-c", GUARD, "guard", ...command], {
      // A busy machine may take longer to open a file than a server should.
      env: { SESSIOND_ACQUIRE_TIMEOUT: "20s", ...env },
      stdio: ["pipe", "pipe", "pipe"],
    });
    child.stdout.on("data", (chunk) => {
      log += chunk;
    });
    child.stderr.on("data", (chunk) => {
      log += chunk;
    });
    let ended = false;
    child.on("exit", () => {
      ended = true;
    });
    this.#process = child;
    for (let tries = 0; tries < 600; tries += 1) {
      const ready = await fetch(`${this.url}/readyz`).catch(() => undefined);
      if (ready?.ok) return;
      if (ended) break;
      await sleep(50);
    }
    await this.stop();
    throw new Error(`The server does not answer:\n${log}`);
  }

  /** Ends the process at once, as a crash would. */
  async stop(): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (child === undefined || child.exitCode !== null) return;
    const gone = new Promise((done) => child.once("exit", done));
    child.stdin?.end();
    await gone;
  }

  async remove(): Promise<void> {
    await this.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
