// What people and models said, without a framework: the cases of clients/wire/conversation.json, and of a server.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { it } from "node:test";
import { served } from "../../support/served.js";
import { conversation, type JsonObject, type Message, type NewEvent, NotFoundError, text } from "../src/index.js";

const { db } = await served();

/** Returns a message as the file of cases has it. */
function written({ calls, files, ...rest }: Message): JsonObject {
  const named = files.map(({ bytes, ...file }) => ({
    ...file,
    ...(bytes ? { base64: Buffer.from(bytes).toString("base64") } : {}),
  }));
  return { ...rest, ...(calls.length > 0 ? { calls } : {}), ...(named.length > 0 ? { files: named } : {}) };
}

const cases = JSON.parse(readFileSync("../wire/conversation.json", "utf8")) as {
  promise: string;
  events: JsonObject[];
  messages: JsonObject[];
}[];
for (const { promise, events, messages } of cases) {
  it(promise, () => assert.deepEqual(conversation(events).map(written), messages));
}

it("tells the effective history of a session", async () => {
  const session = db.session("cafe", "ada", randomUUID());
  await assert.rejects(session.conversation(), NotFoundError);
  const called: NewEvent = {
    author: "barista",
    invocationId: "one",
    timestamp: 2,
    content: { role: "model", parts: [{ functionCall: { id: "c", name: "brew", args: { tea: "green" } } }] },
  };
  const answered: NewEvent = {
    author: "barista",
    invocationId: "one",
    timestamp: 3,
    content: { role: "user", parts: [{ functionResponse: { id: "c", name: "brew", response: { cups: 1 } } }] },
  };
  const users = (said: string, timestamp: number, invocationId: string): NewEvent => ({
    author: "user",
    content: text("user", said),
    timestamp,
    invocationId,
  });
  const events = [users("A tea, please.", 1, "one"), called, answered, users("No, coffee.", 4, "two")];
  await session.append(events, { create: true });
  await session.rewind({ beforeInvocation: "two" });
  await session.append(users("Thank you.", 5, "three"));
  const messages = await session.conversation();
  assert.deepEqual(
    messages.map(({ sequence, author, role, text: said }) => [sequence, author, role, said]),
    [
      [1, "user", "user", "A tea, please."],
      [2, "barista", "model", ""],
      [6, "user", "user", "Thank you."],
    ],
  );
  assert.deepEqual(messages[1]?.calls, [{ id: "c", name: "brew", args: { tea: "green" }, result: { cups: 1 } }]);
  const later = await session.conversation({ after: 2 });
  assert.deepEqual(
    later.map(({ text: said }) => said),
    ['[brew answered: {"cups":1}]', "Thank you."],
  );
  const compaction = {
    startTimestamp: 1,
    endTimestamp: 4,
    compactedContent: { role: "model", parts: [{ text: "A tea was had." }] },
  };
  await session.append({ author: "user", timestamp: 6, actions: { compaction } });
  assert.deepEqual(
    (await session.conversation()).map(({ author, text: said }) => [author, said]),
    [
      ["model", "A tea was had."],
      ["user", "Thank you."],
    ],
  );
});
