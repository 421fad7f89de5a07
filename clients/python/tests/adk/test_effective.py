"""What a turn reads: the effective history gives ADK's prompt assembly the prompt that the whole log gives it."""

import os
import random
from collections.abc import Sequence
from typing import Any

import httpx
import pytest
from google.adk.events.event import Event
from google.adk.flows.llm_flows.context._contents import _get_contents

from sessiond_adk._wire import event_from_wire

# More of them: SESSIOND_TEST_LOGS=10000 run-tests -k effective
LOGS = int(os.environ.get("SESSIOND_TEST_LOGS", "150"))
START = 1_700_000_000
BRANCHES = [None, None, "a", "a.b", "a.tool@c1", "a.ab", "d"]
SCOPES = [None, None, None, "s", "c2"]
CALLS = ["c1", "c2", "c3", "c4"]


def log(draw: random.Random) -> list[dict[str, Any]]:
    """A session's events: with rewinds, compactions, calls that are answered late, ids that come again."""
    length = draw.randint(1, 40)
    # Some logs have few ids of calls, and use them again.
    calls = CALLS if draw.random() < 0.5 else [f"c{n}" for n in range(length)]
    branches = BRANCHES if draw.random() < 0.6 else [None]
    scopes = SCOPES if draw.random() < 0.4 else [None]
    in_milliseconds = draw.random() < 0.2
    time = float(START)
    events: list[dict[str, Any]] = []
    for n in range(length):
        time += draw.choice([0, 0, 0.5, 1, 1, 2.125])
        event: dict[str, Any] = {
            "id": f"e{n}",
            "author": draw.choice(["user", "a", "b"]),
            "invocationId": f"i{draw.randint(0, n // 3)}",
            # Some are dated back.
            "timestamp": time - draw.choice([0, 0, 0, 0, 0, 1, 4]),
        }
        if branch := draw.choice(branches):
            event["branch"] = branch
        if scope := draw.choice(scopes):
            event["isolationScope"] = scope
        kind = draw.random()
        if kind < 0.14 and n > 1:
            end = time - draw.choice([0, 0.5, 1, 3])
            start = max(START, end - draw.choice([0, 1, 2, 4, 8, 100]))
            times = {"startTimestamp": start, "endTimestamp": end}
            if in_milliseconds:
                times = {name: int(at * 1000) for name, at in times.items()}
            summary = {"role": "model", "parts": [{"text": f"summary {n}"}]}
            event["author"] = "user"
            event["actions"] = {"compaction": {**times, "compactedContent": summary}}
        elif kind < 0.2 and n > 1:
            event["author"] = "user"
            event["actions"] = {"rewindBeforeInvocationId": f"i{draw.randint(0, n // 3 + 1)}"}
        elif kind < 0.45:
            ids = draw.sample(calls, k=min(len(calls), draw.choice([1, 1, 2])))
            parts: list[dict[str, Any]] = [{"functionCall": {"id": i, "name": "f", "args": {"n": n}}} for i in ids]
            event["content"] = {"role": "model", "parts": parts}
            event["author"] = draw.choice(["a", "b"])
            if draw.random() < 0.3:
                event["longRunningToolIds"] = ids[:1]
        elif kind < 0.7:
            spoken = [
                part["functionCall"]["id"]
                for earlier in events
                for part in earlier.get("content", {}).get("parts", [])
                if "functionCall" in part
            ]
            ids = draw.sample(sorted(set(spoken)) or calls[:1], k=1)
            parts = [{"functionResponse": {"id": i, "name": "f", "response": {"n": n}}} for i in ids]
            event["content"] = {"role": "user", "parts": parts}
            event["author"] = draw.choice(["user", "a", "b"])
        else:
            event["content"] = {
                "role": "user" if event["author"] == "user" else "model",
                "parts": [{"text": f"text {n}"}],
            }
        events.append(event)
    return events


def prompt(events: Sequence[Event], branch: str | None, scope: str | None, agent: str) -> Any:
    copies = [event.model_copy(deep=True) for event in events]
    try:
        contents = _get_contents(branch, copies, agent, isolation_scope=scope, preserve_function_call_ids=True)
    except ValueError as error:
        return str(error)
    return [content.model_dump(exclude_none=True) for content in contents]


def pages(plain: httpx.Client, path: str, **query: Any) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = []
    token: dict[str, str] = {}
    while True:
        page = plain.get(path, params={"history": "effective", **query, **token}).raise_for_status().json()
        events += page["events"]
        if "nextPageToken" not in page:
            return events
        token = {"pageToken": page["nextPageToken"]}


def rewound(events: list[Event]) -> list[Event]:
    """Those that rewinds take back."""
    from google.adk.events._rewind_events import _apply_rewinds

    kept = {event.id for event in _apply_rewinds(events)}
    return [event for event in events if event.id not in kept]


@pytest.mark.parametrize("part", range(5))
@pytest.mark.both_databases
def test_the_effective_history_makes_the_same_prompt(
    request: pytest.FixtureRequest, plain: httpx.Client, app: str, part: int
) -> None:
    # Each log is on one of the databases.
    first = part + 5 * (request.node.callspec.params["server"] == "postgres")
    for seed in range(first, LOGS, 10):
        draw = random.Random(seed)
        events = log(draw)
        path = f"/apps/{app}/users/u/sessions/s{seed}"
        plain.put(path).raise_for_status()
        while events:
            count = draw.choice([1, 2, 5, len(events)])
            plain.post(f"{path}/events", json=events[:count]).raise_for_status()
            events = events[count:]
        whole = plain.get(path).raise_for_status().json()["events"]
        left = plain.get(path, params={"history": "effective"}).raise_for_status().json()["events"]

        known = {event["id"]: event for event in whole}
        assert all(known[event["id"]] == event for event in left)
        size = draw.choice([1, 7, 1000])
        assert pages(plain, f"{path}/events", pageSize=size) == left, seed
        assert pages(plain, f"{path}/events", pageSize=size, order="desc") == left[::-1], seed
        last = draw.randint(1, 10)
        found = plain.get(path, params={"history": "effective", "numRecentEvents": last}).json()["events"]
        assert found == left[-last:], seed

        all_events = [event_from_wire(event, f"s{seed}") for event in whole]
        effective = [event_from_wire(event, f"s{seed}") for event in left]
        # A rewind that takes back the call of a task, and not the task, is of no agent: ADK finds the call anyway.
        gone = {call.id for event in rewound(all_events) for call in event.get_function_calls()}
        for branch in sorted({event.branch for event in all_events}, key=str):
            for scope in sorted({event.isolation_scope for event in all_events}, key=str):
                for agent in ["", "a"]:
                    if scope in gone:
                        continue
                    expected = prompt(all_events, branch, scope, agent)
                    assert prompt(effective, branch, scope, agent) == expected, (seed, branch, scope, agent)
