// The parser of server-sent events.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Parser } from "../src/sse.js";

describe("the parser", () => {
  const stream = Buffer.from(
    "\ufeff: comment\r\nevent: a\r\ndata: 1\r\ndata:  2\rid: x\n\ndata\n\nid: y\n\nretry: 7\nretry: z\nid: a\0b\ndata: é日🍵\n\nevent: cut\ndata: 3\n",
  );
  const expected = [
    { name: "a", data: "1\n 2", id: "x" },
    { name: "message", data: "", id: "x" },
    { name: "message", data: "é日🍵", id: "y" },
  ];

  it("reads a stream in one piece, and cut at each place", () => {
    for (let place = 0; place <= stream.length; place += 1) {
      const parser = new Parser();
      const frames = [...parser.feed(stream.subarray(0, place)), ...parser.feed(stream.subarray(place))];
      assert.deepEqual([frames, parser.retry], [expected, 7], String(place));
    }
  });

  it("reads a stream byte by byte", () => {
    const parser = new Parser("before");
    const frames = [...stream].flatMap((byte) => parser.feed(Uint8Array.of(byte)));
    assert.deepEqual(frames, expected);
    assert.deepEqual(parser.feed(Buffer.from("\n")).length, 1);
  });
});
