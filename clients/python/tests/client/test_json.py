"""Values come back as they were given, and what was read is sent back as it was."""

import copy
import json
import pickle
from typing import Any

import httpx
import pytest

from sessiond import AsyncSession, InputError, Number
from sessiond._json import dumps, loads

EXACT = [
    "0", "-0", "1", "1.0", "1.10", "1E2", "1e+2", "1e-400", "-0.0", "0.1", "12345678901234567890", "9" * 308,
    "0.12345678901234567890123", "1e22", '"\\u0000\\u2028é"', "null", "[]", '{"b":1,"a":{"$x":[1.50,2]}}',
]  # fmt: skip


@pytest.mark.parametrize("text", EXACT)
def test_a_value_is_written_as_it_was_read(text: str) -> None:
    value = loads(f'{{"k":[{text}]}}')
    assert json.loads(dumps(value)) == json.loads(f'{{"k":[{text}]}}')
    if not text.startswith('"'):
        assert dumps(value).decode() == f'{{"k":[{text}]}}'


def test_numbers_are_floats() -> None:
    (value,) = loads(b"[1.10]")
    assert isinstance(value, Number) and (value, value + 1, f"{value}") == (1.1, 2.1, "1.1")
    for copied in (copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
        assert dumps([copied, {1: copied}]) == b'[1.10,{"1":1.10}]'
    assert type(loads("[1.5]")[0]) is float


@pytest.mark.both_databases
async def test_what_a_session_has_is_kept(s: AsyncSession, plain: httpx.Client) -> None:
    await s.create()
    path = f"/apps/{s.app}/users/ada/sessions/s%201"
    state = "{" + ",".join(f'"k{n}":{text}' for n, text in enumerate(EXACT)) + "}"
    event = '{"id":"e1","author":"a","timestamp":1700000000.250,"x":1.10,"actions":{"stateDelta":' + state + "}}"
    headers = {"Content-Type": "application/json"}
    plain.post(f"{path}/events", content=event, headers=headers).raise_for_status()
    read = await s.event("e1")
    # It is the same event: the server compares every byte of a number.
    assert (await s.append(read)).replayed
    await s.append({**read, "id": "e2"})
    first, second = plain.get(f"{path}/events").text.split('"id":"e2"')
    numbers = state[1:-1].partition(',"k14"')[0]
    for text in (first, second):
        assert '"timestamp":1700000000.250,' in text and '"x":1.10' in text and numbers in text
    assert (await s.event("e2")).delta == read.delta == json.loads(state)


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (float("nan"), r"a number that JSON does not have at /actions/stateDelta/k/0"),
        (-float("inf"), r"a number that JSON does not have at /actions/stateDelta/k/0"),
        ("\ud800", r"half of a character at /actions/stateDelta/k/0"),
        ({"a/b": {"\udfff": 1}}, r"half of a character at /actions/stateDelta/k/0/a~1b/\?"),
        (object(), r"a object at /actions/stateDelta/k/0"),
    ],
)
async def test_what_is_no_json_is_refused_where_it_stands(s: AsyncSession, value: Any, what: str) -> None:
    with pytest.raises(InputError, match=what) as refused:
        await s.append(author="a", delta={"k": [value]})
    assert (refused.value.status, refused.value.outcome) == (None, "not_applied")


async def test_what_goes_round_is_refused(s: AsyncSession) -> None:
    round: list[Any] = []
    round.append(round)
    with pytest.raises(InputError, match="nested too deeply"):
        await s.append(author="a", delta={"k": round})
