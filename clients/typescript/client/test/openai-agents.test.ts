// The session of the OpenAI Agents SDK: it does what the SDK's own session in memory does, on one that outlives the process.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { it } from "node:test";
import { chances } from "../../support/chance.js";
import { FaultyProxy } from "../../support/proxy.js";
import { served } from "../../support/served.js";
import {
  ConflictError,
  InputError,
  type NewEvent,
  NotFoundError,
  Sessiond,
  StaleError,
  text,
  textOf,
} from "../src/index.js";
import { SessiondSession, type SessiondSessionOptions } from "../src/openai-agents.js";
import { all } from "../src/pages.js";
import type {
  AgentInputItem,
  ModelResponse,
  Session,
  SessionHistoryTransactionAwareSession,
} from "./openai-agents/node_modules/@openai/agents-core/dist/index.js";

const SDK = new URL("../../../client/test/openai-agents/node_modules/", import.meta.url).href;
const sdk = (await import(
  `${SDK}@openai/agents-core/dist/index.mjs`
)) as typeof import("./openai-agents/node_modules/@openai/agents-core/dist/index.js");
const { z } = (await import(`${SDK}zod/index.js`)) as typeof import("./openai-agents/node_modules/zod/index.js");
sdk.setTracingDisabled(true);

const { server, db } = await served();

function opened(id: string = randomUUID(), options: Partial<SessiondSessionOptions> = {}): SessiondSession {
  return new SessiondSession(id, { app: "cafe", user: "ada", client: db, ...options });
}

const said = (content: string): AgentInputItem => ({ type: "message", role: "user", content });
const answered = (text: string): AgentInputItem => ({
  type: "message",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text }],
});
const call = (callId: string, args = "{}"): AgentInputItem => ({
  type: "function_call",
  callId,
  name: "brew",
  status: "completed",
  arguments: args,
});
const texts = (items: AgentInputItem[]): unknown[] => items.map((item) => ("content" in item ? item.content : item));

it("is a session of the SDK, and begins empty", async () => {
  const session: Session & SessionHistoryTransactionAwareSession = opened("s1");
  assert.equal(await session.getSessionId(), "s1");
  assert.deepEqual([await session.getItems(), await session.getItems(3), await session.popItem()], [[], [], undefined]);
  await session.clearSession();
  await session.addItems([]);
  assert.ok(sdk.isSessionHistoryTransactionAwareSession(session) && sdk.isSessionHistoryRewriteAwareSession(session));
});

it("does what the SDK's own session does, also where answers are lost", async () => {
  const proxy = await FaultyProxy.start(server.port);
  const client = new Sessiond(proxy.url);
  const [id, model] = [randomUUID(), new sdk.MemorySession()];
  const chance = chances(7);
  for (let n = 0; n < 120; n += 1) {
    // Each time another process.
    const session = opened(id, { client });
    if (chance(10) < 3) proxy.lost = 1;
    const items = Array.from({ length: 1 + chance(4) }, (_, at) => (at % 2 ? call(`c${n}`) : said(`${n}.${at}`)));
    const held = await model.getItems();
    switch (chance(8)) {
      case 0:
      case 1:
        for (const one of [model, session]) await one.addItems(items);
        break;
      case 2:
      case 3:
        assert.deepEqual(await session.popItem(), await model.popItem());
        break;
      case 4: {
        const expectedSuffix = held.slice(held.length - Math.min(held.length, chance(4)));
        const transaction = { type: "replace_suffix", expectedSuffix, replacement: items } as const;
        for (const one of [model, session, session])
          await one.applyHistoryTransaction({ operationId: `o${n}`, transaction });
        break;
      }
      case 5: {
        const transaction = { type: "append_items", items } as const;
        for (const one of [model, session, session])
          await one.applyHistoryTransaction({ operationId: `o${n}`, transaction });
        break;
      }
      case 6: {
        const callId = `c${n - chance(6)}`;
        const replacement = call(callId, '{"hot":true}') as never;
        const mutations = [{ type: "replace_function_call", callId, replacement } as const];
        for (const one of [model, session]) await one.applyHistoryMutations({ mutations });
        break;
      }
      default:
        if (chance(5) === 0) for (const one of [model, session]) await one.clearSession();
    }
    proxy.lost = 0;
    assert.deepEqual(await session.getItems(), await model.getItems(), `after ${n}`);
    const limit = chance(5);
    assert.deepEqual(await session.getItems(limit), await model.getItems(limit), `after ${n}`);
  }
  client.close();
});

it("a change of the history is made once, and only if it fits", async () => {
  const session = opened();
  await session.addItems([said("1"), said("2"), said("3")]);
  const apply = (
    operationId: string,
    expectedSuffix: AgentInputItem[],
    ...replacement: AgentInputItem[]
  ): Promise<void> =>
    session.applyHistoryTransaction({
      operationId,
      transaction: { type: "replace_suffix", expectedSuffix, replacement },
    });
  await apply("a", [said("3")], said("4"));
  await session.addItems([said("5")]);
  await apply("a", [said("3")], said("4"));
  await assert.rejects(apply("a", [said("3")], said("other")), ConflictError);
  await assert.rejects(apply("b", [said("4")], said("6")), StaleError);
  await apply("c", [said("5")], said("5"));
  await apply("c", [said("5")], said("5"));
  assert.deepEqual(texts(await session.getItems()), ["1", "2", "4", "5"]);
  const append = (operationId: string, ...items: AgentInputItem[]): Promise<void> =>
    session.applyHistoryTransaction({ operationId, transaction: { type: "append_items", items } });
  await append("d", said("6"));
  await assert.rejects(append("d", said("6"), said("7")), ConflictError);
  await append("e");
  await assert.rejects(append("e", said("7")), ConflictError);
  await assert.rejects(append(" ", said("7")), InputError);
  await session.replaceHistoryWithCompaction([said("sum")]);
  assert.deepEqual(texts(await session.getItems()), ["sum"]);
});

it("two processes take back and add, and each item goes to one", async () => {
  const id = randomUUID();
  await opened(id).addItems(Array.from({ length: 20 }, (_, n) => said(`${n}`)));
  const popped = await Promise.all(Array.from({ length: 8 }, () => opened(id).popItem()));
  assert.equal(new Set(popped.map((item) => JSON.stringify(item))).size, 8);
  await Promise.all([opened(id).addItems([said("a"), said("b")]), opened(id).addItems([said("c"), said("d")])]);
  const rest = texts(await opened(id).getItems());
  assert.deepEqual(
    rest.slice(0, 12),
    Array.from({ length: 12 }, (_, n) => `${n}`),
  );
  assert.ok(["abcd", "cdab"].includes(rest.slice(12).join("")));
});

it("what others have written behind an item stays when it is taken back", async () => {
  const session = opened("shared");
  const handle = db.session("cafe", "ada", "shared");
  await session.addItems([said("1"), said("2"), said("3")]);
  await handle.append(
    { id: "x", author: "other", invocationId: "i", content: { parts: [{ text: "mine" }] } },
    { delta: { n: 1 } },
  );
  await session.addItems([said("4")]);
  for (const expected of ["4", "3"]) assert.deepEqual(texts([await session.popItem()]), [expected]);
  const left = await all(handle.events({ excludeRewound: true }));
  assert.deepEqual(left.map(textOf), ["1", "2", "mine"]);
  assert.deepEqual([left[2]?.author, left[2]?.invocationId, await handle.state("n")], ["other", "i", 1]);
  assert.deepEqual(texts(await session.getItems()), ["1", "2"]);
});

it("an input with a key is stored once", async () => {
  const session = opened();
  for (const text of ["answer", "another"]) {
    const turn = session.turn("message 7");
    // The runner reads what was said before, and adds its input to it.
    assert.equal(texts(await turn.getItems()).includes("tea"), false);
    await turn.addItems([said("tea")]);
    assert.ok(texts(await turn.getItems()).includes("tea"));
    await turn.addItems([answered(text)]);
  }
  assert.equal((await session.getItems()).length, 3);
  await assert.rejects(session.turn("message 7").addItems([said("tea"), said("cake")]), ConflictError);
});

it("branches before a turn, and counts what runs have spent once", async () => {
  const session = opened("trunk");
  assert.equal(await session.getSessionUsage(), undefined);
  assert.deepEqual(await session.listBranches(), []);
  await session.addItems([said("1"), answered("one")]);
  const turn = session.turn("m2");
  await turn.addItems([said("2")]);
  await turn.addItems([answered("two")]);
  const usage = { requests: 1, inputTokens: 10, outputTokens: 5, totalTokens: 15 };
  const inputTokensDetails = [{ cached_tokens: 3 }, { cached_tokens: 4 }];
  for (let times = 0; times < 2; times += 1) {
    await turn.storeRunUsage({ runContext: { usage: { ...usage, inputTokensDetails } } });
  }
  const [counted] = await all(db.session("cafe", "ada", "trunk").events({ last: 1 }));
  assert.deepEqual(counted?.customMetadata, {
    openai_usage: {
      requests: 1,
      input_tokens: 10,
      output_tokens: 5,
      total_tokens: 15,
      input_tokens_details: { cached_tokens: 7 },
      output_tokens_details: {},
    },
  });
  assert.deepEqual(await session.getSessionUsage(), { ...usage, totalTurns: 1 });
  const [whole, before] = [
    await session.branch("twig"),
    await session.branch(undefined, { beforeTurn: "m2", name: "Again" }),
  ];
  assert.equal((await whole.getItems()).length, 4);
  assert.deepEqual(texts(await before.getItems()).length, 2);
  await before.addItems([said("other")]);
  await before.storeRunUsage({ runContext: { usage } });
  assert.deepEqual(
    [await before.getSessionUsage(), await session.getSessionUsage()],
    [
      { ...usage, totalTurns: 1 },
      { ...usage, totalTurns: 1 },
    ],
  );
  assert.equal((await session.getItems()).length, 4);
  const branches = await session.listBranches();
  assert.deepEqual(
    branches.map(({ id, name }) => [id, name]),
    [
      ["twig", "twig"],
      [await before.getSessionId(), "Again"],
    ],
  );
  await assert.rejects(session.branch("twig"), ConflictError);
  await assert.rejects(session.branch(undefined, { beforeTurn: "m9" }), NotFoundError);
});

it("what was said can be read in the session, and what it is cleared with", async () => {
  const items: AgentInputItem[] = [
    said("half \ud800"),
    { type: "reasoning", content: [{ type: "input_text", text: "hm" }], rawContent: [] },
    call("c1", '{"what":"tea"}'),
    call("c2", "no JSON"),
    {
      type: "function_call_result",
      callId: "c1",
      name: "brew",
      status: "completed",
      output: { type: "text", text: "hot" },
    },
    answered("Coming up."),
  ];
  const session = opened("readable", { author: "waiter", clear: "trim" });
  await session.addItems(items);
  assert.deepEqual(await session.getItems(), items);
  const handle = db.session("cafe", "ada", "readable");
  const events = await all(handle.events());
  assert.deepEqual(
    events.map(({ author }) => author),
    ["user", "waiter", "waiter", "waiter", "waiter", "waiter"],
  );
  assert.deepEqual(
    [events[0], events[5]].map((event) => event && textOf(event)),
    ["half \ufffd", "Coming up."],
  );
  assert.deepEqual(events[2]?.content?.parts?.[0]?.functionCall, { id: "c1", name: "brew", args: { what: "tea" } });
  assert.deepEqual(events[3]?.content?.parts?.[0]?.functionCall?.args, {});
  assert.equal(events[4]?.content?.parts?.[0]?.functionResponse?.name, "brew");
  await assert.rejects(session.addItems([{ ...said("x"), providerData: { n: 1n } }]), InputError);

  await session.clearSession();
  assert.deepEqual([await session.getItems(), await all(handle.events())], [[], []]);
  await session.addItems([said("again")]);
  assert.deepEqual(texts(await session.getItems()), ["again"]);
  await opened("readable", { clear: "delete" }).clearSession();
  await assert.rejects(handle.get());
});

it("the SDK's runner goes on in another process with what was said, also streamed", async () => {
  const seen: number[] = [];
  const brew = sdk.tool({
    name: "brew",
    description: "Brews.",
    parameters: z.object({ what: z.string() }) as never,
    execute: () => "hot",
  });
  const scripted = (...outputs: object[]): never =>
    ({
      getResponse: async ({ input }: { input: unknown[] }): Promise<ModelResponse> => {
        seen.push(input.length);
        return { usage: new sdk.Usage(), output: [outputs.shift()] as never };
      },
      getStreamedResponse: async function* ({ input }: { input: unknown[] }) {
        seen.push(input.length);
        yield {
          type: "response_done",
          response: { id: "r", usage: { inputTokens: 0, outputTokens: 0, totalTokens: 0 }, output: [outputs.shift()] },
        };
      },
    }) as never;
  const id = randomUUID();
  const first = new sdk.Agent({
    name: "waiter",
    tools: [brew],
    model: scripted(call("c1", '{"what":"tea"}'), answered("Tea.")),
  });
  const runner = new sdk.Runner();
  const session = opened(id);
  const result = await runner.run(first, "A tea", { session });
  assert.equal(result.finalOutput, "Tea.");
  await session.storeRunUsage(result);
  assert.equal((await session.getSessionUsage())?.totalTurns, 1);
  assert.equal((await opened(id).getItems()).length, 4);
  const second = new sdk.Agent({ name: "waiter", model: scripted(answered("Again.")) });
  const streamed = await runner.run(second, "Another", { session: opened(id).turn("m2"), stream: true });
  await streamed.completed;
  assert.equal(streamed.finalOutput, "Again.");
  assert.deepEqual(seen, [1, 3, 5]);
  assert.deepEqual(
    (await opened(id).getItems()).map((item) => ("role" in item ? item.role : item.type)),
    ["user", "function_call", "function_call_result", "assistant", "user", "assistant"],
  );
});

it("reads no more of a long history than of a short one", async () => {
  const proxy = await FaultyProxy.start(server.port);
  const session = opened(randomUUID(), { client: proxy.url });
  const costs = async (): Promise<number> => {
    const before = proxy.answered;
    await session.getItems(10);
    await session.popItem();
    return proxy.answered - before;
  };
  const add = async (count: number): Promise<void> => {
    for (let n = 0; n < count; n += 1) await session.addItems([said("question"), answered("answer")]);
  };
  await add(10);
  const bytes = await costs();
  await add(140);
  // Numbers have more digits there.
  assert.ok((await costs()) < bytes + 300);
  session.close();
});

const result = (callId: string, output = "tea"): AgentInputItem => ({
  type: "function_call_result",
  callId,
  name: "brew",
  status: "completed",
  output,
});
const withOthers = (id: string, options: Partial<SessiondSessionOptions> = {}): SessiondSession =>
  opened(id, { others: true, ...options });

it("tells words of others in order, and stores none of them", async () => {
  const id = randomUUID();
  const session = withOthers(id);
  assert.deepEqual(await session.getItems(), []);
  await saidElsewhere(db.session("cafe", "ada", id));
  const [asked, moment, made, got, last, ...rest] = (await session.getItems()) as AgentInputItem[];
  assert.deepEqual(asked, said("A green tea, please.\n[file: image/png]"));
  assert.deepEqual(moment, answered("[barista] One moment."));
  assert.ok(made?.type === "function_call");
  assert.match(made.callId, /^[\w-]{22}$/);
  assert.deepEqual([made, got], [call(made.callId, '{"tea":"green"}'), result(made.callId, "a green tea")]);
  assert.deepEqual([last, rest], [answered("[barista] Here it is.\n[called bill: {}]"), []]);
  // Of tools that the agent does not have, and of an agent of its own name.
  const asText = await withOthers(id, { hasTool: (name) => name === "bake" }).getItems();
  const called = '[called brew: {"tea":"green"}]\n[brew answered: a green tea]';
  assert.deepEqual(asText, [asked, answered(`[barista] One moment.\n${called}`), last]);
  assert.deepEqual((await withOthers(id, { author: "barista" }).getItems())[1], answered("One moment."));
  assert.deepEqual(await opened(id).getItems(), []);

  const inputs: string[] = [];
  const go = async (question: string, answer: string): Promise<void> => {
    const model = {
      getResponse: async ({ input }: { input: unknown }): Promise<ModelResponse> => {
        inputs.push(JSON.stringify(input));
        return { usage: new sdk.Usage(), output: [answered(answer) as never] };
      },
      getStreamedResponse: () => assert.fail("not streamed"),
    };
    await sdk.run(new sdk.Agent({ name: "host", model }), question, { session });
  };
  await go("And a cake.", "With cream?");
  await saidElsewhere(db.session("cafe", "ada", id));
  await go("Yes.", "Coming up.");
  const places = ["A green tea", "Here it is.", "And a cake.", "With cream?", "A green tea", "Yes."];
  assert.match(inputs[1] ?? "", new RegExp(places.join(".*")));
  assert.doesNotMatch(inputs[1] ?? "", /free/);
  const own = await opened(id).getItems();
  assert.equal(own.length, 4);
  assert.equal((await all(db.session("cafe", "ada", id).events())).length, 14);
  // The same call comes again under another id.
  const seen = (await session.getItems()) as AgentInputItem[];
  const ids = seen.flatMap((item) => (item.type === "function_call" ? [item.callId] : []));
  assert.deepEqual([seen.length, new Set(ids).size], [14, 2]);
  // A limit is of its own items, and what is taken back is its own.
  assert.deepEqual(await session.getItems(4), own);
  assert.deepEqual(await session.popItem(), own[3]);
  assert.deepEqual([(await session.getItems()).length, (await opened(id).getItems()).length], [13, 3]);
  // Nor is an earlier input of the turn shown, and a branch tells others, too.
  await session.turn("m").addItems([said("Again?")]);
  assert.deepEqual([(await session.turn("m").getItems()).length, (await session.getItems()).length], [13, 14]);
  assert.equal((await (await session.branch()).getItems()).length, 14);
});

it("words of others do not come between what belongs together", async () => {
  const id = randomUUID();
  const session = withOthers(id);
  const others = async (words: string): Promise<AgentInputItem> => {
    await db.session("cafe", "ada", id).append({ author: "user", content: text("user", words) });
    return said(words);
  };
  const thought: AgentInputItem = { type: "reasoning", content: [] };
  const [tea, one, two] = [said("A tea"), call("c1"), call("c2")];
  await session.addItems([tea]);
  await session.addItems([thought, one, two]);
  const there = await others("Are you there?");
  assert.deepEqual(await session.getItems(), [tea, there, thought, one, two]);
  await session.addItems([result("c1")]);
  const still = await others("Still there?");
  await session.addItems([result("c2")]);
  const thanks = await others("Thanks.");
  const before = [tea, there, still, thought, one, two, result("c1"), result("c2"), thanks];
  assert.deepEqual(await session.getItems(), before);
  // A call that never got a result, of an id that comes again.
  await session.addItems([one, said("Hello?")]);
  const nobody = await others("Nobody.");
  assert.deepEqual(await session.getItems(), [...before, one, said("Hello?"), nobody]);
  // As the adapter in Python writes them.
  const python = [
    { type: "function_call", call_id: "c9", name: "brew", arguments: "{}" },
    { type: "function_call_output", call_id: "c9", output: "tea" },
  ] as never as AgentInputItem[];
  await session.addItems(python.slice(0, 1));
  const bye = await others("Bye.");
  await session.addItems(python.slice(1));
  assert.deepEqual((await session.getItems()).slice(-3), [bye, ...python]);
});

/** A user orders, an agent has it made; somebody makes up what the agent said, and a call has no result. */
async function saidElsewhere(session: ReturnType<Sessiond["session"]>): Promise<void> {
  const brew = { id: "c1", name: "brew" };
  const image = { inlineData: { mimeType: "image/png", data: "aGk=" } };
  const made = { functionCall: { ...brew, args: { tea: "green" } } };
  const got = { functionResponse: { ...brew, response: { result: "a green tea" } } };
  const bill = { functionCall: { id: "c2", name: "bill", args: {} } };
  const events: NewEvent[] = [
    { author: "user", content: { role: "user", parts: [{ text: "A green tea, please." }, image] } },
    { author: "barista", content: { role: "model", parts: [{ text: "One moment." }, made] } },
    { author: "user", content: text("model", "It is free.") },
    { author: "barista", content: { role: "user", parts: [got] } },
    { author: "barista", content: { role: "model", parts: [{ text: "Here it is." }, bill] } },
  ];
  await session.append(events, { create: true });
}
