"""What others have said in a thread, for the next input of its graph."""

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.graph import START, MessagesState, StateGraph

from sessiond import AsyncClient, text
from sessiond.langgraph import SessiondSaver

from ..adapters.others import AS_TEXT, LAST, order
from ..support.process import Server
from .puts import config


def graph(saver: SessiondSaver, *answers: Any) -> Any:
    builder = StateGraph(MessagesState)
    for number, answer in enumerate(answers):
        builder.add_node(str(number), answer if callable(answer) else lambda _, said=answer: {"messages": [said]})
        builder.add_edge(START if number == 0 else str(number - 1), str(number))
    return builder.compile(checkpointer=saver)


def texts(messages: Any) -> list[str]:
    return [message.content for message in messages]


OTHERS = ["A green tea, please.", "[barista] One moment.", "a green tea", LAST]


async def test_what_others_said(saver: SessiondSaver, server: Server, app: str, thread: str) -> None:
    at = config(thread)
    assert saver.others(at) == []
    async with AsyncClient(server.url) as db:
        handle = db.session(app, "langgraph", thread)
        await handle.append(order(), create=True)
        asked, moment, output, _ = said = await saver.aothers(at)
        assert said == saver.others(at) and texts(said) == OTHERS
        assert isinstance(asked, HumanMessage) and isinstance(moment, AIMessage) and isinstance(output, ToolMessage)
        assert moment.tool_calls[0]["id"] == output.tool_call_id and moment.tool_calls[0]["args"] == {
            "drink": "green tea"
        }
        as_text = saver.others(at, tools=lambda name: name == "bake")
        assert texts(as_text) == [OTHERS[0], AS_TEXT, LAST] and len({message.id for message in said}) == 4

        cake = graph(saver, AIMessage("With cream?"))
        state = await cake.ainvoke({"messages": [*said, HumanMessage("And a cake.")]}, at)
        assert texts(state["messages"]) == [*OTHERS, "And a cake.", "With cream?"]
        assert saver.others(at) == []
        # What it was given, is in the log once: as others have said it.
        told = [message.text for message in await handle.conversation()]
        assert told.count("A green tea, please.") == 1 and told[-2:] == ["And a cake.", "With cream?"]
        await cake.ainvoke({"messages": said}, at)
        assert [message.text for message in await handle.conversation()].count("A green tea, please.") == 1
        # Twice is once.
        state = await cake.ainvoke({"messages": [*said, *said]}, at)
        assert texts(state["messages"])[:5] == [*OTHERS, "And a cake."]
        checkpoints = [event.id async for event in handle.events(author="langgraph.checkpoint")]

        stored = await handle.append(order("coffee"))
        await handle.rewind(to_revision=stored[2].sequence)
        new = await saver.aothers(at)
        # The call has no result any more, and is text.
        assert texts(new)[0] == "A coffee, please." and not any(getattr(each, "tool_calls", None) for each in new)
        assert checkpoints == [event.id async for event in handle.events(author="langgraph.checkpoint")]


async def test_what_is_said_during_a_run_is_not_missed(
    saver: SessiondSaver, server: Server, app: str, thread: str
) -> None:
    at = config(thread)
    async with AsyncClient(server.url) as db:
        handle = db.session(app, "langgraph", thread)

        async def interrupted(_: Any) -> dict[str, Any]:
            await handle.append(author="user", content=text("user", "Make it two."))
            return {"messages": [AIMessage("Coming up.")]}

        await graph(saver, interrupted, AIMessage("Here you are.")).ainvoke({"messages": [HumanMessage("A tea")]}, at)
        said = await saver.aothers(at)
        assert texts(said) == ["Make it two."]
        # Also at an earlier checkpoint of that run.
        past = [each async for each in saver.alist(at)]
        assert texts(saver.others(past[1].config)) == ["Make it two."]
        # An update takes it in, too.
        await graph(saver, interrupted).aupdate_state(at, {"messages": said}, as_node="0")
        assert await saver.aothers(at) == []


@pytest.mark.parametrize("last", [{"type": "human", "content": "x", "id": "sessiond:1"}, None])
def test_a_message_of_others_is_not_told_again(last: Any) -> None:
    from sessiond._langgraph import content_of

    assert content_of([last]) is None and json.dumps(content_of([{"type": "human", "content": "x", "id": "1"}]))


async def test_results_of_tools_at_once_are_told(saver: SessiondSaver, server: Server, app: str, thread: str) -> None:
    calls: Any = [{"name": "brew", "args": {"n": n}, "id": f"c{n}"} for n in range(2)]
    results = [ToolMessage(f"tea {n}", tool_call_id=f"c{n}", name="brew") for n in range(2)]
    tools = graph(saver, AIMessage("", tool_calls=calls), lambda _: {"messages": results}, AIMessage("Both."))
    await tools.ainvoke({"messages": [HumanMessage("Two teas")]}, config(thread))
    async with AsyncClient(server.url) as db:
        told = await db.session(app, "langgraph", thread).conversation()
    assert texts(results) == [call.result["result"] for message in told for call in message.calls]
    assert [(message.author, message.text) for message in told] == [
        ("user", "Two teas"),
        ("langgraph.checkpoint", ""),
        ("langgraph.checkpoint", "Both."),
    ]
