"""A café as a graph: it asks, waits for the answer for as long as that takes, and goes on in another process."""

import operator
import sys
from typing import Annotated, Any, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from sessiond.langgraph import SessiondSaver


class Order(TypedDict):
    said: Annotated[list[str], operator.add]
    drink: str


def waiter(order: Order) -> dict[str, Any]:
    return {"drink": interrupt("What would you like?")}


def barista(order: Order) -> dict[str, Any]:
    return {"said": [f"barista: one {order['drink']}, hot"]}


def server(order: Order) -> dict[str, Any]:
    return {"said": [f"server: Here you are, your {order['drink']}."]}


def cafe(saver: SessiondSaver) -> Any:
    builder = StateGraph(Order)
    builder.add_sequence([waiter, barista, server])
    builder.add_edge(START, "waiter")
    builder.add_edge("server", END)
    return builder.compile(checkpointer=saver)


def main(thread: str, answer: str | None = None) -> None:
    config = {"configurable": {"thread_id": thread}}
    with SessiondSaver(app="cafe") as saver:
        graph = cafe(saver)
        done = graph.invoke({"said": []} if answer is None else Command(resume=answer), config)
        for asked in graph.get_state(config).interrupts:
            print(f"waiter: {asked.value}")
        for line in done["said"]:
            print(line)


if __name__ == "__main__":
    main(*sys.argv[1:])
