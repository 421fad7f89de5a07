import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { after } from "node:test";

/** Returns the URL of a server that answers as it is told to, until the test ends. */
export async function stub(answer: RequestListener): Promise<string> {
  const http = createServer(answer);
  after(() => {
    http.closeAllConnections();
    http.close();
  });
  await new Promise<void>((done) => http.listen(0, "127.0.0.1", done));
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
}
