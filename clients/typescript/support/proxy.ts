import { connect, createServer, type Server as Listener, type Socket } from "node:net";

/** A TCP proxy that can break connections. */
export class FaultyProxy {
  /** So many of the next answers are lost: the request is forwarded, and the connection is cut when its answer begins. */
  lost = 0;
  /** So many of the next connections are cut before anything is forwarded. */
  refused = 0;
  /** Connections that were made. */
  connections = 0;
  /** Requests that were forwarded. */
  requests = 0;
  /** Bytes of answers that were forwarded. */
  answered = 0;
  readonly #target: number;
  readonly #open = new Set<Socket>();
  readonly #listener: Listener;

  constructor(target: number) {
    this.#target = target;
    this.#listener = createServer((client) => this.#accept(client));
  }

  /** It need not be closed: an open one does not keep the process running, also of a test that has failed. */
  static async start(target: number): Promise<FaultyProxy> {
    const proxy = new FaultyProxy(target);
    proxy.#listener.unref();
    await new Promise<void>((done) => proxy.#listener.listen(0, "127.0.0.1", done));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#listener.address() as { port: number }).port}`;
  }

  /** Cuts the connections that there are. */
  cut(): void {
    for (const socket of this.#open) socket.destroy();
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise((done) => this.#listener.close(done));
  }

  #accept(client: Socket): void {
    this.connections += 1;
    if (this.refused > 0) {
      this.refused -= 1;
      client.resetAndDestroy();
      return;
    }
    const server = connect(this.#target, "127.0.0.1");
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#open.add(socket);
      socket.unref();
      socket.on("error", () => {});
      socket.on("close", () => {
        this.#open.delete(socket);
        other.destroy();
      });
    }
    client.on("data", (chunk: Buffer) => {
      if (/^[A-Z]+ \//.test(chunk.toString("latin1", 0, 10))) this.requests += 1;
      server.write(chunk);
    });
    server.on("data", (chunk) => {
      if (this.lost > 0) {
        this.lost -= 1;
        client.destroy();
      } else {
        this.answered += chunk.length;
        client.write(chunk);
      }
    });
  }
}
