import { after } from "node:test";
import { Sessiond } from "../client/src/index.js";
import { Server } from "./server.js";

/** A server for the tests of a file, and a client of it. Both end with the tests. */
export async function served(...options: string[]): Promise<{ server: Server; db: Sessiond }> {
  const server = await Server.start(...options);
  const db = new Sessiond(server.url);
  after(async () => {
    db.close();
    await server.remove();
  });
  return { server, db };
}
