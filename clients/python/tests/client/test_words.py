"""What is written by mistake, and what is said of it. The server here does not answer."""

from typing import Any

import pytest

from sessiond import AsyncClient, Client, Event, InputError, SessiondError, _frameworks, text

from ..support.process import free_port
from ..support.proxy import answering
from .both import Connect


class Order:
    """An object of Pydantic, or of what dumps like it."""

    def model_dump(self, **_: Any) -> dict[str, Any]:
        return {"cups": 2}

    def __iter__(self) -> Any:
        return iter(self.model_dump().items())


async def test_what_is_no_event_is_refused_with_what_to_write(client: Connect) -> None:
    s = client(f"http://127.0.0.1:{free_port()}", retry_for=0).session("a", "u", "s")
    wrong: Any
    content: Any
    for wrong in ("hello", ["hello"], b"hello", 5, [["hello"]], Order(), [Order()]):
        with pytest.raises(InputError, match=r'append\(author="user", content=text\("user", ') as refused:
            await s.append(wrong)
        assert ("model_dump" in str(refused.value)) is ("Order" in str(refused.value))
        with pytest.raises(InputError, match="An event is an object"):
            await s.create(events=wrong)
    for content in (
        "hello",
        ["hello"],
        [{"text": "hello"}],
        {"text": "hello"},
        {"parts": ["hello"]},
        {"parts": "hello"},
        5,
    ):
        wrong = {"content": content}
        for call in (s.append(wrong), s.append([wrong]), s.append(**wrong), s.create(events=[wrong])):
            with pytest.raises(InputError, match=r'The `content` of an event is {"role", "parts"}, and each'):
                await call
    for content in ({}, {"role": "user"}, {"parts": []}, {"parts": None}):
        with pytest.raises(SessiondError, match=r"Connection refused|connection attempts failed"):
            await s.append(content=content)
    for texts in ((), (5,)):
        with pytest.raises(InputError, match="a role, and texts"):
            text("hello", *texts)


async def test_an_event_that_was_read_goes_back_as_it_is(client: Connect) -> None:
    said = {"author": "a", "content": "hello"}
    async with answering("201\n{}", "201\n{}") as server:
        s = client(server.url).session("a", "u", "s")
        await s.append(Event(said))
        await s.append({**said, "customMetadata": {"rewindCopyOf": "e1"}})
    assert all('"content":"hello"' in request for request in server.requests)


async def test_an_object_is_named_with_what_is_json_of_it(client: Connect) -> None:
    s = client(f"http://127.0.0.1:{free_port()}", retry_for=0).session("a", "u", "s")
    with pytest.raises(InputError, match=r'a Order, of which `.model_dump\(mode="json"\)` is JSON, at /actions/st'):
        await s.append(author="a", delta={"order": Order()})


def test_handles_say_what_they_are() -> None:
    for kind, name in ((Client, ""), (AsyncClient, "Async")):
        db = kind("http://u.example", token="secret")
        assert repr(db) == f"{name}Client('http://u.example')"
        assert repr(db.session("cafe", "ada", "s1")) == f"{name}Session('cafe', 'ada', 's1', revision=0)"
        assert repr(db.app("cafe")) == f"{name}Scope('cafe', revision=0)"
        assert repr(db.user("cafe", "ada")) == f"{name}User('cafe', 'ada', revision=0)"


def test_an_adapter_takes_the_client_of_its_kind() -> None:
    db, asynchronous = Client("http://h"), AsyncClient("http://h")
    assert _frameworks.synchronous(db) is db and _frameworks.asynchronous(asynchronous) is asynchronous
    with pytest.raises(TypeError, match=r"is a sessiond\.AsyncClient, no Client"):
        _frameworks.asynchronous(db)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"is a sessiond\.Client, no AsyncClient"):
        _frameworks.synchronous(asynchronous)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="The URL of sessiond is"):
        AsyncClient(db)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_token_has_no_bearer_in_front(kind: type[Client] | type[AsyncClient]) -> None:
    with pytest.raises(ValueError, match="without the word `Bearer`") as failed:
        kind("http://u.example", token="Bearer sdk_secret")
    assert "sdk_secret" not in str(failed.value)
