"""Sessions of the OpenAI Agents SDK, kept by sessiond. It takes the extra `openai`.

    from sessiond.openai import SessiondSession

    result = await Runner.run(agent, "Hi", session=SessiondSession("s1", app="cafe", user="ada"))

Each item is an event: it is kept as it is, and beside it what was said, for the console and for agents of other
frameworks, which may write to the same session.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from . import _frameworks
from ._async import kept
from ._errors import ConflictError, InputError, NotFoundError, StaleError
from ._frameworks import (
    Kept,
    again,
    call_part,
    content,
    digest,
    parsed,
    readable,
    response_part,
    rewind,
    seen_through,
    text_part,
)
from ._openai_others import with_others
from ._others import Others
from ._paths import new_id, params, whole_id

try:
    from agents.memory import SessionABC, SessionSettings
    from agents.memory.session import _CompactionSnapshot
    from agents.memory.session_settings import coerce_session_settings, resolve_session_limit
except ImportError as error:
    raise _frameworks.missing("openai", error) from error

if TYPE_CHECKING:
    from agents import TResponseInputItem
    from agents.result import RunResultBase

    from ._async.client import AsyncClient
    from ._async.session import AsyncSession
    from ._records import Event

# Events that one request may append.
_BATCH = 1000

# State of a session: what runs have spent, by the names that the SDK has for it; a label of a branch, its name. And
# files: items that are too large for an event.
_FILES = "oai/"
_USAGE = "oai/usage/"
_COUNTERS = ("requests", "input_tokens", "output_tokens", "total_tokens")
_TURNS = "total_turns"
_BRANCH = "oai.branch"

# Events of which the last one is taken back, as a rule with all of its group.
_FEW = 20


class SessiondSession(SessionABC):
    """A session of the SDK. It is made by its first write, in this or any other process.

    What a method has written is on disk when it returns. Each is applied once and whole, or not at all, whatever
    answers get lost, and none undoes what others write meanwhile. Errors are those of `sessiond`.
    """

    def __init__(
        self,
        session_id: str,
        *,
        app: str,
        user: str,
        client: AsyncClient | None = None,
        author: str = "assistant",
        clear: Literal["rewind", "trim", "delete"] = "rewind",
        session_settings: SessionSettings | dict[str, Any] | None = None,
        split: bool = False,
        others: Others = False,
    ) -> None:
        """Sends nothing.

        Args:
          session_id: The session, up to 256 bytes, without white space at the ends.
          app: The app that it is in.
          user: Whose it is.
          client: By default one that all share, of SESSIOND_URL and SESSIOND_TOKEN. Its role is `agent` or above.
          author: Who says what the model says. An ADK agent of this name takes it for its own words.
          clear: What `clear_session` does: `"rewind"` leaves what was said in the log, `"trim"` removes it for good,
            which takes the role `operator`, and `"delete"` removes the session with its state and files.
          session_settings: Those of the SDK: `limit`, how many items a run reads.
          split: Whether `add_items` may take several transactions, for more than 1,000 items: then a process that dies
            has added the first of them, and others may write in between.
          others: Whether `get_items` also has what agents of other frameworks and their users have said in the session,
            in its place. Or a function that says whether the agent has a tool of this name: calls of others are text.
        """
        self.session_id = whole_id(session_id)
        self.session_settings: SessionSettings | None = (
            SessionSettings() if session_settings is None else coerce_session_settings(session_settings)
        )
        self._client = _frameworks.asynchronous(client)
        self._app, self._user, self._author = app, user, _frameworks.agent(author)
        self._clears: Literal["rewind", "trim", "delete"] = clear
        self._split = split
        self._others = others
        # What the calls of tools are named, which their outputs do not say.
        self._names: dict[str, str] = {}
        self._turn: str | None = None
        # Of the items that were added last: one for a run, which begins with what a user says.
        self._group: str | None = None
        self._closed = False

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Returns the items in order; the last `limit` if it is given, or set by `session_settings`.

        0 is none, a negative number all. With `others`, a limit that is not the one of `session_settings` is of the
        items of this adapter alone: by it the SDK looks for what it has added itself.
        """
        self._check()
        settings = self.session_settings
        is_whole = limit is None or (settings is not None and limit == settings.limit)
        limit = resolve_session_limit(limit, settings)
        if limit == 0:
            return []
        count = limit if limit and limit > 0 else None
        hidden = self._turn and _group_of(self._turn)
        if self._others and is_whole:
            return await self._with_others(count, hidden)
        items: list[Any] = []
        handle = self._handle()
        try:
            size = min(count, _BATCH) if count else _BATCH
            query = params(excludeRewound="true", order="desc" if count else None, pageSize=size)
            async for page in handle._pages(query, {}):
                for event in page:
                    if event.get("invocationId") != hidden and (item := await _item(handle, event)) is not None:
                        items.append(item)
                        if len(items) == count:
                            break
                if len(items) == count:
                    break
        except NotFoundError:
            return []
        if count:
            items.reverse()
        self._learn(items)
        return items

    async def _with_others(self, count: int | None, hidden: str | None) -> list[Any]:
        own: list[tuple[int, Any]] = []
        handle = self._handle()
        try:
            async for event in handle.events(rewound=False, page_size=_BATCH):
                if event.invocation_id != hidden and (item := await _item(handle, event)) is not None:
                    own.append((event.sequence, item))
            events = [event async for event in handle.events(effective=True, page_size=_BATCH)]
        except NotFoundError:
            return []
        self._learn([item for _, item in own])
        return with_others(own, events, self._author, self._others, count)

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Appends items, up to 1,000, all or none; with `split`, any number in parts.

        Raises:
          InputError: They are too many, one is larger than a file may be (64 MiB, by default), or has what is no JSON.
          ConflictError: It is the first call in a `turn` of a key under which other items were added.
        """
        self._check()
        if not items:
            return
        turn, self._turn = self._turn, None
        # The SDK adds the prompt and then, turn by turn, what comes of it.
        is_prompt = turn is not None or any(_is_prompt(item) for item in items)
        events = self._events(items, turn, None if is_prompt else self._group)
        self._group = events[0]["invocationId"]
        try:
            await seen_through(self._append(_frameworks.batches(events, dict) if self._split else [events]))
        except ConflictError as error:
            if turn is None or error.code != "event_id_conflict":
                raise
            said = f"Other items were added under the key {turn!r}, or have been taken back: use another key."
            raise ConflictError(said, status=error.status, problem=error.problem) from error

    async def pop_item(self) -> TResponseInputItem | None:
        """Takes back the last item, and returns it; None if there is none. The log still has it."""
        self._check()
        return await seen_through(self._pop())

    async def clear_session(self) -> None:
        """Takes back all from the first item on, also what others have written behind it; see `clear`."""
        self._check()
        await seen_through(self._clear())

    @contextmanager
    def turn(self, key: str) -> Iterator[SessiondSession]:
        """A run in this block may be repeated, in another process, too: its input is added once.

        The first `add_items` in the block is known by the key. Repeated with the same items it changes nothing, with
        others it raises `ConflictError`, also after it was taken back. What a model answered may differ, and is added
        each time.
        """
        self._turn = key
        try:
            yield self
        finally:
            self._turn = None

    async def branch(
        self, session_id: str | None = None, *, before_turn: str | None = None, name: str | None = None
    ) -> SessiondSession:
        """Returns a new session that begins with what this one has, or had before the turn of this key.

        Its label `oai.branch` is its name, up to 256 bytes; by default its id.
        """
        handle = self._handle()
        at = None
        if before_turn is not None:
            at = (await handle.event(_id_of(before_turn, 0))).sequence - 1
        fork, copied = await handle._fork(at=at, id=session_id, limits={})
        await fork.set_metadata(labels={**copied.labels, _BRANCH: name or fork.id})
        return SessiondSession(
            fork.id,
            app=self._app,
            user=self._user,
            client=self._client,
            author=self._author,
            clear=self._clears,
            session_settings=self.session_settings,
            split=self._split,
            others=self._others,
        )

    async def list_branches(self) -> list[dict[str, Any]]:
        """Returns the branches of this session, oldest first.

        Each has `branch_id`, which is its session, `name`, and `created_at` in Unix seconds.
        """
        self._check()
        forks = self._client.sessions(
            self._app, self._user, forked_from=self.session_id, order_by="createTime", page_size=_BATCH
        )
        return [
            {"branch_id": fork.id, "name": fork.labels[_BRANCH], "created_at": fork.create_time}
            async for fork in forks
            if _BRANCH in fork.labels
        ]

    async def store_run_usage(self, result: RunResultBase) -> None:
        """Adds what a run has spent to the counters of the session, when it has ended.

        It is one event, by the id of the items that were added last: called again, it counts nothing twice. What is
        taken back later has been spent all the same.
        """
        self._check()
        usage = result.context_wrapper.usage
        spent: dict[str, Any] = {name: getattr(usage, name) or 0 for name in _COUNTERS}
        ops = [{"op": "increment", "key": _USAGE + name, "value": by} for name, by in {**spent, _TURNS: 1}.items()]
        for name in ("input_tokens_details", "output_tokens_details"):
            spent[name] = getattr(usage, name).model_dump(mode="json")
        group = self._group or f"oai-{new_id()}"
        event = {
            "id": f"usage:{group}",
            "invocationId": group,
            "author": self._author,
            "actions": {"stateOps": ops},
            "customMetadata": {"openai_usage": spent},
        }
        await seen_through(self._append([[event]]))

    async def get_session_usage(self) -> dict[str, int] | None:
        """Returns what all runs have spent; None if nothing was stored. A branch begins with what its source had."""
        self._check()
        names = (*_COUNTERS, _TURNS)
        try:
            state = await self._handle().state(keys=[_USAGE + name for name in names])
        except NotFoundError:
            return None
        return {name: state[_USAGE + name] for name in names} if state else None

    async def get_turn_usage(self, user_turn_number: int | None = None) -> list[dict[str, Any]] | dict[str, Any]:
        """Returns what each run has spent, in order, with `user_turn_number`: how many messages of the user there were.

        With a number, what the last run of that turn has spent; nothing, if nothing was stored. It reads all that
        `get_items()` reads.
        """
        self._check()
        runs, turn = [], 0
        try:
            handle = self._handle()
            async for event in handle.events(rewound=False, page_size=_BATCH):
                if (item := await _item(handle, event)) is not None:
                    turn += item.get("role") == "user"
                elif event.author != "user" and isinstance(event.metadata, dict) and "openai_usage" in event.metadata:
                    runs.append({"user_turn_number": turn, **event.metadata["openai_usage"]})
        except NotFoundError:
            pass
        if user_turn_number is None:
            return runs
        of_turn = [run for run in runs if run.pop("user_turn_number") == user_turn_number]
        return of_turn[-1] if of_turn else {}

    def close(self) -> None:
        """Ends the use of this object; the session stays. The client is left open."""
        self._closed = True

    async def _append(self, batches: Iterable[list[dict[str, Any]]]) -> None:
        handle = self._handle()
        for batch in batches:
            await handle.append(await kept.stored(handle, batch, _FILES), create=True, answer="minimal")

    async def _pop(self) -> Any:
        while True:
            tail, revision, _ = await self._tail(1, _FEW)
            if not tail:
                return None
            last = next(place for place in reversed(tail) if place.item is not None)
            if await self._take_back(tail, {last.event.id}, revision):
                return last.item

    async def _tail(self, count: int, page_size: int) -> tuple[list[_Place], int, bool]:
        """Reads the events from the first one of the group on in which the last but `count - 1` item is.

        Or from the first item on. Returns them, the revision, and whether no items are before them.
        """
        handle = self._handle()
        places: list[_Place] = []
        found, group = 0, None
        try:
            async for event in handle.events(rewound=False, reverse=True, page_size=page_size):
                place = _Place(event, await _item(handle, event))
                if place.item is None:
                    places.append(place)
                    continue
                if group is not None and event.invocation_id != group:
                    return _from_item(places), handle.revision, False
                places.append(place)
                found += 1
                if found == count:
                    group = event.invocation_id
        except NotFoundError:
            pass
        return _from_item(places), handle.revision, True

    async def _take_back(
        self, tail: Sequence[_Place], taken: set[str], revision: int, output: Sequence[Any] = ()
    ) -> bool:
        """Takes back items of a tail, which begins with a group, and adds others; False if somebody was faster."""
        handle, (start, _) = self._handle(), tail[0]
        group, before = start.invocation_id, list[_Place]()
        try:
            # Where the rewind begins: of two runs at a time, each has items between those of the other.
            async for first in handle.events(invocation_id=group, page_size=1):
                if first.sequence < start.sequence:
                    between = handle.events(rewound=False, after=first.sequence - 1, before=start.sequence)
                    before = [_Place(event, await _item(handle, event)) async for event in between]
                break
            batch = [rewind(group)]
            for event, item in (*before, *tail):
                if event.id not in taken:
                    # Each item is a group of its own now, so that the next one is taken back at once.
                    changed = {} if item is None else {"invocationId": f"oai-{new_id()}"}
                    batch.append(again(event, **changed))
            batch += await kept.stored(handle, self._events(output, None), _FILES, create=False)
            await handle.append(batch, if_revision=revision, answer="minimal")
        except (StaleError, NotFoundError):
            return False
        self._group = None
        return True

    async def _clear(self) -> None:
        handle, self._group = self._handle(), None
        try:
            if self._clears == "delete":
                await handle.delete()
                return
            if self._clears == "trim":
                # Those that the events name which are trimmed: there may be one of an event that is still to come.
                at = (await handle.get(last=0)).revision
                files = [file.name async for file in handle.artifacts.list(prefix=_FILES, at=at)]
                await handle.trim(keep_last=0)
                for name in files:
                    await handle.artifacts.delete(name)
                return
            async for event in handle.events(rewound=False, page_size=1):
                if await _item(handle, event) is not None:
                    await handle.append([rewind(event.invocation_id)], answer="minimal")
                    return
        except NotFoundError:
            return

    async def _get_compaction_snapshot(self, limit: int) -> _CompactionSnapshot | None:
        """What the SDK's compaction asks for: the last items, and how to replace the last of these at once."""
        self._check()
        tail, revision, complete = await self._tail(limit, min(limit + 1, _BATCH))
        places = [place for place in tail if place.item is not None]
        # The group of the first one may reach beyond the limit.
        complete = complete and len(places) <= limit
        places = places[-limit:]

        async def replace_suffix(start: int, output: list[Any]) -> bool:
            taken = [event for event, _ in places[start:]]
            if not taken:
                return False
            begin = next(i for i, (event, _) in enumerate(tail) if event.invocation_id == taken[0].invocation_id)
            return await seen_through(self._take_back(tail[begin:], {event.id for event in taken}, revision, output))

        return _CompactionSnapshot([item for _, item in places], complete, replace_suffix)

    def _handle(self) -> AsyncSession:
        # One for each operation, as they may run at the same time, and it remembers a revision.
        return self._client.session(self._app, self._user, self.session_id)

    def _check(self) -> None:
        if self._closed:
            raise RuntimeError(f"{type(self).__name__} is closed")

    def _events(self, items: Sequence[Any], turn: str | None, group: str | None = None) -> list[dict[str, Any]]:
        if len(items) > _BATCH and not self._split:
            raise InputError(f"sessiond appends up to {_BATCH} items at once, and these are {len(items)}.")
        known = self._names if turn is None else {}
        self._learn(items, known)
        group = group or (f"oai-{new_id()}" if turn is None else _group_of(turn))
        # A batch of known ids must be this one, whole.
        batch = {} if turn is None else {"batch": digest(json.dumps(items, sort_keys=True))}
        return [
            {
                "id": new_id() if turn is None else _id_of(turn, index),
                "invocationId": group,
                **self._said(item, known),
                "customMetadata": {"openai": Kept("item", item, **batch)},
            }
            for index, item in enumerate(items)
        ]

    def _learn(self, items: Sequence[Any], known: dict[str, str] | None = None) -> None:
        names = self._names if known is None else known
        for item in items:
            if (type(item) is dict or isinstance(item, Mapping)) and item.get("type") == "function_call":
                names[str(item.get("call_id"))] = str(item.get("name"))

    def _said(self, item: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
        """Returns who says an item, and what, for people and agents."""
        kind, role, call = item.get("type", "message"), item.get("role"), str(item.get("call_id"))
        if kind == "message" and role:
            is_model = role == "assistant"
            author = self._author if is_model or (role == "user" and not _is_prompt(item)) else str(role)
            return {"author": author, **content("model" if is_model else "user", _parts(item.get("content")))}
        said: dict[str, Any] = {}
        if kind == "function_call":
            said = content("model", [call_part(call, item.get("name"), parsed(item.get("arguments")))])
        elif kind == "function_call_output":
            output = item.get("output")
            if not isinstance(output, str):
                output = "\n".join(part["text"] for part in _parts(output))
            answer = parsed(output)
            answer = answer if isinstance(answer, dict) else readable(output)
            said = content("user", [response_part(call, names.get(call), answer)])
        elif kind == "reasoning":
            thoughts = _parts(item.get("summary"))
            said = content("model", [{**part, "thought": True} for part in thoughts])
        return {"author": self._author, **said}


def _parts(said: Any) -> list[dict[str, Any]]:
    """Returns the texts of a message, and the kinds of what is no text."""
    if isinstance(said, str):
        return text_part(said)
    parts = [part for part in said if isinstance(part, Mapping)] if isinstance(said, list | tuple) else []
    texts = (part.get("text") or part.get("refusal") or f"[{part.get('type')}]" for part in parts)
    return [part for text in texts for part in text_part(str(text))]


class _Place(NamedTuple):
    event: Event
    item: Any | None


def _from_item(backwards: list[_Place]) -> list[_Place]:
    """Returns places in order, from the first item on."""
    while backwards and backwards[-1].item is None:
        backwards.pop()
    return backwards[::-1]


async def _item(handle: AsyncSession, event: Mapping[str, Any]) -> Any | None:
    """Returns the item of an event; None if it has none, or one that is not of its author."""
    if not event.get("invocationId"):
        # No rewind would find it.
        return None
    return await kept.said(handle, event, "openai", "item", _is_prompt)


def _is_prompt(item: Any) -> bool:
    """Whether a user can have said this: a prompt, and nothing that the SDK has of others."""
    return item.get("role") == "user" and item.get("type", "message") == "message" and "content" in item


def _group_of(turn: str) -> str:
    return f"turn:{digest(turn)}"


def _id_of(turn: str, index: int) -> str:
    return f"{_group_of(turn)}:{index}"
