// What a newcomer reads: the lines of docs/frameworks.md run as they are printed, and so do those of the examples.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "node:test";
import { promisify } from "node:util";
import { served } from "../../support/served.js";

const root = new URL("../../..", import.meta.url).pathname;
const examples = join(root, "../../examples/frameworks-typescript");
const { server } = await served();

async function run(folder: string, command: string): Promise<string> {
  const env = { ...process.env, SESSIOND_URL: server.url };
  return (await promisify(execFile)("sh", ["-c", command], { cwd: folder, env })).stdout;
}

/** Runs something in a folder where the packages of a framework are found, and no other file of ours. */
async function inside<T>(framework: string, name: string, use: (folder: string) => Promise<T>): Promise<T> {
  const folder = join(root, framework, "node_modules", `.${name}`);
  mkdirSync(folder, { recursive: true });
  try {
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const FRAMEWORKS = {
  "Vercel AI SDK": "client/test/ai-sdk",
  "OpenAI Agents SDK": "client/test/openai-agents",
  LangGraph: ".",
};
for (const [name, framework] of Object.entries(FRAMEWORKS)) {
  it(`the example of ${name} prints what its README says, each run in a process of its own`, async () => {
    const [, section = ""] = readFileSync(join(examples, "README.md"), "utf8").split(`\n## ${name}\n`);
    const [, block = ""] = /```\n(\$ .*?)```/s.exec(section) ?? [];
    await inside(framework, "example", async (folder) => {
      cpSync(examples, folder, { recursive: true });
      const printed: string[] = [];
      for (const line of block.split("\n").filter((one) => one.startsWith("$ "))) {
        printed.push(`${line}\n`, await run(folder, line.slice(2)));
      }
      assert.ok(printed.length > 2);
      assert.equal(printed.join(""), block);
    });
  });
}

/** The lines of a framework in docs/frameworks.md, what they leave to the reader, what is done with them, and what that prints. */
const LINES: Record<string, { given: string; use: string; prints: string }> = {
  "Vercel AI SDK": {
    given: `
      import { convertArrayToReadableStream, MockLanguageModelV4 } from "ai/test";
      const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
      const chunks = [
        { type: "text-start", id: "t" },
        { type: "text-delta", id: "t", delta: "Coming up." },
        { type: "text-end", id: "t" },
        { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage },
      ];
      const model = new MockLanguageModelV4({ doStream: async () => ({ stream: convertArrayToReadableStream(chunks) }) });`,
    use: `
      const message = { id: "m1", role: "user", parts: [{ type: "text", text: "A green tea, please." }] };
      const ask = () => POST(new Request("http://cafe", { method: "POST", body: JSON.stringify({ id: "walk", message }) }));
      for (let n = 0; n < 2; n += 1) await (await ask()).text();
      const messages = await new SessiondChat("walk", { app: "cafe", user: "ada", client }).loadMessages();
      console.log(...messages.map(({ role, parts }) => role + ": " + parts.at(-1).text));
      client.close();`,
    prints: "user: A green tea, please. assistant: Coming up.\n",
  },
  "OpenAI Agents SDK": {
    given: `
      import { Agent, setTracingDisabled, Usage } from "@openai/agents-core";
      setTracingDisabled(true);
      const content = [{ type: "output_text", text: "Coming up." }];
      const output = [{ type: "message", role: "assistant", status: "completed", content }];
      const agent = new Agent({ name: "waiter", model: { getResponse: async () => ({ usage: new Usage(), output }) } });`,
    use: "console.log(result.finalOutput, (await session.getItems()).length); session.close();",
    prints: "Coming up. 2\n",
  },
  LangGraph: {
    given: `
      import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
      const builder = new StateGraph(MessagesAnnotation)
        .addNode("waiter", () => ({ messages: [{ role: "assistant", content: "Coming up." }] }))
        .addEdge(START, "waiter")
        .addEdge("waiter", END);`,
    use: `
      const { values } = await graph.getState({ configurable: { thread_id: "s1" } });
      console.log(...values.messages.map(({ text }) => text));
      graph.checkpointer.close();`,
    prints: "A green tea, please. Coming up.\n",
  },
};
for (const [name, { given, use, prints }] of Object.entries(LINES)) {
  it(`the lines of docs/frameworks.md for ${name} run as they are printed`, async () => {
    const page = readFileSync(join(root, "../../docs/frameworks.md"), "utf8");
    const [, section = ""] = page.split(`\n## ${name}\n`);
    const [, lines = ""] = /```ts\n(.*?)```/s.exec(section) ?? [];
    assert.ok(lines.includes("@sessiond/client"));
    await inside(FRAMEWORKS[name as keyof typeof FRAMEWORKS], "lines", async (folder) => {
      writeFileSync(
        join(folder, "lines.mjs"),
        [given, lines.replace("http://127.0.0.1:8080", server.url), use].join("\n"),
      );
      assert.equal(await run(folder, "node lines.mjs"), prints);
    });
  });
}
