"""Files."""

import io
from pathlib import Path
from typing import BinaryIO

import pytest

from sessiond import AsyncClient, AsyncSession, Client, InputError, NotFoundError, SessiondError, StaleError, Version

from ..support.process import Server
from ..support.proxy import Proxy

BIG = bytes(range(256)) * 4096


async def test_files_have_versions(s: AsyncSession, db: AsyncClient, app: str) -> None:
    await s.create()
    first = await s.artifacts.save(
        "a/b ?.pdf", b"one", content_type="application/pdf", metadata={"n": 1.5}, display_name="B é", author="model"
    )
    assert isinstance(first, Version)
    assert (first.name, first.version, first.kind, first.content_type, first.size) == (
        *("a/b ?.pdf", 0, "bytes"),
        *("application/pdf", 3),
    )
    assert (first.metadata, first.display_name, len(first.sha256 or ""), first.uri) == ({"n": 1.5}, "B é", 64, None)
    text = await s.artifacts.save("a/b ?.pdf", "zwei", event=False)
    assert (text.version, text.kind) == (1, "text")
    files = s.artifacts
    assert await files.get("a/b ?.pdf").read() == b"zwei" and await files.get("a/b ?.pdf", version=0).read() == b"one"
    assert await files.get("a/b ?.pdf", at=1).read() == b"one"
    assert [each.version async for each in files.versions("a/b ?.pdf")] == [0, 1]
    assert [event.author async for event in s.events()] == ["model"]
    await db.user(app, "ada").artifacts.save("user:x", b"mine")
    assert [each.name async for each in files] == ["a/b ?.pdf", "user:x"]
    assert [each.name async for each in files.list(prefix="user:")] == ["user:x"]
    assert [each.name async for each in db.user(app, "ada").artifacts] == ["user:x"]
    await files.delete("a/b ?.pdf", version=0)
    await files.delete("never was")
    assert [each.version async for each in files.versions("a/b ?.pdf")] == [1]


async def test_a_file_that_there_is_not(s: AsyncSession) -> None:
    for code in ("session_not_found", "artifact_not_found"):
        with pytest.raises(NotFoundError) as missing:
            await s.artifacts.get("x").read()
        assert missing.value.code == code
        with pytest.raises(NotFoundError):
            await anext(aiter(s.artifacts.get("x")))
        await s.create(exist_ok=True)
    await s.artifacts.save("x", b"1", exist_ok=False)
    with pytest.raises(StaleError):
        await s.artifacts.save("x", b"2", exist_ok=False)
    with pytest.raises(InputError):
        await s.artifacts.save("", b"2")


async def test_a_file_comes_and_goes_in_pieces(s: AsyncSession, tmp_path: Path) -> None:
    await s.create()
    path = tmp_path / "big"
    path.write_bytes(b"head" + BIG)
    with path.open("rb") as file:
        # From where it is.
        file.seek(4)
        assert (await s.artifacts.save("big", file)).size == len(BIG)
    pieces = [piece async for piece in s.artifacts.get("big")]
    assert b"".join(pieces) == BIG and len(pieces) > 1

    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

    with pytest.raises(InputError, match="cannot be read from its beginning again"):
        await s.artifacts.save("pipe", Pipe(b"x"))


@pytest.mark.both_databases
async def test_a_save_is_done_once_whatever_gets_lost(far: AsyncSession, s: AsyncSession, network: Proxy) -> None:
    await s.create()
    files: list[BinaryIO | str | bytes] = [io.BytesIO(BIG), "text", BIG]
    for version, data in enumerate(files):
        network.lose_requests, network.lose_answers = 1, 1
        assert (await far.artifacts.save("x", data)).version == version
    assert await s.artifacts.get("x").read() == await s.artifacts.get("x", version=0).read() == BIG
    network.cut_after = lambda: 100_000
    with pytest.raises(SessiondError, match="cannot be reached"):
        async for _ in far.artifacts.get("x"):
            pass
    network.cut_after = None
    assert [each.version async for each in far.artifacts.versions("x")] == [0, 1, 2]


def test_files_are_assigned(server: Server, app: str) -> None:
    with Client(server.url) as db:
        s = db.session(app, "ada")
        s.create()
        s.artifacts["receipt.pdf"] = io.BytesIO(b"one")
        s.artifacts["receipt.pdf"] = b"two"
        assert s.artifacts.get("receipt.pdf", version=0).read() == b"one"
        assert [(file.name, file.version) for file in s.artifacts] == [("receipt.pdf", 1)]
