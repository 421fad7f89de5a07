// LangGraph's own suite for checkpointers, run by Vitest, for which it is written: `langgraph.test.ts` starts it.
import { randomUUID } from "node:crypto";
import { deltaChannelHistoryTests, specTest } from "@langchain/langgraph-checkpoint-validation";
import { SessiondSaver } from "../../src/langgraph.js";

const initializer = {
  checkpointerName: "sessiond",
  createCheckpointer: () => new SessiondSaver({ app: randomUUID(), user: "ada" }),
  destroyCheckpointer: (saver: SessiondSaver) => saver.close(),
};
specTest(initializer);
deltaChannelHistoryTests(initializer);
