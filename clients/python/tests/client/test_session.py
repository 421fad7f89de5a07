"""What the handle of a session does, on both databases, synchronous and asynchronous."""

from typing import Any

import httpx
import pytest

from sessiond import (
    AsyncClient,
    AsyncSession,
    ConflictError,
    Event,
    GoneError,
    InputError,
    NotFoundError,
    Snapshot,
    StaleError,
    absent,
    equals,
    exists,
    text,
    unchanged,
)


async def sequences(events: Any) -> list[int]:
    return [event.sequence async for event in events]


async def many(s: AsyncSession, count: int) -> None:
    await s.create()
    await s.append(
        [{"author": "a", "invocationId": f"i{n}", "actions": {"stateDelta": {"n": n}}} for n in range(count)]
    )


async def test_a_session_is_made_once(s: AsyncSession, db: AsyncClient, app: str) -> None:
    made = await s.create(
        state={"user:name": "Ada", "app:open": True, "k": 1},
        events=[{"author": "user", "actions": {"stateDelta": {"k": 2}}}],
        display_name="Tea",
        labels={"kind": "order"},
        ttl=3600,
    )
    assert isinstance(made, Snapshot) and made == await s.get()
    assert (made.id, made.app, made.user, made.revision, s.revision) == ("s 1", app, "ada", 1, 1)
    assert made.state == {"user:name": "Ada", "app:open": True, "k": 2}
    assert (made.display_name, made.labels, made.forked_from, made.base_revision) == ("Tea", {"kind": "order"}, None, 0)
    assert made.expire_time == pytest.approx(made.create_time + 3600)
    (first,) = made.events
    assert isinstance(first, Event) and first.delta == {"k": 2} and made.last_update_time == first.timestamp
    with pytest.raises(ConflictError) as there:
        await s.create()
    assert (there.value.status, there.value.code, there.value.outcome) == (409, "session_already_exists", "not_applied")
    assert there.value.request_id
    again = db.session(app, "ada", " s 1 ")
    assert (await again.create(state={"k": 9}, exist_ok=True)).state["k"] == 2
    assert again.revision == 1
    # One without an id gets one of its own.
    assert db.session(app, "ada").id != db.session(app, "ada").id


async def test_a_handle_of_nothing(s: AsyncSession) -> None:
    assert s.revision == 0
    for call in (s.get(), s.state(), s.append(author="a"), s.increment("n"), s.fork(), s.set_metadata(ttl=None)):
        with pytest.raises(NotFoundError) as gone:
            await call
        assert (gone.value.status, gone.value.code) == (404, "session_not_found")
    with pytest.raises(NotFoundError):
        await sequences(s.events())
    with pytest.raises(NotFoundError):
        await anext(aiter(s.watch()))
    await s.delete()


@pytest.mark.both_databases
async def test_events_come_back_as_they_were_given(s: AsyncSession) -> None:
    await s.create()
    said = await s.append(
        id="e1",
        author="user",
        content=text("user", "A green ", "tea"),
        delta={"step": 1, "temp:t": 1},
        ops=[{"op": "increment", "key": "n", "value": 2}],
        when=[absent("n")],
        invocation_id="i1",
        branch="b",
        metadata={"x": {"y": [1, "2", None]}},
    )
    assert (said.id, said.author, said.text, said.invocation_id, said.branch) == (
        "e1",
        "user",
        "A green tea",
        "i1",
        "b",
    )
    assert (said.sequence, said.delta, said.metadata) == (1, {"step": 1, "n": 2}, {"x": {"y": [1, "2", None]}})
    assert said.commit_time >= said.timestamp > 1e9
    assert (said.cursor, said.replayed, said.redacted) == ("1", False, None)
    whole = await s.append({"author": "model", "content": {"parts": [{"odd": 1}]}, "somethingElse": {"z": 1, "a": 2}})
    assert (whole["somethingElse"], whole.text, list(whole["somethingElse"])) == ({"z": 1, "a": 2}, "", ["z", "a"])
    assert whole.id and whole == await s.event(whole.id)
    assert [event async for event in s.events()] == (await s.get()).events == [said, whole]
    # What was read can be sent back: the session has it.
    assert (await s.append(said)).replayed and [e.replayed for e in await s.append([whole])] == [True]
    assert s.revision == 2
    with pytest.raises(ConflictError) as other:
        await s.append({**said, "author": "else"})
    assert other.value.code == "event_id_conflict"
    partial = await s.append(author="model", content=text("model", "Com"), partial=True)
    assert "sequence" not in partial and s.revision == 2
    with pytest.raises(AttributeError, match="`sequence`"):
        partial.sequence  # noqa: B018 - there is none.
    with pytest.raises(NotFoundError) as unknown:
        await s.event("nope")
    assert unknown.value.code == "event_not_found"


async def test_wrong_arguments_are_told(s: AsyncSession) -> None:
    await s.create()
    with pytest.raises(TypeError, match="no field autor"):
        await s.append(autor="user")  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="both, it and author"):
        await s.append({"author": "a"}, author="a")  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="of one key"):
        await s.state("k", at=1)  # type: ignore[call-overload]
    with pytest.raises(InputError) as refused:
        await s.append({"autor": "a", "actions": {"stateDelta": {"\0": 1}}})
    assert refused.value.status == 422 and refused.value.problem["errors"]
    assert isinstance(refused.value, ValueError)


async def test_a_batch_is_all_or_none(s: AsyncSession) -> None:
    await s.create()
    first, second = await s.append([{"author": "a"}, {"author": "b"}])
    assert (first.sequence, second.sequence, s.revision) == (1, 2, 2)
    with pytest.raises(ConflictError):
        await s.append([{"author": "c"}, {"id": first.id, "author": "d"}])
    assert (await s.get()).revision == 2


@pytest.mark.both_databases
async def test_who_was_slower_is_told(s: AsyncSession, db: AsyncClient, app: str) -> None:
    await s.create()
    other = db.session(app, "ada", s.id)
    assert (await other.append(author="a", if_revision=other.revision)).sequence == 1
    for write in (
        s.append(author="b", if_revision=s.revision),
        s.set("k", 1, if_revision=s.revision),
        s.rewind(to_revision=0, if_revision=0),
    ):
        with pytest.raises(StaleError) as stale:
            await write
        assert (stale.value.status, stale.value.revision, stale.value.outcome) == (412, 1, "not_applied")
    # A write without a condition does not make the handle forget that it has not seen all.
    await s.append(author="b")
    assert s.revision == 0
    assert (await s.get()).revision == s.revision == 2
    assert (await s.append(author="b", if_revision=s.revision)).sequence == s.revision == 3


async def test_state(s: AsyncSession) -> None:
    await s.create(state={"user:name": "Ada", "k": 1, "none": None})
    await s.append(author="a", delta={"k": 2, "app:k": [1]})
    assert await s.state() == {"user:name": "Ada", "k": 2, "none": None, "app:k": [1]}
    assert await s.state(at=0) == {"user:name": "Ada", "k": 1, "none": None}
    assert await s.state(scope="session") == {"k": 2, "none": None}
    assert await s.state(keys=["k", "nope"]) == {"k": 2}
    assert (await s.state("app:k"), await s.state("none"), await s.state("k")) == ([1], None, 2)
    assert (await s.state("nope", None), await s.state("nope", 7)) == (None, 7)
    with pytest.raises(NotFoundError) as missing:
        await s.state("nope")
    assert missing.value.code == "state_key_not_found"
    with pytest.raises(InputError):
        await s.state(at=9)


async def test_operators(s: AsyncSession, db: AsyncClient, app: str) -> None:
    await s.create()
    assert [await s.increment("app:orders") for _ in range(2)] == [1, 2]
    assert await s.increment("long", 10**40) == 10**40 and await s.increment("half", 0.5) == 0.5
    assert await s.push("l", 1, 2) == [1, 2] and await s.union("l", 2, 3) == [1, 2, 3]
    assert await s.merge("o", {"a": 1, "b": 2}) == {"a": 1, "b": 2}
    assert await s.merge("o", {"a": None}) == {"b": 2}
    assert (await s.max("m", 4), await s.max("m", 2), await s.min("m", 1)) == (4, 4, 1)
    await s.set("k", None)
    assert await s.state("k") is None
    await s.remove("k")
    assert await s.apply([{"op": "set", "key": "k", "value": 1}, {"op": "remove", "key": "m"}]) == {"k": 1}
    assert s.revision == (await s.get()).revision == 14
    with pytest.raises(InputError, match="l"):
        await s.increment("l")
    last = [event async for event in s.events(last=1)]
    assert [(event.author, event.delta) for event in last] == [("user", {"k": 1})]
    await s.apply([{"op": "increment", "key": "k", "value": 1}], author="model", invocation_id="i")
    assert [event.author async for event in s.events(invocation_id="i")] == ["model"]


async def test_preconditions(s: AsyncSession) -> None:
    await s.create(state={"seat": None})
    await s.set("user:seat", "a", when=[exists("seat"), absent("user:seat")])
    for condition in (absent("seat"), exists("x"), equals("user:seat", "b"), unchanged("user:seat", 0)):
        with pytest.raises(StaleError) as failed:
            await s.increment("n", when=[equals("seat", None), condition])
        assert failed.value.code == "revision_mismatch"
    assert await s.state("n", 0) == 0


@pytest.mark.both_databases
async def test_a_change_of_an_id_is_made_once(s: AsyncSession, db: AsyncClient, app: str) -> None:
    await s.create()
    assert await s.increment("n", once="order 1") == 1
    await s.increment("n")
    # By another program, in another turn.
    ops = [{"op": "increment", "key": "n", "value": 1}]
    again = await db.session(app, "ada", s.id).apply(ops, once="order 1", author="model", invocation_id="i")
    assert (again, await s.state("n")) == ({"n": 1}, 2)
    with pytest.raises(ConflictError):
        await s.increment("n", 2, once="order 1")


async def test_events_are_listed_page_by_page(s: AsyncSession) -> None:
    await many(s, 12)
    s.revision = 0
    assert await sequences(s.events(page_size=5)) == list(range(1, 13))
    assert s.revision == 12
    assert await sequences(s.events(last=7, page_size=3)) == list(range(6, 13))
    assert await sequences(s.events(last=3, reverse=True)) == [12, 11, 10]
    assert await sequences(s.events(last=0)) == [] and await sequences(s.events(last=99)) == list(range(1, 13))
    assert await sequences(s.events(after=3, before=6)) == [4, 5]
    assert await sequences(s.events(invocation_id="i4")) == [5] and await sequences(s.events(author="b")) == []
    assert [event.sequence for event in (await s.get(last=2)).events] == [11, 12]
    assert (await s.get(last=0)).events == []
    with pytest.raises(InputError):
        await sequences(s.events(last=-1))


async def test_forks_and_rewinds(s: AsyncSession, db: AsyncClient, app: str) -> None:
    await many(s, 4)
    copy = await s.fork(at=2)
    assert (copy.revision, copy.id != s.id, (await copy.get()).state) == (2, True, {"n": 1})
    named = await s.fork(id="copy")
    assert (named.id, named.revision) == ("copy", 4)
    with pytest.raises(ConflictError):
        await s.fork(id="copy")
    forks = {found.id: found.forked_from async for found in db.sessions(app, "ada", forked_from=s.id)}
    assert forks == {copy.id: {"sessionId": s.id, "revision": 2}, "copy": {"sessionId": s.id, "revision": 4}}

    back = await s.rewind(before_invocation="i2", if_revision=4)
    assert (back.state, back.revision, s.revision) == ({"n": 1}, 5, 5)
    assert await sequences(s.events(effective=True)) == await sequences(s.events(rewound=False)) == [1, 2]
    assert [event.sequence for event in (await s.get(effective=True)).events] == [1, 2]
    assert (await s.rewind(to_revision=1)).state == {"n": 0}
    with pytest.raises(NotFoundError) as unknown:
        await s.rewind(before_invocation="nope")
    assert unknown.value.code == "event_not_found"


async def test_redaction_and_trim(s: AsyncSession) -> None:
    await many(s, 3)
    said = await s.append(author="user", content=text("user", "secret"), delta={"k": 1})
    gone = await s.redact(said.id, reason="asked for", state="remove")
    assert (gone.sequence, gone.text, gone.redacted and gone.redacted["reason"]) == (4, "", "asked for")
    assert "k" not in await s.state()
    assert await s.trim(before=3) == 2
    assert await sequences(s.events(before=5)) == [3, 4]
    for read in (s.state(at=1), s.fork(at=1)):
        with pytest.raises(GoneError) as trimmed:
            await read
        assert (trimmed.value.code, trimmed.value.base_revision) == ("revision_trimmed", 2)
    assert (await s.get()).base_revision == 2


async def test_metadata_lists_and_templates(s: AsyncSession, db: AsyncClient, app: str) -> None:
    await s.create(state={"user:name": "Ada"}, labels={"env": "prod"}, ttl=60)
    changed = await s.set_metadata(display_name="Tea", ttl=None)
    assert (changed.display_name, changed.labels, changed.expire_time) == ("Tea", {"env": "prod"}, None)
    assert (await s.set_metadata(labels={"env": "test"})).labels == {"env": "test"}
    for user in ("ada", "bob"):
        for n in range(3):
            await db.session(app, user, f"n{n}").create()
    assert [found.id async for found in db.sessions(app, labels={"env": "test"})] == [s.id]
    assert sorted([found.id async for found in db.sessions(app, "bob", page_size=2)]) == ["n0", "n1", "n2"]
    assert {(found.user, found.id) async for found in db.sessions(app, id_prefix="n", user_prefix="b")} == {
        ("bob", f"n{n}") for n in range(3)
    }
    latest = [found async for found in db.sessions(app, "ada", order_by="createTime", reverse=True, include_state=True)]
    assert [found.id for found in latest] == ["n2", "n1", "n0", s.id]
    assert latest[0].state == {"user:name": "Ada"} and "events" not in latest[0]
    assert [user async for user in db.users(app)] == ["ada", "bob"]
    assert app in [name async for name in db.apps()]
    assert await s.render("For {user:name}{topic?}.") == "For Ada."
    with pytest.raises(InputError, match="topic"):
        await s.render("{topic}")
    assert await s.render("{topic}", missing="keep") == "{topic}"


@pytest.mark.both_databases
async def test_ids_may_have_anything_in_them(db: AsyncClient, app: str) -> None:
    s = db.session(app, "Ada/1 ?", "a/b ..%2F é")
    await s.create()
    await s.append(id="e/1", author="a", delta={"k/1 ?": 1})
    assert (await s.event("e/1")).delta == {"k/1 ?": 1} and await s.state("k/1 ?") == 1
    assert [(found.user, found.id) async for found in db.sessions(app)] == [(s.user, s.id)]
    with pytest.raises(InputError):
        await db.session(app, "..", "s").create()


async def test_state_of_apps_and_users(db: AsyncClient, app: str) -> None:
    of_app, of_user = db.app(app), db.user(app, "ada")
    assert await of_app.state() == {} and await of_user.state() == {}
    assert await of_app.increment("orders") == 1 and await of_app.increment("orders", once="x") == 2
    assert await of_app.increment("orders", once="x") == 2
    assert await of_user.push("items", "tea") == ["tea"]
    assert (await of_app.state(), await of_user.state()) == ({"orders": 2}, {"items": ["tea"]})
    assert (of_app.revision, of_user.revision) == (2, 1)
    with pytest.raises(StaleError):
        await of_app.set("orders", 0, if_revision=1)
    with pytest.raises(StaleError):
        await of_user.remove("items", when=[absent("items")])
    await of_user.remove("items", if_revision=of_user.revision)
    assert await of_user.state() == {}
    s = db.session(app, "ada")
    assert (await s.create()).state == {"app:orders": 2}


async def test_the_past_of_a_key(s: AsyncSession, db: AsyncClient, app: str) -> None:
    await s.create(state={"a/b": 0})
    await s.append({"id": "e1", "author": "a", "actions": {"stateDelta": {"a/b": None, "app:k": 1}}})
    await s.remove("a/b")
    changes = [change async for change in s.state_history("a/b", page_size=1)]
    shown = [(each.revision, each.value, each.removed, each.base) for each in changes]
    assert shown == [(2, None, True, False), (1, None, False, False), (0, 0, False, True)]
    assert changes[2].by is None and changes[1].by is not None and changes[1].time > 1e9
    assert (changes[1].by["sessionId"], changes[1].by["eventId"], changes[1].by["author"]) == (s.id, "e1", "a")
    oldest = [change.revision async for change in s.state_history("a/b", oldest_first=True)]
    assert oldest == [0, 1, 2]
    await db.app(app).set("k", 2)
    for of, key in [(s, "app:k"), (db.app(app), "k")]:
        past = [(change.value, change.by and change.by["sequence"]) async for change in of.state_history(key)]
        assert past == [(2, None), (1, 1)]
    with pytest.raises(NotFoundError):
        _ = [change async for change in db.user(app, "ada").state_history("k")]


async def test_what_has_no_method(db: AsyncClient, app: str, plain: httpx.Client) -> None:
    assert (await db.request("GET", "/v1/info"))["version"]
    policy = {"events": {"keepLast": 5}}
    assert (await db.request("PUT", f"/v1/apps/{app}/policy", json=policy))["events"] == policy["events"]
    assert await db.request("DELETE", f"/v1/apps/{app}/policy") is None
    # A path that there is not is no empty answer.
    with pytest.raises(Exception, match="not_found") as unknown:
        await db.request("GET", "/v2")
    assert not isinstance(unknown.value, NotFoundError)
