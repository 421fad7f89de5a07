"""The example does what its README shows, and the page of frameworks what it says."""

from typing import Any

from langchain_core.messages import HumanMessage
from langgraph.graph import StateGraph

from ..adapters import shown
from ..support.process import Server
from .test_saver import State


def test_the_example_prints_its_transcript(own_server: Server) -> None:
    shown.example_prints_its_transcript(r"langgraph_graph\.py", own_server.url)


def test_the_page_of_frameworks(server: Server) -> None:
    builder = StateGraph(State)
    builder.add_node("serve", lambda state: {"messages": ["Coming up."]})
    builder.set_entry_point("serve")
    known: dict[str, Any] = {"builder": builder, "HumanMessage": HumanMessage}
    exec(shown.code("LangGraph").replace("http://127.0.0.1:8080", server.url), known)
    texts = [message.content for message in known["graph"].get_state(known["config"]).values["messages"]]
    assert texts[-2:] == ["A green tea, please.", "Coming up."]
