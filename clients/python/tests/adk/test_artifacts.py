"""The artifact service: what ADK's own services do, done by sessiond; and what only sessiond does."""

import asyncio
import os
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from google.adk.artifacts.base_artifact_service import ArtifactVersion, BaseArtifactService
from google.adk.artifacts.in_memory_artifact_service import InMemoryArtifactService
from google.adk.errors.input_validation_error import InputValidationError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.genai import types

from sessiond_adk import SessiondArtifactService, SessiondError, SessiondInputError

from ..support.guard import guard
from ..support.process import Server
from ..support.proxy import Proxy, answering, listening

# What is hard in a path, a query, a header or a file system; each is a name of its own.
NAMES = [
    *("a/b", "a/b/c", "/a", "a//b", "a/", "with space", " a", "a ", "100%", "%2F", "a%2Fb", "a+b", "a?b#c", "a;b,c"),
    *('"quoted"', "back\\slash", "über/日本語 🙂", "u\u0308ber", "..a", "a/..", "...", "versions", "a/versions/1"),
    *("user", "User:a", "us\u00e9r:a", "e" * 256),
]


def data(content: bytes, kind: str | None = "application/pdf") -> types.Part:
    return types.Part(inline_data=types.Blob(data=content, mime_type=kind))


def link(uri: str, kind: str | None = None) -> types.Part:
    return types.Part(file_data=types.FileData(file_uri=uri, mime_type=kind))


class Drawer:
    """The files of one session, or of its user."""

    def __init__(self, service: BaseArtifactService, app: str, session: str | None = "s", user: str = "u") -> None:
        self.service = service
        self.names: dict[str, Any] = {"app_name": app, "user_id": user, "session_id": session}

    async def save(self, name: str, part: types.Part | dict[str, Any], **rest: Any) -> int:
        return await self.service.save_artifact(**self.names, filename=name, artifact=part, **rest)

    async def load(self, name: str, version: int | None = None) -> types.Part | None:
        return await self.service.load_artifact(**self.names, filename=name, version=version)

    async def keys(self) -> list[str]:
        return await self.service.list_artifact_keys(**self.names)

    async def delete(self, name: str) -> None:
        await self.service.delete_artifact(**self.names, filename=name)

    async def versions(self, name: str) -> list[int]:
        return await self.service.list_versions(**self.names, filename=name)

    async def known(self, name: str) -> list[ArtifactVersion]:
        return await self.service.list_artifact_versions(**self.names, filename=name)

    async def one(self, name: str, version: int | None = None) -> ArtifactVersion | None:
        return await self.service.get_artifact_version(**self.names, filename=name, version=version)


@pytest.fixture
async def artifacts(server: Server) -> AsyncIterator[SessiondArtifactService]:
    async with SessiondArtifactService(server.url) as artifacts:
        yield artifacts


@pytest.fixture(params=["ADK's own", "sessiond"])
def service(request: pytest.FixtureRequest, artifacts: SessiondArtifactService) -> BaseArtifactService:
    """What these tests say of it, they say of ADK's own service, too."""
    return artifacts if request.param == "sessiond" else InMemoryArtifactService()


@pytest.fixture(autouse=True)
def sessions(plain: httpx.Client, app: str) -> None:
    for user, session in (("u", "s"), ("u", "s2"), ("v", "s"), ("u", "user")):
        plain.put(f"/apps/{app}/users/{user}/sessions/{session}").raise_for_status()


@pytest.fixture
def drawer(service: BaseArtifactService, app: str) -> Drawer:
    return Drawer(service, app)


@pytest.fixture
def ours(artifacts: SessiondArtifactService, app: str) -> Drawer:
    return Drawer(artifacts, app)


async def test_what_is_saved_is_loaded_until_it_is_deleted(drawer: Drawer) -> None:
    await drawer.delete("a")
    assert (await drawer.keys(), await drawer.known("a")) == ([], [])
    part = data(b"test", "text/plain")
    assert await drawer.save("a", part) == 0
    assert await drawer.load("a") == part
    for missing in (1, 3):
        assert await drawer.load("a", missing) is None
        assert await drawer.one("a", missing) is None
    await drawer.delete("a")
    assert await drawer.load("a") is None
    assert await drawer.load("a", 0) is None
    assert (await drawer.keys(), await drawer.versions("a"), await drawer.one("a")) == ([], [], None)


@pytest.mark.parametrize(
    "part",
    [
        data(bytes(range(256)), "image/png"),
        data(b"text", "text/plain"),
        data(b"text", "text/plain; charset=utf-8"),
        data(b'{"version": 1}', "application/json"),
        data(b'{"code": "artifact_not_found"}', "application/problem+json"),
        data(b"", "text/plain"),
        data(b"x", "application/octet-stream"),
        data(b"x", "no type at all"),
        types.Part(inline_data=types.Blob(data=b"x", mime_type="a/b", display_name='My "Bericht" (ü) 100%.png')),
        types.Part(inline_data=types.Blob(data=b"", mime_type="application/octet-stream", display_name="nothing")),
        types.Part(text="text"),
        types.Part(text=""),
        types.Part(text='{"inlineData": "überall"}\u0000\r\n🙂'),
        link("gs://bucket/file", "application/pdf"),
        link("https://host/?a=b#c"),
        types.Part(file_data=types.FileData(file_uri="gs://a/b", display_name="B")),
    ],
)
async def test_a_part_comes_back_as_what_it_was(drawer: Drawer, part: types.Part) -> None:
    given = part.model_copy(deep=True)
    assert await drawer.save("a", part) == 0
    assert await drawer.save("a", data(b"other")) == 1
    assert await drawer.load("a", 0) == part == given
    assert await drawer.save("a", part) == 2
    assert await drawer.load("a") == part


async def test_a_part_may_be_a_dict_in_either_spelling(drawer: Drawer) -> None:
    await drawer.save("a", {"inlineData": {"mimeType": "image/png", "data": "AAEC"}})
    await drawer.save("a", {"inline_data": {"mime_type": "image/png", "data": b"\x00\x01\x02"}})
    await drawer.save("a", {"text": "hello"})
    assert await drawer.load("a", 0) == await drawer.load("a", 1) == data(b"\x00\x01\x02", "image/png")
    assert await drawer.load("a", 2) == types.Part(text="hello")


@pytest.mark.parametrize(
    "part", [types.Part(), types.Part(function_call=types.FunctionCall(name="f")), types.Part(thought=True)]
)
async def test_what_is_no_file_is_refused(drawer: Drawer, part: types.Part) -> None:
    with pytest.raises(InputValidationError):
        await drawer.save("a", part)
    assert await drawer.versions("a") == []


async def test_names_within_one_another_are_files_of_their_own(drawer: Drawer) -> None:
    await drawer.save("doc", types.Part(text="parent 0"))
    for at in range(3):
        await drawer.save("doc/nested", types.Part(text=f"nested {at}"))
    assert (await drawer.versions("doc"), await drawer.versions("doc/nested")) == ([0], [0, 1, 2])
    assert [each.version for each in await drawer.known("doc")] == [0]
    assert await drawer.load("doc") == types.Part(text="parent 0")
    assert await drawer.save("doc", types.Part(text="parent 1")) == 1
    assert await drawer.keys() == ["doc", "doc/nested"]
    await drawer.delete("doc")
    assert await drawer.keys() == ["doc/nested"]
    assert await drawer.one("doc") is None
    assert await drawer.load("doc/nested") == types.Part(text="nested 2")


async def test_files_of_a_user_are_in_all_sessions(drawer: Drawer, app: str) -> None:
    other = Drawer(drawer.service, app, "s2")
    stranger = Drawer(drawer.service, app, user="v")
    assert await drawer.save("user:a", types.Part(text="mine")) == 0
    assert await drawer.save("a", types.Part(text="the session's")) == 0
    assert await other.load("user:a") == types.Part(text="mine")
    assert await other.load("a") is None
    assert await other.save("user:a", types.Part(text="mine, too")) == 1
    assert await drawer.versions("user:a") == await other.versions("user:a") == [0, 1]
    assert (await drawer.keys(), await other.keys(), await stranger.keys()) == (["a", "user:a"], ["user:a"], [])
    assert await stranger.load("user:a") is None
    assert await Drawer(drawer.service, app, None).keys() == ["user:a"]
    assert await Drawer(drawer.service, app, None).load("user:a", 0) == types.Part(text="mine")
    await other.delete("user:a")
    assert await drawer.keys() == ["a"]


async def test_files_of_apps_are_their_own(drawer: Drawer, plain: httpx.Client) -> None:
    other = Drawer(drawer.service, f"app_{uuid.uuid4().hex}")
    plain.put(f"/apps/{other.names['app_name']}/users/u/sessions/s").raise_for_status()
    for name in ("a", "user:a"):
        await drawer.save(name, types.Part(text="first"))
        assert await other.load(name) is None
        assert (await other.versions(name), await other.known(name), await other.one(name)) == ([], [], None)
        assert await other.save(name, types.Part(text="second")) == 0
        await other.delete(name)
        assert await drawer.load(name) == types.Part(text="first")
    assert (await drawer.keys(), await other.keys()) == (["a", "user:a"], [])


@pytest.mark.parametrize("name", ["a/b ü", "user:a/b ü"])
async def test_what_is_known_of_versions(drawer: Drawer, app: str, name: str) -> None:
    given: list[dict[str, Any] | None] = [{"key": "value"}, None, {"n": [1, 2.5, None, {"ü": "🙂"}]}, {}]
    for metadata in given:
        await drawer.save(name, data(b"x", "image/png"), custom_metadata=metadata)
    await drawer.save(name, types.Part(text="x"))
    await drawer.save(name, link("gs://a/b", "a/b"))
    await drawer.save(name, link("gs://a/b"))
    known = await drawer.known(name)
    assert [each.version for each in known] == [0, 1, 2, 3, 4, 5, 6]
    assert [each.custom_metadata for each in known] == [*(each or {} for each in given), {}, {}, {}]
    assert [each.mime_type for each in known] == [*["image/png"] * 4, "text/plain", "a/b", None]
    assert sorted(each.create_time for each in known) == [each.create_time for each in known]
    assert known[0].create_time > 1_700_000_000
    for each in known:
        assert await drawer.one(name, each.version) == each
    assert await drawer.one(name) == known[-1]
    assert await drawer.one(name, 7) is None
    if isinstance(drawer.service, SessiondArtifactService):
        whose = f"sessiond://apps/{app}/users/u" + ("" if name.startswith("user:") else "/sessions/s")
        assert known[3].canonical_uri == f"{whose}/artifacts/{name.replace('user:', 'user%3A')}/versions/3".replace(
            "a/b ü", "a%2Fb%20%C3%BC"
        )


async def test_a_reference_is_followed(drawer: Drawer, app: str) -> None:
    target = types.Part(text="target")
    await drawer.save("folder/file", target)
    await drawer.save("user:file", data(b"user's"))
    here = f"artifact://apps/{app}/users/u"
    await drawer.save("r0", link(f"{here}/sessions/s/artifacts/folder/file/versions/0", "text/plain"))
    assert await drawer.load("r0") == target
    for at in range(1, 5):
        await drawer.save(f"r{at}", link(f"{here}/sessions/s/artifacts/r{at - 1}/versions/0"))
    assert await drawer.load("r4") == target
    await drawer.save("r5", link(f"{here}/sessions/s/artifacts/r4/versions/0"))
    with pytest.raises(InputValidationError, match="depth"):
        await drawer.load("r5")
    await drawer.save("loop", link(f"{here}/sessions/s/artifacts/loop/versions/0"))
    with pytest.raises(InputValidationError, match="depth"):
        await drawer.load("loop")
    await drawer.save("to the user's", link(f"{here}/artifacts/user:file/versions/0"))
    assert await drawer.load("to the user's") == data(b"user's")
    await drawer.save("to nothing", link(f"{here}/artifacts/user:file/versions/1"))
    assert await drawer.load("to nothing") is None


async def test_a_reference_out_of_the_session_is_refused(drawer: Drawer, app: str) -> None:
    for uri in (
        f"artifact://apps/{app}/users/v/artifacts/user:a/versions/0",
        "artifact://apps/other/users/u/artifacts/user:a/versions/0",
        f"artifact://apps/{app}/users/u/sessions/s2/artifacts/a/versions/0",
        f"artifact://apps/{app}/users/u/sessions/s/artifacts/a",
        "artifact://",
    ):
        with pytest.raises(InputValidationError):
            await drawer.save("a", link(uri))
    assert await drawer.versions("a") == []


async def test_what_a_rewind_of_adk_takes_away_is_not_there(drawer: Drawer) -> None:
    await drawer.save("a", types.Part(text="there"))
    await drawer.save("a", data(b"", "application/octet-stream"))
    assert await drawer.load("a") is None
    assert await drawer.load("a", 0) == types.Part(text="there")
    assert await drawer.save("a", types.Part(text="again")) == 2
    assert await drawer.load("a") == types.Part(text="again")


@pytest.mark.parametrize("is_users", [False, True])
@pytest.mark.both_databases
async def test_any_name_is_a_name(ours: Drawer, is_users: bool) -> None:
    names = [f"user:{name}"[:256] for name in NAMES] if is_users else NAMES
    for at, name in enumerate(names):
        assert await ours.save(name, data(name.encode())) == 0, name
        assert await ours.save(name, types.Part(text=f"{at}"), custom_metadata={"name": name}) == 1, name
    assert await ours.keys() == sorted(names, key=str.encode)
    for at, name in enumerate(names):
        assert await ours.load(name) == types.Part(text=f"{at}"), name
        assert await ours.load(name, 0) == data(name.encode()), name
        known = await ours.one(name)
        assert known and known.custom_metadata == {"name": name}
        assert known.canonical_uri.count("/") == (9 if is_users else 11), name
        await ours.delete(name)
        assert await ours.versions(name) == [], name
    assert await ours.keys() == []


async def test_without_a_session_a_file_is_the_users(ours: Drawer, app: str) -> None:
    user = Drawer(ours.service, app, None)
    assert await user.save("a", types.Part(text="0")) == 0
    assert await user.save("user:a", types.Part(text="1")) == 1
    assert await ours.keys() == await user.keys() == ["user:a"]
    assert await user.load("a") == await user.load("user:a") == await ours.load("user:a") == types.Part(text="1")
    assert await ours.load("a") is None
    assert await user.versions("a") == [0, 1]
    assert await user.one("a") is not None
    await user.delete("a")
    assert await ours.keys() == []


async def test_white_space_around_the_id_of_a_session_is_not_part_of_it(ours: Drawer, app: str) -> None:
    padded = Drawer(ours.service, app, " s\n")
    await padded.save("a", types.Part(text="a"))
    assert await ours.load("a") == await padded.load("a") == types.Part(text="a")
    await padded.save("r", link(f"artifact://apps/{app}/users/u/sessions/s/artifacts/a/versions/0"))
    assert await padded.load("r") == await ours.load("r") == types.Part(text="a")
    assert await ours.keys() == await padded.keys() == ["a", "r"]


async def test_a_session_may_be_called_user(ours: Drawer, app: str) -> None:
    odd = Drawer(ours.service, app, "user")
    await odd.save("a", types.Part(text="a"))
    await ours.save("user:b", types.Part(text="b"))
    assert (await odd.keys(), await Drawer(ours.service, app, None).keys()) == (["a", "user:b"], ["user:b"])


async def test_without_the_session_there_are_only_files_of_the_user(ours: Drawer, app: str) -> None:
    lost = Drawer(ours.service, app, "never was")
    for part in (data(b"x"), data(bytes(32 << 20)), types.Part(text="x"), link("gs://a/b")):
        with pytest.raises(SessionNotFoundError, match="never was") as refused:
            await lost.save("a", part)
        cause = refused.value.__cause__
        assert isinstance(cause, SessiondError) and cause.outcome == "not_applied"
    assert await lost.load("a") is None
    assert (await lost.versions("a"), await lost.known("a"), await lost.one("a")) == ([], [], None)
    await lost.delete("a")
    assert await lost.save("user:a", types.Part(text="mine")) == 0
    assert await lost.keys() == ["user:a"]


async def test_files_go_with_their_session(ours: Drawer, plain: httpx.Client, app: str) -> None:
    await ours.save("a", data(b"x"))
    await ours.save("user:a", data(b"x"))
    path = f"/apps/{app}/users/u/sessions/s"
    assert plain.delete(path).status_code == 204
    plain.put(path).raise_for_status()
    assert await ours.keys() == ["user:a"]
    assert await ours.save("a", data(b"y")) == 0


async def test_the_log_of_the_session_is_left_alone(ours: Drawer, plain: httpx.Client, app: str) -> None:
    for part in (data(b"x"), types.Part(text="x"), link("gs://a/b")):
        await ours.save("a", part)
    stored = plain.get(f"/apps/{app}/users/u/sessions/s").json()
    assert (stored["revision"], stored["events"]) == (0, [])


async def test_there_is_no_version_below_0(ours: Drawer) -> None:
    await ours.save("a", data(b"0"))
    assert (await ours.load("a", -1), await ours.one("a", -1)) == (None, None)


async def test_numbers_of_deleted_versions_are_not_used_again(ours: Drawer) -> None:
    assert await ours.save("a", data(b"0")) == 0
    await ours.delete("a")
    assert await ours.save("a", data(b"1")) == 1
    assert (await ours.versions("a"), await ours.load("a", 0)) == ([1], None)


@pytest.mark.both_databases
async def test_5_mib_come_back_as_they_were(ours: Drawer) -> None:
    content = os.urandom(5 << 20)
    for name in ("a", "user:a"):
        assert await ours.save(name, data(content)) == 0
        assert await ours.load(name) == data(content)
    text = "ä\n" * (1 << 20)
    assert await ours.save("a", types.Part(text=text)) == 1
    assert await ours.load("a") == types.Part(text=text)


async def test_bytes_go_over_the_wire_as_they_are(app: str) -> None:
    saved = '201\n{"name":"a/b","version":7}'
    read = "200\nSessiond-Artifact-Kind: bytes\r\nContent-Type: a/b\nxyz"
    async with answering(saved, read) as scripted:
        async with SessiondArtifactService(scripted.url) as service:
            drawer = Drawer(service, "app", "s s")
            assert await drawer.save("a/b", data(b"xyz", "a/b"), custom_metadata={"ü": 1}) == 7
            assert await drawer.load("a/b", 7) == data(b"xyz", "a/b")
        put, get = scripted.requests
    head, _, body = put.partition("\r\n\r\n")
    path = "/v1/apps/app/users/u/sessions/s%20s/artifacts/a%2Fb"
    assert head.startswith(f"PUT {path}?event=none&metadata=%7B%22%C3%BC%22%3A1%7D HTTP/1.1\r\n")
    lines = {line.partition(": ")[0].lower(): line.partition(": ")[2] for line in head.splitlines()[1:]}
    assert (body, lines["content-length"], lines["content-type"]) == ("xyz", "3", "a/b")
    assert "transfer-encoding" not in lines
    assert uuid.UUID(lines["idempotency-key"])
    assert get.startswith(f"GET {path}?version=7 HTTP/1.1\r\n")


async def test_a_type_that_cannot_be_sent_is_refused(ours: Drawer) -> None:
    for kind in ("text/plain\r\nX: y", "ü", "text/plain\u0000"):
        with pytest.raises(InputValidationError):
            await ours.save("a", data(b"x", kind))
    await ours.save("a", data(b"x", None))
    assert await ours.load("a") == data(b"x", "application/octet-stream")
    with pytest.raises(InputValidationError):
        await ours.save("a", types.Part(inline_data=types.Blob(mime_type="a/b")))


async def test_metadata_has_a_limit(ours: Drawer) -> None:
    most = {"k": "x" * (8192 - len('{"k":""}'))}
    for part in (data(b"x"), types.Part(text="x")):
        version = await ours.save("a", part, custom_metadata=most)
        known = await ours.one("a", version)
        assert known and known.custom_metadata == most
        for bad in ({"k": most["k"] + "x"}, {"k": float("nan")}):
            with pytest.raises(ValueError):
                await ours.save("a", part, custom_metadata=bad)
    assert await ours.versions("a") == [0, 1]


@pytest.mark.both_databases
async def test_many_savers_make_dense_versions(ours: Drawer, server: Server) -> None:
    async with SessiondArtifactService(server.url) as second:
        others = Drawer(second, ours.names["app_name"])
        both = [(at, (ours, others)[at % 2]) for at in range(20)]
        contents = [data(f"{at}".encode()) if at % 3 else types.Part(text=f"{at}") for at in range(20)]
        versions = await asyncio.gather(*(drawer.save("a", contents[at]) for at, drawer in both))
    assert sorted(versions) == await ours.versions("a") == list(range(20))
    for at, version in enumerate(versions):
        assert await ours.load("a", version) == contents[at]


async def test_lists_longer_than_a_page_are_whole(ours: Drawer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sessiond_adk.artifacts._PAGE", "2")
    for at in range(5):
        await ours.save("a", types.Part(text=f"{at}"))
        await ours.save(f"b{at}", types.Part(text=f"{at}"))
    assert await ours.keys() == ["a", "b0", "b1", "b2", "b3", "b4"]
    assert await ours.versions("a") == [0, 1, 2, 3, 4]
    assert [(await ours.one("a", at) or known).version for at, known in enumerate(await ours.known("a"))] == list(
        range(5)
    )


@pytest.mark.both_databases
async def test_a_download_that_breaks_off_begins_again(ours: Drawer, network: Proxy, app: str) -> None:
    content = os.urandom(1 << 20)
    await ours.save("a", data(content))
    cuts = iter([100, 100_000, 1_000_000])
    network.cut_after = lambda: next(cuts, 1 << 30)
    async with SessiondArtifactService(network.url) as service:
        assert await Drawer(service, app).load("a") == data(content)
    assert network.connections == 4


async def test_a_file_beyond_the_limit_is_refused(tmp_path: Path, app: str) -> None:
    small = Server(f"sqlite://{tmp_path}/small.db", tmp_path / "small.log", "--max-artifact-bytes", "1000")
    try:
        async with SessiondArtifactService(small.url) as service:
            drawer = Drawer(service, app, None)
            assert await drawer.save("a", data(bytes(1000))) == 0
            for size in (1001, 32 << 20):
                for part in (data(bytes(size)), types.Part(text="x" * min(size, 1 << 20))):
                    with pytest.raises(SessiondInputError) as refused:
                        await drawer.save("a", part)
                    assert (refused.value.code, refused.value.outcome) == ("payload_too_large", "not_applied")
            assert await drawer.versions("a") == [0]
    finally:
        small.stop()


async def test_a_server_that_takes_no_byte_is_given_up() -> None:
    async def swallow_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await ended.wait()
        writer.close()

    ended = asyncio.Event()
    async with (
        listening(swallow_nothing) as url,
        SessiondArtifactService(url, timeout=1, retry_for=0) as service,
    ):
        with pytest.raises(SessiondError, match="WriteTimeout") as failed:
            await Drawer(service, "a").save("a", data(bytes(64 << 20)))
        assert failed.value.outcome == "unknown"
        with pytest.raises(SessiondError, match="ReadTimeout"):
            await Drawer(service, "a").load("a")
        ended.set()


async def test_a_file_may_take_longer_than_the_timeout(app: str) -> None:
    async def slowly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = "HTTP/1.1 200 OK", "Content-Type: a/b", "Sessiond-Artifact-Kind: bytes", "Content-Length: 8", "", ""
        writer.write("\r\n".join(head).encode())
        for _ in range(8):
            writer.write(b"x")
            await asyncio.sleep(0.4)
        writer.close()

    async with listening(slowly) as url, SessiondArtifactService(url, timeout=3, retry_for=0) as service:
        assert await Drawer(service, app).load("a") == data(b"x" * 8, "a/b")


async def test_a_refused_token_is_asked_for_again(app: str) -> None:
    tokens = iter(["old", "new"])
    with guard("new") as guarded:
        async with SessiondArtifactService(guarded.url, token=lambda: next(tokens)) as service:
            drawer = Drawer(service, app)
            with pytest.raises(AttributeError):  # `{}` is no version.
                await drawer.save("a", data(b"abc" * 200_000))
        assert [(token, len(body)) for token, body in guarded.requests] == [("old", 600_000), ("new", 600_000)]


async def test_bytes_of_another_server_are_an_error() -> None:
    async with (
        answering("200\nContent-Type: text/html\n<html>") as other,
        SessiondArtifactService(other.url) as service,
    ):
        with pytest.raises(SessiondError, match="not sessiond's"):
            await Drawer(service, "a").load("a")
