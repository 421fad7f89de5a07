"""Search over what was said."""

import pytest

from sessiond import AsyncClient, AsyncSession, ConflictError, Hit, InputError, text

from .both import Connect


async def switch_on(db: AsyncClient, app: str) -> None:
    await db.request("PUT", f"/v1/apps/{app}/policy", json={"search": {"index": True}})


@pytest.mark.both_databases
async def test_what_was_said_is_found(s: AsyncSession, db: AsyncClient, app: str) -> None:
    await switch_on(db, app)
    await s.create(display_name="Tea & cake")
    other = db.session(app, "ada", "s 2")
    said = ["Green tea, please", "A cake", "The tea is GRÜN and green"]
    first = await s.append(author="user", content=text("user", said[0]))
    await s.append(author="waiter", content=text("model", said[1]))
    last = await other.append(author="user", content=text("user", said[2]), create=True)
    await db.session(app, "bob", "s").append(author="user", content=text("user", "green tea"), create=True)

    found = await db.search(app, "ada", "green cake")
    assert found.complete and len(found.hits) == 3
    best = found.hits[0]
    assert isinstance(best, Hit) and best.score > found.hits[1].score == found.hits[2].score
    assert (best.session_id, best.display_name, best.event.text) == ("s 1", "Tea & cake", said[1])
    assert [hit.event.text for hit in found.hits[1:]] == [said[2], said[0]]
    assert found.hits[1].display_name is None

    async def texts(words: str, **narrowed: object) -> list[str]:
        return [hit.event.text for hit in (await db.search(app, "ada", words, **narrowed)).hits]  # type: ignore[arg-type]

    assert await texts("grun") == [said[2]]
    assert await texts("gree") == []
    assert await texts("green", limit=1) == [said[2]]
    assert await texts("tea cake", author="waiter") == [said[1]]
    assert await texts("tea", session="s 1") == [said[0]]
    assert await texts("tea", except_session="s 1") == [said[2]]
    assert await texts("tea", session="none") == []
    assert await texts("tea", until=last.commit_time) == [said[0]]
    assert await texts("tea", since=last.commit_time) == [said[2]]
    await s.rewind(to_revision=0)
    assert await texts("tea cake") == [said[2]]
    assert first.text == said[0]


async def test_an_app_without_an_index_says_how_it_gets_one(db: AsyncClient, app: str) -> None:
    with pytest.raises(ConflictError, match=r'PUT .*/policy.*"search": \{"index": true\}') as failed:
        await db.search(app, "ada", "tea")
    assert failed.value.code == "search_off"


async def test_what_is_no_search_is_refused(client: Connect, db: AsyncClient, app: str) -> None:
    await switch_on(db, app)
    for words, narrowed in [("?!", {}), ("", {}), ("tea", {"limit": 101}), ("tea", {"limit": 0})]:
        with pytest.raises(InputError):
            await db.search(app, "ada", words, **narrowed)  # type: ignore[arg-type]
