// A graph of LangGraph that asks, and goes on with the answer in another process: node langgraph.js THREAD [ANSWER]. It needs no key.
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { Annotation, Command, END, interrupt, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { SessiondSaver } from "@sessiond/client/langgraph";

const [thread, answer] = process.argv.slice(2);
const checkpointer = new SessiondSaver({ app: "cafe", user: "ada", messages: "messages" });
const graph = new StateGraph(Annotation.Root({ ...MessagesAnnotation.spec, drink: Annotation }))
  .addNode("waiter", () => ({ drink: interrupt("What would you like?") }))
  .addNode("barista", ({ drink }) => ({ messages: [new AIMessage({ name: "barista", content: `one ${drink}, hot` })] }))
  .addNode("server", ({ drink }) => ({
    messages: [new AIMessage({ name: "server", content: `Here you are, your ${drink}.` })],
  }))
  .addEdge(START, "waiter")
  .addEdge("waiter", "barista")
  .addEdge("barista", "server")
  .addEdge("server", END)
  .compile({ checkpointer });

const config = { configurable: { thread_id: thread } };
if (answer === undefined) {
  await graph.invoke({ messages: [new HumanMessage("Good morning.")] }, config);
  const [task] = (await graph.getState(config)).tasks;
  console.log(`waiter: ${task.interrupts[0].value}`);
} else {
  const { messages } = await graph.invoke(new Command({ resume: answer }), config);
  for (const { name, text } of messages.slice(1)) console.log(`${name}: ${text}`);
}
checkpointer.close();
