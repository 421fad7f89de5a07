"""Names that are no text: `None` is not the user of all who have not signed in. The server here does not answer."""

import inspect
import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sessiond import InputError
from sessiond._paths import whole_id

from ..support.process import free_port
from .both import Connect

NAMES = json.loads((Path(__file__).parents[3] / "wire" / "names.json").read_text(encoding="utf-8"))
WRONG: list[Any] = [5, True, b"ada", ["ada"], object()]


async def refused(call: Any, match: str = r"is (None|of type [A-Za-z]+): it has to be a text") -> None:
    """What a function makes is waited for, or iterated."""
    with pytest.raises(InputError, match=match) as failed:
        made = call()
        if hasattr(made, "__aiter__"):
            await anext(aiter(made))
        elif inspect.isawaitable(made):
            await made
    error = failed.value
    assert (error.status, error.code, error.outcome) == (None, "invalid_argument", "not_applied")


@pytest.mark.parametrize("wrong", [None, *WRONG])
async def test_names_are_texts(client: Connect, wrong: Any) -> None:
    db = client(f"http://127.0.0.1:{free_port()}", retry_for=0)
    s, scope = db.session("a", "u", "s"), db.app("a")
    for call in (
        lambda: db.sessions("a", labels={"tea": wrong}),
        lambda: db.search("a", "u", wrong),
        lambda: s.event(wrong),
        lambda: s.redact(wrong),
        lambda: s.set(wrong, 1),
        lambda: s.increment(wrong),
        lambda: s.apply([{"op": "remove", "key": wrong}]),
        lambda: s.state(keys=[wrong]),
        lambda: s.state_history(wrong),
        lambda: scope.set(wrong, 1),
        lambda: scope.get(wrong),
    ):
        await refused(call)


@pytest.mark.parametrize("wrong", WRONG)
async def test_names_that_may_be_absent_are_texts(client: Connect, wrong: Any) -> None:
    db = client(f"http://127.0.0.1:{free_port()}", retry_for=0)
    s = db.session("a", "u", "s")
    for call in (
        lambda: db.sessions("a", user_prefix=wrong),
        lambda: db.sessions("a", forked_from=wrong),
        lambda: s.append(author=wrong),
        lambda: s.append(author="a", invocation_id=wrong),
        lambda: s.append([{"author": "a"}, {"author": "a", "id": wrong}]),
        lambda: s.create(events=[{"author": wrong}]),
        lambda: s.apply([], author=wrong),
        lambda: s.set("k", 1, once=wrong),
        lambda: db.app("a").set("k", 1, once=wrong),
        lambda: s.events(author=wrong),
        lambda: s.events(invocation_id=wrong),
        lambda: s.state(prefix=wrong),
        lambda: s.acquire(owner=wrong),
        lambda: s.acquire(invocation_id=wrong),
        lambda: s.artifacts.save("f", b"x", author=wrong),
        lambda: s.artifacts.list(prefix=wrong),
        lambda: s.rewind(before_invocation=wrong),
    ):
        await refused(call)


async def test_names_that_are_none_are_refused_before_anything_is_sent(client: Connect) -> None:
    db = client(f"http://127.0.0.1:{free_port()}", retry_for=0)
    s = db.session("a", "u", "s")
    calls: dict[str, list[Any]] = {
        "app": [
            lambda name: db.session(name, "u", "s"),
            lambda name: db.app(name),
            lambda name: db.user(name, "u"),
            lambda name: db.users(name),
            lambda name: db.sessions(name),
            lambda name: db.mint_token(name, "u"),
        ],
        "user": [
            lambda name: db.session("a", name, "s"),
            lambda name: db.user("a", name),
            lambda name: db.mint_token("a", name),
            lambda name: db.sessions("a", name),
        ],
        "session": [lambda name: db.session("a", "u", name), lambda name: s.fork(id=name)],
        "file": [
            lambda name: s.artifacts.save(name, b"x"),
            lambda name: s.artifacts.save(name, "x"),
            lambda name: s.artifacts.get(name),
            lambda name: s.artifacts.delete(name),
            lambda name: s.artifacts.versions(name),
        ],
    }
    for what, each in calls.items():
        for case in NAMES["refused"] + (NAMES["refusedSessions"] if what == "session" else []):
            said = f"The {NAMES['of'][what]} {case['because']}."
            for call in each:
                await refused(partial(call, case["name"]), f"^{re.escape(said)}$")
    for call in (*calls["app"], *calls["user"], *calls["session"], *calls["file"]):
        for name in ("half \ud83d", "\ud83d"):
            await refused(partial(call, name), "half of a character")
        for wrong in WRONG:
            await refused(partial(call, wrong))
    # As the id of a session, and of a user whose sessions are listed, it may be absent.
    for call in (*calls["app"], *calls["user"][:-1], *calls["file"]):
        await refused(partial(call, None))


def test_white_space_around_the_id_of_a_session_is_what_the_server_takes_for_it(client: Connect) -> None:
    db = client("http://127.0.0.1:1", retry_for=0)
    assert db.session("a", "u", "\t\u00a0s \u2028").id == "s"
    # The server refuses a control character: to leave it out would be another session.
    assert db.session("a", "u", "s\x1f").id == "s\x1f"


@pytest.mark.parametrize("id", ["ann ", "\tann", "ann\u2003", "ann\u2028", " "])
def test_an_id_of_a_framework_is_not_trimmed(id: str) -> None:
    assert whole_id("a nn") == "a nn"
    with pytest.raises(InputError, match="begins or ends with white space"):
        whole_id(id)
