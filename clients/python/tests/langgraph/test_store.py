"""LangGraph's store: LangGraph has no suite of stores, so its documented examples, its own store, and what is ours."""

import asyncio
import inspect
import itertools
import random
import uuid
from collections.abc import AsyncIterator
from datetime import datetime, timezone
from typing import Any, TypedDict

import httpx
import pytest
from langgraph.graph import START, StateGraph
from langgraph.store.base import (
    BaseStore,
    GetOp,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from sessiond import Client, InputError
from sessiond.langgraph import SessiondStore

from ..support.process import Server
from ..support.proxy import Proxy
from ..support.wire import Wire


class Both:
    """A store whose operations are sent now by the one, now by the other kind of methods."""

    def __init__(self, store: BaseStore) -> None:
        self._store = store
        self._turn = itertools.cycle((True, False))

    def __getattr__(self, name: str) -> Any:
        async def call(*args: Any, **kwargs: Any) -> Any:
            if next(self._turn):
                return await asyncio.to_thread(getattr(self._store, name), *args, **kwargs)
            return await getattr(self._store, f"a{name}")(*args, **kwargs)

        return call


@pytest.fixture
async def ours(server: Server, app: str) -> AsyncIterator[SessiondStore]:
    with SessiondStore(server.url, app=app) as store:
        async with store:
            yield store


@pytest.fixture
def store(ours: SessiondStore) -> Any:
    return Both(ours)


def keys(found: list[Any]) -> list[str]:
    return [each.key for each in found]


@pytest.mark.both_databases
async def test_an_item(store: Any) -> None:
    began = datetime.now(timezone.utc)
    assert await store.get(("users", "123"), "prefs") is None
    await store.put(("users", "123"), "prefs", {"theme": "dark", "size": 1.5, "no": None, "in": [{"x": True}]})
    first = await store.get(("users", "123"), "prefs")
    assert first.value == {"theme": "dark", "size": 1.5, "no": None, "in": [{"x": True}]}
    assert (first.namespace, first.key) == (("users", "123"), "prefs")
    assert began <= first.created_at == first.updated_at <= datetime.now(timezone.utc)
    # A value is replaced whole, and was created when it was.
    await store.put(("users", "123"), "prefs", {"theme": "light"})
    second = await store.get(("users", "123"), "prefs")
    assert second.value == {"theme": "light"}
    assert second.created_at == first.created_at < second.updated_at
    await store.delete(("users", "123"), "prefs")
    await store.delete(("users", "123"), "never was")
    assert await store.get(("users", "123"), "prefs") is None
    assert await store.search(("users",)) == [] and await store.list_namespaces() == []
    await store.put(("users", "123"), "prefs", {})
    assert (await store.get(("users", "123"), "prefs")).created_at > second.created_at


async def test_filters_as_documented(store: Any) -> None:
    documents = {
        "a": {"type": "report", "status": "active", "score": 4.99, "color": "red"},
        "b": {"type": "report", "status": "active", "score": 5, "color": "blue"},
        "c": {"type": "report", "status": "closed", "score": 3.0, "color": "red"},
        "d": {"type": "note", "status": "active", "on": "2026-01-02", "flag": True},
    }
    for key, value in documents.items():
        await store.put(("documents",), key, value)
    for filter, expected in [
        ({"type": "report", "status": "active"}, "ba"),
        ({"score": {"$gt": 4.99}}, "b"),
        ({"score": {"$gte": 3.0}, "color": "red"}, "ca"),
        ({"score": {"$lt": 4.99}}, "c"),
        ({"score": {"$lte": 4.99}}, "ca"),
        ({"score": {"$gt": 3, "$lt": 5}}, "a"),
        ({"status": {"$eq": "closed"}}, "c"),
        ({"color": {"$ne": "red"}}, "db"),
        ({"on": {"$gte": "2026-01-01"}}, "d"),
        ({"flag": 1}, ""),
        ({"flag": True}, "d"),
        ({"score": {"$gt": "4"}}, ""),
    ]:
        assert keys(await store.search(("documents",), filter=filter)) == [*expected], filter
    with pytest.raises(ValueError, match=r"\$in"):
        await store.search(("documents",), filter={"score": {"$in": [1]}})


async def test_namespaces_as_documented(store: Any) -> None:
    for labels in ("a b c", "a b d e", "a b d i", "a b f", "a c f"):
        await store.put(tuple(labels.split()), "key", {})
    found = await store.list_namespaces(prefix=("a", "b"), max_depth=3)
    assert found == [("a", "b", "c"), ("a", "b", "d"), ("a", "b", "f")]
    await store.put(("z", "f"), "key", {})
    assert await store.list_namespaces(suffix=("f",)) == [("a", "b", "f"), ("a", "c", "f"), ("z", "f")]
    assert await store.list_namespaces(prefix=("a", "*", "f")) == [("a", "b", "f"), ("a", "c", "f")]
    assert await store.list_namespaces(prefix=("*", "f")) == [("z", "f")]
    assert await store.list_namespaces(prefix=("a",), suffix=("d", "*")) == [("a", "b", "d", "e"), ("a", "b", "d", "i")]
    assert await store.list_namespaces(max_depth=1) == [("a",), ("z",)]
    assert await store.list_namespaces(limit=2, offset=4) == [("a", "c", "f"), ("z", "f")]


async def test_pages_of_what_was_put_last(store: Any) -> None:
    for number in range(25):
        await store.put(("ada", "memories"), f"m{number}", {"number": number, "even": number % 2 == 0})
    await store.put(("ada", "other"), "x", {})
    await store.put(("ada", "memories"), "m3", {"number": 3})
    assert keys(await store.search(("ada", "memories"))) == ["m3", *(f"m{number}" for number in range(24, 15, -1))]
    assert keys(await store.search(("ada", "memories"), limit=3, offset=23)) == ["m1", "m0"]
    even = await store.search(("ada", "memories"), filter={"even": True}, limit=2, offset=1)
    assert keys(even) == ["m22", "m20"]
    assert len(await store.search(("ada",), limit=100)) == 26
    # A label is no beginning of another one.
    assert await store.search(("ada", "mem")) == []
    # There are no vectors.
    assert keys(await store.search(("ada", "other"), query="anything")) == ["x"]
    await store.put(("ada", "other"), "x", {"text": "y"}, index=["text"])


NAMES = [
    "a/b", "a%2Fb", "a,b", "a;created", "a b", " a ", "a\tb", "ä\u2003", "\U0001f375", "Ada", "..", "%", "lg",
    "temp:x", "user:x", "ada@example.org",
]  # fmt: skip


@pytest.mark.both_databases
async def test_any_name_is_its_own(store: Any) -> None:
    labels = [name for name in NAMES if "." not in name]
    put = {((root, label), key) for root, label, key in zip(labels, labels[1:], NAMES, strict=False)}
    put |= {(("x", "y"), key) for key in [*NAMES, "", "\0", "k" * 450]}
    for namespace, key in sorted(put):
        await store.put(namespace, key, {"of": [*namespace, key]})
    for namespace, key in put:
        assert (await store.get(namespace, key)).value == {"of": [*namespace, key]}
    found = await store.search((), limit=1000)
    assert {(each.namespace, each.key) for each in found} == put
    assert all(each.value == {"of": [*each.namespace, each.key]} for each in found)
    assert await store.list_namespaces() == sorted({namespace for namespace, _ in put})


async def test_what_breaks_a_limit_is_refused(store: Any, plain: httpx.Client, app: str) -> None:
    for namespace, key in [(("r" * 260,), "k"), (("r",), "k" * 520), (("r", *("l" * 100 for _ in range(6))), "k")]:
        with pytest.raises(InputError):
            await store.put(namespace, key, {})
    with pytest.raises(InputError):
        await store.put(("r", "\ud800"), "k", {})
    with pytest.raises(InputError):
        await store.put(("r",), "k", {"large": "x" * (5 << 20)})
    with pytest.raises(InputError):
        await store.put(("r",), "k", {"when": datetime.now(timezone.utc)})
    with pytest.raises(InputError, match="label or key"):
        await store.batch([GetOp(("r", 5), "k")])  # type: ignore[arg-type]
    with pytest.raises(NotImplementedError, match=r"[Tt][Tt][Ll]|ttl"):
        await store.put(("r",), "k", {}, ttl=5)
    with pytest.raises(NotImplementedError, match="ttl"):
        await store.batch([PutOp(("r",), "first", {}), PutOp(("r",), "k", {}, ttl=5)])
    for op in (GetOp((), "k"), PutOp((), "k", {})):
        with pytest.raises(InputError, match="namespace"):
            await store.batch([op])
    assert plain.get(f"/apps/{app}/sessions").json()["sessions"] == []


async def test_values_that_sessiond_refuses(store: Any) -> None:
    deep: Any = []
    for _ in range(80):
        deep = [deep]
    value = {"deep": deep, "half": "\ud800", "nul\0": 2**2000}
    await store.put(("r",), "k", value)
    assert (await store.get(("r",), "k")).value == value
    assert (await store.search(("r",), filter={"half": "\ud800"}))[0].value == value


@pytest.mark.both_databases
async def test_it_lies_where_it_is_documented(
    ours: SessiondStore, server: Server, plain: httpx.Client, app: str
) -> None:
    await ours.aput(("ada@x", "a/b"), "k,1", {"likes": "tea"})
    path = f"/apps/{app}/users/langgraph/sessions/store%2Fada@x"
    state = plain.get(f"{path}/state").json()
    assert state.keys() == {"lg/store/a%2Fb/k%2C1", "lg/store/a%2Fb/k%2C1;created"}
    updated = state["lg/store/a%2Fb/k%2C1"]["updated"]
    assert state == {
        "lg/store/a%2Fb/k%2C1": {"value": {"likes": "tea"}, "updated": updated},
        "lg/store/a%2Fb/k%2C1;created": updated,
    }
    # Other keys and other sessions are none of its items.
    with Client(server.url) as db:
        db.session(app, "langgraph", "store/ada@x").set("lg/store/a%2Fb/odd", 1)
        db.session(app, "langgraph", "other").create(state={"lg/store/k": {"value": {}, "updated": 1}})
    assert [each.key for each in await ours.asearch(())] == ["k,1"]
    # An item of others may say nothing of when it was made.
    with Client(server.url) as db:
        db.session(app, "langgraph", "store/ada@x").set("lg/store/new", {"value": {"x": 1}, "updated": 5})
    item = await ours.aget(("ada@x",), "new")
    assert item and item.value == {"x": 1} and item.created_at == datetime.fromtimestamp(5, timezone.utc)


async def test_each_user_has_memories(server: Server, plain: httpx.Client, app: str) -> None:
    async with SessiondStore(server.url, app=app, user=lambda root: f"user {root}") as store:
        for root in ("ada", "bob"):
            await store.aput((root, "memories"), "k", {"of": root})
        found = await store.asearch(())
        assert {each.value["of"] for each in found} == {"ada", "bob"}
        users = plain.get(f"/apps/{app}/users").json()["users"]
        assert [each["userId"] for each in users] == ["user ada", "user bob"]
        # What lies at another user is not what the function says.
        await SessiondStore(server.url, app=app, user="eve").aput(("ada", "memories"), "evil", {})
        assert len(await store.asearch(())) == 2
        # It goes with the user.
        assert plain.post(f"/apps/{app}/users/user%20ada/erasure", json={}).is_success
        assert await store.aget(("ada", "memories"), "k") is None
        assert await store.alist_namespaces() == [("bob", "memories")]


async def test_a_batch_is_few_requests(ours: SessiondStore, wire: Wire) -> None:
    put = [PutOp(("r", f"n{number % 3}"), f"k{number}", {"number": number}) for number in range(600)]
    assert await ours.abatch(put) == [None] * 600
    assert wire.spent[0] == 2
    got = await ours.abatch([GetOp(("r", "n0"), "k0"), GetOp(("r", "n1"), "k1"), GetOp(("r", "n1"), "none")])
    assert [each and each.value["number"] for each in got] == [0, 1, None]  # type: ignore[union-attr, call-overload]
    requests, size = wire.spent
    assert requests == 1 and size < 600
    # What is read is what was before the batch writes, and of several the last is written.
    results: Any = await ours.abatch(
        [
            PutOp(("r", "n0"), "k0", {"number": -1}),
            PutOp(("r", "n0"), "k0", {"number": -2}),
            GetOp(("r", "n0"), "k0"),
            SearchOp(("r", "n1"), limit=1),
            ListNamespacesOp((MatchCondition("prefix", ("r",)),)),
            PutOp(("r", "n0"), "k3", None),
        ]
    )
    assert wire.spent[0] == 2
    assert results[2].value == {"number": 0} and results[4] == [("r", "n0"), ("r", "n1"), ("r", "n2")]
    assert len(results[3]) == 1 and results[0] is results[1] is results[5] is None
    after = await ours.abatch([GetOp(("r", "n0"), "k0"), GetOp(("r", "n0"), "k3")])
    assert after[0].value == {"number": -2} and after[1] is None  # type: ignore[union-attr]
    # Many roots are one request, if all are read.
    for number in range(5):
        await ours.aput((f"root {number}",), "k", {})
    wire.begin()
    assert len(await ours.alist_namespaces()) == 8 and wire.spent[0] == 1
    # Keys that are too long for a query.
    long = [PutOp(("long",), "k" * 300 + str(number), {"number": number}) for number in range(10)]
    await ours.abatch(long)
    wire.begin()
    many: Any = await ours.abatch([GetOp(op.namespace, op.key) for op in long])
    assert [each.value["number"] for each in many] == [*range(10)] and wire.spent[0] == 1


@pytest.mark.both_databases
async def test_a_lost_answer_stores_nothing_twice(network: Proxy, plain: httpx.Client, app: str) -> None:
    async with SessiondStore(network.url, app=app) as far:
        network.lose_answers = 2
        await far.aput(("r",), "k", {"x": 1})
        assert (await far.aget(("r",), "k")).value == {"x": 1}  # type: ignore[union-attr]
    events = plain.get(f"/apps/{app}/users/langgraph/sessions/store%2Fr/events").json()["events"]
    assert [event["author"] for event in events] == ["langgraph.store"]


@pytest.mark.both_databases
async def test_many_writers_lose_nothing(ours: SessiondStore) -> None:
    await asyncio.gather(*(ours.aput(("r", f"{n % 4}"), f"k{n}", {"n": n}) for n in range(60)))
    found = await ours.asearch(("r",), limit=100)
    assert sorted(each.value["n"] for each in found) == [*range(60)]


async def test_it_agrees_with_langgraphs_own(ours: SessiondStore) -> None:
    random_ = random.Random(60)
    theirs = InMemoryStore()
    labels = ["a", "b", "c"]

    def namespace() -> tuple[str, ...]:
        return tuple(random_.choices(labels, k=random_.randint(1, 3)))

    def said(result: Any) -> Any:
        if isinstance(result, list):
            return sorted(map(repr, map(said, result)))
        return result if result is None or isinstance(result, tuple) else (result.namespace, result.key, result.value)

    for _ in range(60):
        ops: list[Any] = []
        for _ in range(random_.randint(1, 6)):
            ops.append(
                random_.choice(
                    [
                        PutOp(namespace(), random_.choice("xyz"), {"n": random_.randint(0, 3), "t": {"u": [1]}}),
                        PutOp(namespace(), random_.choice("xyz"), {"n": random_.randint(0, 3)}),
                        PutOp(namespace(), random_.choice("xyz"), None),
                        GetOp(namespace(), random_.choice("xyz")),
                        SearchOp(namespace()[random_.randint(0, 1) :], {"n": {"$gte": 2}}, limit=1000),
                        SearchOp(namespace(), {"n": {"$ne": 1}}, limit=1000),
                        SearchOp(namespace(), {"t": {"u": [1]}, "n": 1}, limit=1000),
                    ]
                )
            )
        assert [*map(said, await ours.abatch(ops))] == [*map(said, theirs.batch(ops))], ops
        # Theirs lists namespaces, too, from which all is gone.
        there = {each.namespace for each in theirs.search((), limit=1000)}
        for depth, condition in itertools.product((None, 1, 2), ({}, {"prefix": ("a", "*")}, {"suffix": ("b",)})):
            listed = await ours.alist_namespaces(max_depth=depth, **condition)
            own = theirs.list_namespaces(**condition)  # type: ignore[arg-type]
            assert listed == sorted({each[:depth] for each in own if each in there})


async def test_a_graph_remembers_across_threads(ours: SessiondStore, server: Server, app: str) -> None:
    class State(TypedDict):
        said: str
        answer: str

    def remember(state: State, *, store: BaseStore) -> dict[str, Any]:
        known = [each.value["said"] for each in store.search(("memories", "ada"))]
        store.put(("memories", "ada"), str(uuid.uuid4()), {"said": state["said"]})
        return {"answer": ", ".join(known)}

    builder = StateGraph(State)
    builder.add_node("remember", remember)
    builder.add_edge(START, "remember")
    graph = builder.compile(store=ours)
    invoked: Any = graph.invoke({"said": "I like tea."})
    assert invoked["answer"] == ""
    with SessiondStore(server.url, app=app) as other:
        again: Any = await builder.compile(store=other).ainvoke({"said": "I like cake."})
    assert again["answer"] == "I like tea."


def test_it_has_what_a_store_has() -> None:
    for name, method in inspect.getmembers(BaseStore, inspect.isfunction):
        own = getattr(SessiondStore, name)
        assert inspect.iscoroutinefunction(own) == inspect.iscoroutinefunction(method)
    assert not SessiondStore.supports_ttl and not SessiondStore.__abstractmethods__
