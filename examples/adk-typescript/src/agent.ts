/** A café of three agents. Their model is scripted, so they need no key; a real one would be used in the same way. */
import {
  BaseLlm,
  type BaseLlmConnection,
  type Event,
  FunctionTool,
  LlmAgent,
  type LlmRequest,
  type LlmResponse,
  LogLevel,
  SequentialAgent,
  setLogLevel,
} from "@google/adk";
import { ops } from "@sessiond/adk";

type Part = NonNullable<NonNullable<Event["content"]>["parts"]>[number];

/** Answers by a rule, from the instruction and from the last thing that it was told. */
class ScriptedModel extends BaseLlm {
  constructor(private readonly rule: (instruction: string, last: Part) => Part) {
    super({ model: "scripted" });
  }

  override async *generateContentAsync(request: LlmRequest): AsyncGenerator<LlmResponse, void> {
    const last = request.contents.at(-1)?.parts?.at(-1) ?? {};
    const part = this.rule(String(request.config?.systemInstruction), last);
    yield { content: { role: "model", parts: [part] } };
  }

  override async connect(): Promise<BaseLlmConnection> {
    throw new Error("The script has no live mode.");
  }
}

const takeOrder = new FunctionTool({
  name: "take_order",
  description: "Takes an order.",
  execute: async (input, context) => {
    const { drink, guest } = input as unknown as { drink: string; guest: string };
    if (context === undefined) throw new Error("An order is taken in a session.");
    context.state.set("drink", drink); // of this session
    context.state.set("user:name", guest); // of this user, in every session
    context.state.set("user:usual", drink);
    // Of the app: of all users, who may order at the same time. Read, add one and write back would lose orders.
    const number = await ops.increment(context, "app:orders");
    return { number };
  },
});

/** What stands between angle brackets in an instruction. */
function values(instruction: string): string[] {
  return [...instruction.matchAll(/<(.*?)>/g)].map(([, value = ""]) => value);
}

// The values of state that ADK puts into the instructions are between angle brackets, for the scripts to find.
const waiter = new LlmAgent({
  name: "waiter",
  instruction: "Take the order. The guest is <{user:name?}>, who usually has <{user:usual?}>.",
  tools: [takeOrder],
  model: new ScriptedModel((instruction, last) => {
    if (last.functionResponse) return { text: "Coming." };
    const [name, usual] = values(instruction);
    const guest = /I am (\w+)/.exec(last.text ?? "")?.[1] ?? name;
    const drink = /[Aa] ([\w ]+), please/.exec(last.text ?? "")?.[1] ?? usual;
    return { functionCall: { name: "take_order", args: { drink, guest } } };
  }),
});

const barista = new LlmAgent({
  name: "barista",
  instruction: "Make <{drink}>.",
  model: new ScriptedModel((instruction) => ({ text: `one ${values(instruction)[0]}, hot` })),
  // From one agent to the next, and not stored.
  outputKey: "temp:made",
});

const server = new LlmAgent({
  name: "server",
  instruction: "Serve order <{app:orders}>: <{temp:made}>, for <{user:name}>.",
  model: new ScriptedModel((instruction) => {
    const [number, made, name] = values(instruction);
    return { text: `Order ${number}: ${made}, for ${name}.` };
  }),
  outputKey: "served",
});

// ADK calls agents in a fixed order deprecated, in favour of its workflows.
setLogLevel(LogLevel.ERROR);

export const rootAgent = new SequentialAgent({ name: "cafe", subAgents: [waiter, barista, server] });
