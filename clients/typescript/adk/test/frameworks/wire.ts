// One wire form in all languages: the golden events that each client reads and writes.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import type { JsonObject } from "@sessiond/client";
import { isObject } from "@sessiond/client/internal";
import { type AnyEvent, type Framework, load, NAMES } from "../support/frameworks.js";

interface Case {
  name: string;
  event: JsonObject;
  written?: JsonObject;
  written_by?: Record<string, JsonObject>;
  texts?: string[];
}

const wire = new URL("../../../../../wire/", import.meta.url);
const golden = (JSON.parse(readFileSync(new URL("events.json", wire), "utf8")) as { events: Case[] }).events;

function named(id: string): JsonObject {
  const found = golden.find((one) => one.event["id"] === id);
  assert.ok(found);
  return structuredClone(found.event);
}

for (const name of NAMES) {
  describe(`${name}, golden events`, async () => {
    const framework: Framework = await load(name);
    const { read, write } = framework;

    for (const one of golden) {
      it(`reads and writes whole: ${one.name}`, () => {
        const expected = one.written_by?.[name] ?? one.written ?? one.event;
        const event = read({ ...structuredClone(one.event), sequence: 1, commitTime: 1 });
        assert.deepEqual(plain(write(event)), expected);
        // So it is after it was stored and read once more.
        assert.deepEqual(plain(write(read(plain(write(event))))), expected);
        if (one.texts !== undefined) {
          assert.deepEqual(
            event.content?.parts?.map((part) => part.text),
            one.texts,
          );
        }
      });
    }

    it("shows bytes in the standard alphabet, whichever they are stored in", () => {
      for (const id of ["golden-url", "golden-standard"]) {
        const [first, second] = parts(read(named(id)));
        assert.equal(first?.["thoughtSignature"], "+//+P+8=");
        assert.deepEqual(second?.["inlineData"], { mimeType: "image/png", data: "+//+" });
      }
      // What a tool answered is the tool's.
      assert.deepEqual(parts(read(named("golden-standard")))[2]?.["functionResponse"], {
        name: "f",
        response: { data: "+//+", thoughtSignature: "+//+P+8" },
        parts: [{ inlineData: { mimeType: "image/png", data: "+gE=" } }],
      });
    });

    it("shows a compaction in seconds, and metadata as an object, whoever wrote them", () => {
      for (const id of ["golden-compaction", "golden-millis"]) {
        const { compaction } = read(named(id)).actions as unknown as { compaction: JsonObject };
        assert.deepEqual([compaction["startTimestamp"], compaction["endTimestamp"]], [1795579734.88, 1795579738.25]);
      }
      const { customMetadata } = read(named("golden-list")) as AnyEvent & { customMetadata?: object };
      assert.deepEqual({ ...customMetadata }, { trace: "abc", n: 2.5, tags: ["a", "b"] });
    });

    it("writes what was changed since it was read as it is now", () => {
      const event = read(named("golden-broken"));
      event.content = { role: "model", parts: [{ text: "other" }] };
      assert.deepEqual(plain(write(event))["content"], { role: "model", parts: [{ text: "other" }] });
    });
  });
}

function parts(event: AnyEvent): JsonObject[] {
  return (event.content?.parts ?? []) as JsonObject[];
}

/** As JSON says it. */
function plain(value: JsonObject): JsonObject {
  const said: unknown = JSON.parse(JSON.stringify(value));
  assert.ok(isObject(said));
  return said;
}
