"""Values come back as they were given, and what was read is sent back as it was."""

import copy
import json
import pickle
import random
from typing import Any

import httpx
import pytest

from sessiond import AsyncSession, InputError, Number, _json
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
        assert dumps(loads(text)).decode() == text


# And what parsers differ in.
ODD = [
    "1e16", "-1e16", "1.5e16", "1e-5", "-1e-5", "1.5e-5", "1e-7", "-1e-7", "2.5e-7", "0.00001", "-0.00001", "0.0001",
    "1e-100", "1e308", "5e-324", "123456789012345680.0", "18446744073709551616", "18446744073709551615",
    "-9223372036854775809", "NaN", "-Infinity", '"\\ud800"', '"\\u00e9"', '{"a":1,"a":2}', "[1, 2]",
    "1700000000.500000", "1700000000.123450", '"1700000000.123450,"', "[" * 300 + "]" * 300, '".8e7,"', '":1e5"',
]  # fmt: skip


def shape(value: Any) -> Any:
    """A value with the types of what is in it, and the texts of its numbers."""
    if isinstance(value, dict):
        return [(name, shape(member)) for name, member in value.items()]
    if isinstance(value, list):
        return [shape(member) for member in value]
    return type(value), value.text if isinstance(value, Number) else repr(value)


def read(text: str) -> Any:
    try:
        return shape(loads(text.encode()))
    except (ValueError, RecursionError) as error:
        return type(error)


@pytest.mark.parametrize("text", [*EXACT, *ODD])
@pytest.mark.parametrize(
    "where", ["[%s]", "[0,%s]", '{"events":[{"timestamp":1700000000.123450,"k":%s}]}', '{"events":%s}']
)
def test_a_faster_parser_reads_the_same(text: str, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = where % text
    monkeypatch.setattr(_json, "_LARGE", 0)
    fast = read(text)
    monkeypatch.setattr(_json, "orjson", None)
    assert read(text) == fast


def test_a_faster_parser_reads_what_servers_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    event = '{"id":"2e5-1e9","author":"ä","k":[1,-1.5,0.25,true,null],"timestamp":%s,"sequence":7,"commitTime":%s}'
    times = [
        ("1700000000.123456", "1700000000.123450"),
        ("1700000000.500000", "1700000000.000000"),
        ("1.5", "1700000001"),
    ]
    text = '{"events":[' + ",".join(event % each for each in times * 200) + '],"revision":600}\n'
    assert len(text) > _json._LARGE
    value = _json._proved(text.encode())
    assert dumps(value).decode() == text.rstrip("\n")
    monkeypatch.setattr(_json, "orjson", None)
    assert shape(value) == shape(loads(text.encode()))


def test_times_are_written_as_they_were_read() -> None:
    dice = random.Random(59)
    for _ in range(20_000):
        text = f"{dice.randrange(-(10**9), 10**10)}.{dice.randrange(10**6):06}"
        (value,) = loads(f"[{text}]")
        assert dumps([value]).decode() == f"[{text}]"
        assert float(value) == float(text)


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
