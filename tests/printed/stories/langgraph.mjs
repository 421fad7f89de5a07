import { HumanMessage } from "@langchain/core/messages";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
<<< imports

const builder = new StateGraph(MessagesAnnotation)
  .addNode("waiter", () => ({ messages: [{ role: "assistant", content: "Coming up." }] }))
  .addEdge(START, "waiter")
  .addEdge("waiter", END);
<<< docs/frameworks.md: SessiondStore({ app: "cafe" }) });
const config = { configurable: { thread_id: "s2" } };
{
  <<< docs/frameworks.md: ...(await saver.others(config))
  const said = (await graph.getState(config)).values.messages.map(({ text }) => text);
  if (said.join() !== "And a cake.,Coming up.") throw new Error(said.join());
}
// Their connections stay open.
process.exit(0);
