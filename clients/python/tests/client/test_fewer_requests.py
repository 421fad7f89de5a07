"""What the server does in one request, where there were several."""

import pytest

from sessiond import AsyncClient, AsyncSession, NotFoundError, StaleError
from sessiond._events import Op


async def test_a_session_is_made_with_its_first_events(s: AsyncSession, db: AsyncClient, app: str) -> None:
    first, _ = await s.append([{"author": "a"}, {"author": "b"}], create=True, if_revision=s.revision)
    assert (first.sequence, s.revision) == (1, 2)
    assert (await s.append(author="c", create=True)).sequence == 3
    with pytest.raises(StaleError):
        await db.session(app, "ada", s.id).append(author="d", create=True, if_revision=0)
    with pytest.raises(StaleError):
        await db.session(app, "ada", "other").append(author="d", create=True, if_revision=1)
    assert [found.id async for found in db.sessions(app)] == [s.id]


async def test_a_minimal_answer_says_where_an_event_is(s: AsyncSession) -> None:
    event = {"id": "e", "author": "a", "actions": {"stateDelta": {"k": 1}}}
    stored = await s.append(event, create=True, answer="minimal")
    assert (set(stored), s.revision) == ({"id", "sequence", "timestamp", "commitTime"}, 1)
    again, new = await s.append([event, {"author": "b"}], answer="minimal")
    assert (again, new.sequence, s.revision) == (stored, 2, 2)
    assert (await s.append(event)).delta == {"k": 1}


async def test_what_a_change_comes_to_is_asked_for_only_if_it_is_not_known(s: AsyncSession) -> None:
    await s.create(state={"gone": 1, "n": 1})
    ops: list[Op] = [
        {"op": "set", "key": "a", "value": [1]},
        {"op": "remove", "key": "gone"},
        {"op": "set", "key": "b", "value": 1},
        {"op": "remove", "key": "b"},
    ]
    assert await s.apply(ops, once="o") == await s.apply(ops, once="o") == {"a": [1]}
    assert await s.apply([*ops, {"op": "increment", "key": "n", "value": 1}]) == {"a": [1], "n": 2}
    assert (await s.state(), s.revision) == ({"a": [1], "n": 2}, 2)


async def test_state_of_a_prefix(s: AsyncSession) -> None:
    await s.create(state={"lg/a": 1, "lg/b": 2, "lh": 3, "user:lg": 4})
    assert await s.state(prefix="lg/") == {"lg/a": 1, "lg/b": 2}
    assert await s.state(prefix="user:") == {"user:lg": 4}


async def test_keys_of_apps_and_users(db: AsyncClient, app: str) -> None:
    for scope in (db.app(app), db.user(app, "ada")):
        with pytest.raises(NotFoundError) as missing:
            await scope.get("a/b")
        assert missing.value.code == "state_key_not_found"
        assert await scope.get("a/b", None) is None
        await scope.set("other", 0)
        ops: list[Op] = [{"op": "set", "key": "a/b", "value": 1}, {"op": "set", "key": "c", "value": None}]
        assert await scope.apply([*ops, {"op": "remove", "key": "other"}]) == {"a/b": 1, "c": None}
        assert (await scope.get("a/b"), await scope.get("c", 7), scope.revision) == (1, None, 2)
        assert await scope.state(prefix="a/") == {"a/b": 1}
