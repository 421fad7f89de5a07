"""One wire form in all languages: the golden events that each client reads and writes."""

import json
from pathlib import Path
from typing import Any

import pytest
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions, EventCompaction
from google.genai import types
from pydantic import BaseModel

from sessiond_adk._wire import event_from_wire, event_to_wire

WIRE = Path(__file__).resolve().parents[3] / "wire"
GOLDEN: list[dict[str, Any]] = json.loads((WIRE / "events.json").read_text(encoding="utf-8"))["events"]
FIELDS: dict[str, list[str]] = json.loads((WIRE / "fields.json").read_text(encoding="utf-8"))["python"]


def read(stored: dict[str, Any]) -> Event:
    return event_from_wire({**stored, "sequence": 1, "commitTime": 1.0}, "s")


def golden(name: str) -> dict[str, Any]:
    (found,) = (case["event"] for case in GOLDEN if case["event"]["id"] == name)
    return dict(found)


@pytest.mark.parametrize("case", GOLDEN, ids=[case["name"] for case in GOLDEN])
def test_a_golden_event_is_read_and_written_whole(case: dict[str, Any]) -> None:
    expected = case.get("written_by", {}).get("python") or case.get("written") or case["event"]
    event = read(case["event"])
    assert event_to_wire(event) == expected
    # So it is after it was stored and read once more.
    assert event_to_wire(read(event_to_wire(event))) == expected
    if "texts" in case:
        assert event.content is not None
        assert [part.text for part in event.content.parts or ()] == case["texts"]


def test_every_field_of_an_event_is_known() -> None:
    """A new field of ADK fails here first: add it to the golden event, and see what the other languages make of it."""

    def names(model: type[BaseModel]) -> list[str]:
        return sorted(info.alias or name for name, info in model.model_fields.items())

    models: dict[str, type[BaseModel]] = {
        "event": Event,
        "actions": EventActions,
        "compaction": EventCompaction,
        "content": types.Content,
        "part": types.Part,
        "functionCall": types.FunctionCall,
        "functionResponse": types.FunctionResponse,
    }
    installed = {name: names(model) for name, model in models.items()}
    new = {name: sorted(set(found) - set(FIELDS[name])) for name, found in installed.items()}
    assert not any(new.values()), new
    full = golden("golden-full")
    assert set(FIELDS["event"]) <= full.keys()
    assert set(FIELDS["actions"]) - full["actions"].keys() <= {"compaction", "rewindBeforeInvocationId"}


def test_what_was_changed_since_it_was_read_is_written_as_it_is_now() -> None:
    event = read(golden("golden-broken"))
    event.content = types.Content(parts=[types.Part(text="other")])
    written = event_to_wire(event)
    assert written["content"] == {"parts": [{"text": "other"}]}
    assert "errorMessage" not in written


def test_a_name_that_adk_does_not_know_costs_nothing_else() -> None:
    stored = golden("golden-text")
    stored["content"] = {"role": "model", "parts": [{"text": "a", "later": {"x": 1}}, {"text": "b"}]}
    event = read(stored)
    assert event.content == types.Content(role="model", parts=[types.Part(text="a"), types.Part(text="b")])
    assert (event.error_message, event.custom_metadata) == (None, {"sessiond_unknown": {"content": stored["content"]}})
    assert event_to_wire(event) == stored


def test_numbers_that_json_lacks_are_null() -> None:
    """Models answer a probability of NaN, and one of nothing is a logarithm of minus infinity."""
    candidate = types.LogprobsResultCandidate(token="tea", log_probability=float("-inf"))
    chosen = types.LogprobsResult(chosen_candidates=[candidate])
    response = {"mean": float("nan"), "max": [float("inf")], "n": 1.5}
    answer = types.Part(function_response=types.FunctionResponse(name="f", response=response))
    event = Event(
        author="a",
        avg_logprobs=float("nan"),
        logprobs_result=chosen,
        content=types.Content(role="user", parts=[answer]),
    )
    written = event_to_wire(event)
    assert written["avgLogprobs"] is None
    assert written["logprobsResult"]["chosenCandidates"] == [{"logProbability": None, "token": "tea"}]
    assert read(written).logprobs_result == types.LogprobsResult(
        chosen_candidates=[types.LogprobsResultCandidate(token="tea")]
    )
    assert read(written).get_function_responses()[0].response == {"mean": None, "max": [None], "n": 1.5}


def test_a_compaction_is_read_in_seconds_whoever_wrote_it() -> None:
    for name in ("golden-compaction", "golden-millis"):
        compaction = read(golden(name)).actions.compaction
        assert compaction is not None
        assert (compaction.start_timestamp, compaction.end_timestamp) == (1795579734.88, 1795579738.25)
