# needs: langgraph
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.base import BaseStore
from sessiond import Client, text
from sessiond.langgraph import SessiondSaver


def serve(state, *, store: BaseStore):
    store.put(("ada", "memories"), "k1", {"likes": "tea"})
    return {"messages": [AIMessage("Coming up.")]}


builder = StateGraph(MessagesState)
builder.add_node("serve", serve)
builder.add_edge(START, "serve")
<<< docs/frameworks.md: from sessiond.langgraph import SessiondStore
config = {"configurable": {"thread_id": "s2"}}
graph.invoke({"messages": [HumanMessage("A green tea, please.")]}, config)
saver = graph.checkpointer
Client().session("cafe", "langgraph", "s2").append(author="user", content=text("user", "For two, please."))
<<< docs/frameworks.md: *saver.others(config)
said = [message.content for message in graph.get_state(config).values["messages"]]
assert said[:2] == ["A green tea, please.", "Coming up."] and said[-2:] == ["And a cake.", "Coming up."], said
assert "For two, please." in said[2], said
