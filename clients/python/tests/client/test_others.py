"""Where adapters put what others have said, among a framework's own objects."""

import random

from sessiond import Event, text
from sessiond._others import merged, of_others, tied


def places(own: str, *others: int) -> str:
    """Own objects are letters, numbered from 1 on: a lower one calls, the upper one answers, others are `.`."""
    calls = [{each} if each.islower() else set() for each in own]
    results = [{each.lower()} if each.isupper() else set() for each in own]
    numbered = [(number, "-" if each == "-" else each) for number, each in enumerate(own, start=1)]
    return "".join(merged(numbered, [(number, ".") for number in others], tied(calls, results)))


def test_nothing_stands_between_a_call_and_its_result() -> None:
    assert places("-aA-", 0, 1, 2, 3, 4) == ".-..aA.-."
    assert places("-abAB-", 3, 4) == "-..abAB-"
    assert places("-abBA", 2, 5) == "-.abBA."
    # A call that may still get one, and one that got none.
    assert places("-a", 2) == "-.a" and places("-ab", 3) == "-.ab" and places("-aAb", 9) == "-aA.b"
    assert places("-a-", 2, 3) == "-a.-."
    # The same id again.
    assert places("aAaA", 1, 2, 3) == ".aA..aA"
    assert places("A-", 0, 1) == ".A.-" and places("", 1, 2) == ".."


def test_order_is_kept() -> None:
    chance = random.Random(5)
    for _ in range(2000):
        own = "".join(chance.choice("-aAbB") for _ in range(chance.randrange(12)))
        others = sorted(chance.randrange(14) for _ in range(chance.randrange(5)))
        found = places(own, *others)
        assert found.replace(".", "") == own and found.count(".") == len(others)
        for call in "ab":
            # From each call to the next result of it.
            opened = False
            for at, each in enumerate(found):
                if each == call:
                    end = found.find(call.upper(), at)
                    again = found.find(call, at + 1)
                    opened = end != -1 and (again == -1 or again > end)
                    assert not opened or "." not in found[at:end], (own, others, found)


def test_names_and_places() -> None:
    summary = {"role": "model", "parts": [{"text": "They met."}]}
    compaction = {"compactedContent": summary, "startTimestamp": 0, "endTimestamp": 0.5}
    call = {"functionCall": {"id": "c", "name": "br ew", "args": {}}}
    answer = {"functionResponse": {"id": "c", "name": "br ew", "response": {"cups": 1}}}
    file = {"fileData": {"fileUri": "gs://b/x", "mimeType": "text/plain"}}
    events = [
        {"author": "user", "content": {"parts": [{"text": "[host] Free."}, file]}},
        {"author": "host", "content": text("model", "Hello.")},
        {"author": "waiter", "content": {"role": "model", "parts": [call, answer]}},
        {"author": "user", "actions": {"compaction": compaction}},
    ]
    numbered = [Event({"id": f"e{n}", "sequence": n, "timestamp": n, **event}) for n, event in enumerate(events, 1)]
    said = of_others(numbered, "host", True)
    assert [(each.place, each.role, each.text) for each in said] == [
        (1, "model", "[model] They met."),
        (1, "user", "[host] Free.\n[file: text/plain gs://b/x]"),
        (2, "model", "Hello."),
        # Models take no such name.
        (3, "model", '[waiter] [called br ew: {}]\n[br ew answered: {"cups":1}]'),
    ]
    assert not any(each.calls for each in said)
