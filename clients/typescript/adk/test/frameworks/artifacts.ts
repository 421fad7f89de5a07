// Files, in every framework: the cases that the frameworks have for their own services, and what sessiond adds.
import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { createServer as listen } from "node:net";
import { after, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Server } from "../../../support/server.js";
import { stub } from "../../../support/stub.js";
import {
  Artifacts,
  type PartShape,
  type SessiondError,
  SessiondInputError,
  SessionNotFoundError,
} from "../../src/core/index.js";
import { SessiondArtifactService as GoogleFiles } from "../../src/index.js";
import { SessiondArtifactService as IqaiFiles } from "../../src/iqai.js";
import { load, NAMES } from "../support/frameworks.js";
import { plain } from "../support/plain.js";

const server = await Server.shared();
const sessions = plain(server.url);

const bytes = (text: string, mimeType = "text/plain"): PartShape => ({
  inlineData: { data: Buffer.from(text).toString("base64"), mimeType },
});

/** An app with the session `s` of `ada`. */
async function newApp(): Promise<string> {
  const app = randomUUID();
  await sessions.create(app, "ada", {}, "s");
  return app;
}

for (const name of NAMES) {
  const framework = await load(name);
  const files = framework.files(server.url);
  describe(`files of ${name}`, () => {
    after(() => files.sessiond.close());

    for (const filename of ["file", "user:file"]) {
      it(`have versions from 0 on: ${filename}`, async () => {
        const app = await newApp();
        assert.equal(await files.load(app, "ada", "s", filename), undefined);
        assert.deepEqual(await files.versions(app, "ada", "s", filename), []);
        for (const version of [0, 1, 2]) {
          assert.equal(await files.save(app, "ada", "s", filename, bytes(`v${version}`)), version);
        }
        assert.deepEqual(await files.versions(app, "ada", "s", filename), [0, 1, 2]);
        assert.deepEqual(await files.load(app, "ada", "s", filename), bytes("v2"));
        for (const version of [0, 1, 2]) {
          assert.deepEqual(await files.load(app, "ada", "s", filename, version), bytes(`v${version}`));
        }
        assert.equal(await files.load(app, "ada", "s", filename, 3), undefined);
        assert.equal(await files.load(app, "ada", "s", filename, -4), undefined);
        await files.remove(app, "ada", "s", filename);
        await files.remove(app, "ada", "s", filename);
        assert.equal(await files.load(app, "ada", "s", filename), undefined);
        assert.equal(await files.load(app, "ada", "s", filename, 0), undefined);
        assert.deepEqual(await files.versions(app, "ada", "s", filename), []);
        assert.deepEqual(await files.list(app, "ada", "s"), []);
        // No later version has the number of one that was deleted.
        assert.equal(await files.save(app, "ada", "s", filename, bytes("v3")), 3);
      });
    }

    it("are listed with those of the user, in order", async () => {
      const app = await newApp();
      await sessions.create(app, "ada", {}, "other");
      for (const filename of ["b", "user:c", "a"]) await files.save(app, "ada", "s", filename, bytes("x"));
      await files.save(app, "ada", "other", "d", bytes("x"));
      assert.deepEqual(await files.list(app, "ada", "s"), ["a", "b", "user:c"]);
      assert.deepEqual(await files.list(app, "ada", "other"), ["d", "user:c"]);
      assert.deepEqual(await files.list(app, "ada", "no such session"), ["user:c"]);
      assert.deepEqual(await files.list(app, "bob", "s"), []);
      assert.deepEqual(await files.load(app, "ada", "other", "user:c"), bytes("x"));
      assert.equal(await files.load(app, "ada", "other", "a"), undefined);
    });

    it("of a session that is not there are none, and cannot be saved", async () => {
      const app = randomUUID();
      await assert.rejects(files.save(app, "ada", "s", "f", bytes("x")), (error: SessionNotFoundError) => {
        assert.ok(error instanceof SessionNotFoundError);
        assert.deepEqual([error.code, error.outcome], ["session_not_found", "not_applied"]);
        return true;
      });
      await assert.rejects(files.save(app, "ada", "s", "f", { text: "x" }), SessionNotFoundError);
      assert.equal(await files.load(app, "ada", "s", "f"), undefined);
      assert.deepEqual(await files.versions(app, "ada", "s", "f"), []);
      assert.deepEqual(await files.list(app, "ada", "s"), []);
      await files.remove(app, "ada", "s", "f");
      assert.equal(await files.save(app, "ada", "s", "user:f", bytes("x")), 0);
    });

    it("come back as they were saved", async () => {
      const app = await newApp();
      for (const part of [
        { text: "" },
        { text: "a “text”\0\r\n" },
        bytes("", "application/x-nothing"),
        { text: '{"like": "JSON"}' },
        bytes("bytes that look like a text"),
        bytes('{"a": 1}', "application/json"),
        bytes("<script>", 'text/html; charset="utf-8"'),
        { inlineData: { ...bytes("x").inlineData, displayName: 'My "Bericht" (ü) 100% + 1.png' } },
        { fileData: { fileUri: "gs://bucket/a file", mimeType: "image/png" } },
        { fileData: { fileUri: "gs://bucket/a file" } },
      ]) {
        const version = await files.save(app, "ada", "s", "f", part);
        assert.deepEqual(await files.load(app, "ada", "s", "f"), part);
        assert.deepEqual(await files.load(app, "ada", "s", "f", version), part);
      }
      await files.save(app, "ada", "s", "f", { inlineData: { data: "-_8" } });
      assert.deepEqual(await files.load(app, "ada", "s", "f"), {
        inlineData: { data: "+/8=", mimeType: "application/octet-stream" },
      });
    });

    it("may have any name", async () => {
      const app = await newApp();
      const names = ["a/b", "a/b/", "a", "a b", " ", "%", "%2F", "100%", "ä/ö 😀", "a?b#c", "..a", "a\\b", "versions"];
      names.push("user:x/ü %", "e\u0301", "é");
      for (const filename of names) assert.equal(await files.save(app, "ada", "s", filename, bytes(filename)), 0);
      for (const filename of names) {
        assert.deepEqual(await files.load(app, "ada", "s", filename), bytes(filename), filename);
        assert.deepEqual(await files.versions(app, "ada", "s", filename), [0], filename);
      }
      const sorted = names.map((filename) => Buffer.from(filename)).sort(Buffer.compare);
      assert.deepEqual(await files.list(app, "ada", "s"), sorted.map(String));
      for (const filename of names) await files.remove(app, "ada", "s", filename);
      assert.deepEqual(await files.list(app, "ada", "s"), []);
      await assert.rejects(files.save(app, "ada", "s", "..", bytes("x")), SessiondInputError);
    });

    it("may be large", async () => {
      const app = await newApp();
      const data = randomBytes(5 << 20).toString("base64");
      await files.save(app, "ada", "s", "large", { inlineData: { data, mimeType: "a/b" } });
      const part = await files.load(app, "ada", "s", "large");
      assert.ok(part?.inlineData?.data === data);
    });

    it("that are saved at the same time have versions without a gap", async () => {
      const app = await newApp();
      const saver = async (who: string): Promise<[number, string][]> => {
        const own = framework.files(server.url);
        const saved: [number, string][] = [];
        for (let n = 0; n < 10; n += 1) saved.push([await own.save(app, "ada", "s", "f", bytes(who + n)), who + n]);
        return saved;
      };
      const saved = (await Promise.all([saver("a"), saver("b")])).flat().sort(([a], [b]) => a - b);
      assert.deepEqual(
        saved.map(([version]) => version),
        Array.from({ length: 20 }, (_, n) => n),
      );
      for (const [version, text] of saved) {
        assert.deepEqual(await files.load(app, "ada", "s", "f", version), bytes(text));
      }
    });

    it("without anything to save are refused", async () => {
      const app = await newApp();
      for (const part of [{}, { inlineData: {} }, { inlineData: { data: "no base64!" } }, bytes("x", "a\nb")]) {
        await assert.rejects(files.save(app, "ada", "s", "f", part), SessiondInputError, JSON.stringify(part));
      }
      assert.deepEqual(await files.list(app, "ada", "s"), []);
    });
  });
}

describe("files of @google/adk", () => {
  it("have metadata", async () => {
    const files = new GoogleFiles(server.url);
    const key = { appName: await newApp(), userId: "ada", sessionId: "s", filename: "a b/ü" };
    const users = { ...key, sessionId: "no such session", filename: "user:f" };
    const customMetadata = { a: [1, "ü%&"], b: null };
    await files.saveArtifact({ ...key, artifact: bytes("x", "a/b"), customMetadata });
    await files.saveArtifact({ ...key, artifact: { text: "x" }, customMetadata });
    await files.saveArtifact({ ...key, artifact: { fileData: { fileUri: "gs://a" } } });
    await files.saveArtifact({ ...users, artifact: bytes("x") });
    const uri = `sessiond://apps/${key.appName}/users/ada/sessions/s/artifacts/a%20b%2F%C3%BC/versions`;
    const versions = (await files.listArtifactVersions(key)).map(({ customMetadata: more, ...one }) =>
      more === undefined ? one : { ...one, customMetadata: { ...more } },
    );
    assert.deepEqual(versions, [
      { version: 0, canonicalUri: `${uri}/0`, mimeType: "a/b", customMetadata },
      { version: 1, canonicalUri: `${uri}/1`, mimeType: "text/plain", customMetadata },
      { version: 2, canonicalUri: `${uri}/2` },
    ]);
    assert.deepEqual(await files.getArtifactVersion(key), versions[2]);
    assert.equal((await files.getArtifactVersion({ ...key, version: 1 }))?.canonicalUri, `${uri}/1`);
    assert.equal(await files.getArtifactVersion({ ...key, version: 3 }), undefined);
    assert.deepEqual(await files.getArtifactVersion(users), {
      version: 0,
      canonicalUri: `sessiond://apps/${key.appName}/users/ada/artifacts/user%3Af/versions/0`,
      mimeType: "text/plain",
    });
    // Another one begins with this name.
    await files.saveArtifact({ ...key, filename: "file2", artifact: { text: "x" } });
    for (const filename of ["file", "user:", "a b"]) {
      assert.equal(await files.getArtifactVersion({ ...key, filename }), undefined);
      assert.deepEqual(await files.listArtifactVersions({ ...key, filename }), []);
    }
    for (const metadata of [{ n: Number.NaN }, { text: "x".repeat(9000) }]) {
      const save = files.saveArtifact({ ...key, artifact: { text: "x" }, customMetadata: metadata });
      await assert.rejects(save, SessiondInputError);
    }
  });
});

describe("files of @iqai/adk", () => {
  it("are counted from the latest by negative versions", async () => {
    const files = new IqaiFiles(server.url);
    const key = { appName: await newApp(), userId: "ada", sessionId: "s", filename: "f" };
    for (const text of ["a", "b"]) await files.saveArtifact({ ...key, artifact: { text } });
    assert.deepEqual(await files.loadArtifact({ ...key, version: -1 }), { text: "b" });
    assert.deepEqual(await files.loadArtifact({ ...key, version: -2 }), { text: "a" });
    assert.equal(await files.loadArtifact({ ...key, version: -3 }), null);
  });

  it("follow references within a user and a session", async () => {
    const files = new IqaiFiles(server.url);
    const appName = await newApp();
    const key = { appName, userId: "ada", sessionId: "s" };
    await files.saveArtifact({ ...key, filename: "f", artifact: { text: "of the session" } });
    await files.saveArtifact({ ...key, filename: "user:g", artifact: { text: "of the user" } });
    const refer = async (fileUri: string) => {
      await files.saveArtifact({ ...key, filename: "ref", artifact: { fileData: { fileUri } } });
      return await files.loadArtifact({ ...key, filename: "ref" });
    };
    const user = `artifact://apps/${appName}/users/ada`;
    assert.deepEqual(await refer(`${user}/sessions/s/artifacts/f/versions/0`), { text: "of the session" });
    assert.deepEqual(await refer(`${user}/artifacts/user:g/versions/0`), { text: "of the user" });
    assert.deepEqual(await refer(`${user}/artifacts/g/versions/0`), { text: "of the user" });
    assert.equal(await refer(`${user}/sessions/s/artifacts/f/versions/1`), null);
    const elsewhere = [
      `${user}/sessions/t/artifacts/f/versions/0`,
      `artifact://apps/${appName}/users/bob/artifacts/g/versions/0`,
    ];
    for (const uri of [...elsewhere, "artifact://nonsense", `${user}/sessions/s/artifacts/ref/versions/7`]) {
      await assert.rejects(refer(uri), SessiondInputError, uri);
    }
  });
});

describe("the bytes of a file", () => {
  const key = { appName: "a", userId: "u", sessionId: "s", filename: "f" };

  it("may take longer than the limit, but not be silent for so long", async () => {
    // Longer than a busy machine stands still.
    const timeoutMs = 2000;
    const slow = await stub(async (_, response) => {
      response.writeHead(200, { "sessiond-artifact-kind": "bytes", "content-type": "a/b", etag: '"0-12345678"' });
      for (let n = 0; n < 20; n += 1) {
        await sleep(timeoutMs / 16);
        response.write("x");
      }
      response.end();
    });
    const files = new Artifacts({ url: slow, timeoutMs, retryForMs: 0 });
    assert.deepEqual(await files.load(key), bytes("x".repeat(20), "a/b"));

    const silent = listen(() => {});
    after(() => silent.close());
    await new Promise<void>((done) => silent.listen(0, "127.0.0.1", done));
    const { port } = silent.address() as { port: number };
    const impatient = new Artifacts({ url: `http://127.0.0.1:${port}`, timeoutMs, retryForMs: 0 });
    await assert.rejects(impatient.load(key), /ETIMEDOUT.*nothing came within 2 s/);
    const large = { inlineData: { data: Buffer.alloc(64 << 20).toString("base64") } };
    await assert.rejects(impatient.save(key, large), (error: SessiondError) => {
      assert.match(error.message, /ETIMEDOUT/);
      assert.equal(error.outcome, "unknown");
      return true;
    });
  });

  it("are sessiond's, or an error", async () => {
    const files = new Artifacts(await stub((_, response) => response.end("<html>")));
    await assert.rejects(files.load(key), /not sessiond's/);
  });

  it("are sent and read as they are", async () => {
    const seen: unknown[] = [];
    const url = await stub(async (request, response) => {
      const body: Buffer[] = [];
      for await (const chunk of request) body.push(chunk as Buffer);
      seen.push(request.method, request.url, request.headers["content-type"], Buffer.concat(body).toString("hex"));
      response.end(JSON.stringify({ version: 7 }));
    });
    const files = new Artifacts(url);
    assert.equal(await files.save(key, { inlineData: { data: "AP8=", mimeType: "a/b" } }), 7);
    assert.deepEqual(seen, ["PUT", "/v1/apps/a/users/u/sessions/s/artifacts/f?event=none", "a/b", "00ff"]);
  });
});
