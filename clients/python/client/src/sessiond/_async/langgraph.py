"""A thread of LangGraph, which is a session: reading and writing its checkpoints."""

from __future__ import annotations

import hashlib
from collections import ChainMap
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

from .. import _langgraph as lg
from .._errors import AccessError, ConflictError, InputError, NotFoundError, SessiondError, StaleError
from .._events import equals
from .._json import dumps
from .._langgraph import CHECKPOINT, DROP, WRITES, Codec, Found, Memory, Packing
from .._paths import given, new_id, params, whole_id
from .._records import Event
from .session import AsyncSession

# Events that are asked for at a time, of which each may have values.
_PAGE = 50

# How many of the last events are read with the state, for the latest checkpoint and all that was written for it: as a
# rule, and at most. What is in larger answers of others costs more than a second request; whether there still is so
# much is looked at again after so many events.
_FEW, _MOST = 3, 10
_LARGE = 256 << 10
_AGAIN = 100

# Changes of a key that are looked through for what a checkpoint has stored.
_CHANGES = 1000

Whole = tuple[Found, dict[str, Any], list[tuple[str, str, Any]]]
"""A checkpoint, the values of its channels, and what its tasks have written: task, channel and value."""


class AsyncThread:
    """The checkpoints of a session. A session that is not there has none."""

    def __init__(self, session: AsyncSession, codec: Codec, memory: Memory, digests: Memory) -> None:
        """Sends nothing. What this process knows of threads is the same for all of them.

        Args:
          session: The thread.
          codec: For its values.
          memory: What was seen of it.
          digests: The digests of the checkpoints that were seen last.
        """
        self._session = session
        self._codec = codec
        self._memory = memory
        self._digests = digests
        self._names = (session.app, session.user, session.id)

    async def get(self, ns: str, id: str | None) -> Whole | None:
        """Returns a checkpoint of a namespace; the latest, without an id. None if there is none."""
        try:
            found, state = await self._find(ns, id)
            if found is None:
                return None
            wanted = lg.versions(found.event, self._codec)
            self._vouched(ns, found.id, wanted, lg.digests(found.event))
            state = {**state, **found.event.delta}
            there = lg.values_of(state, ns, wanted)
            missing = [lg.key(ns, each) for each in wanted if each not in there]
            if missing:
                at = found.event.sequence
                if any("," in each for each in missing) or sum(map(len, missing)) > 2000:
                    state.update(await self._state(lg.key(ns), at))
                else:
                    state.update(await self._session.state(at=at, keys=missing))
        except NotFoundError:
            return None
        values = lg.values_of(state, ns, wanted)
        return await self._whole(found, await self._trusted(found.event, wanted, values, found.event.delta), {})

    async def _find(self, ns: str, id: str | None) -> tuple[Found | None, Mapping[str, Any]]:
        """Returns a checkpoint, and what is known of the state at it."""
        asked, before = id, None
        state: Mapping[str, Any] = {}
        while True:
            found: Found | None = None
            if asked is None:
                state, last, base = await self._now(ns)
                id, is_own = lg.head_of(state, ns)
                if not is_own:
                    state = {}
                # One that was dropped meanwhile has given way to another.
                if id is None or id == before:
                    return None, {}
                found = lg.found_in(last, base, ns, id)
            assert id is not None
            if found is None:
                found = lg.folded([event async for event in self._session.events(invocation_id=lg.group(ns, id))])
            self._saw(ns, id, self._session.revision)
            if found and asked is None:
                self._began(ns, lg.floor(found.event))
            if found or asked is not None:
                return found, state
            before = id

    async def _now(self, ns: str) -> tuple[Mapping[str, Any], Sequence[Event], int]:
        """Returns the state, its last events as of the same moment, and how many of the first were trimmed.

        It may be that of the namespace alone, without events, where the others are too many or too large.
        """
        count = self._width(ns)
        if not count:
            return await self._state(lg.key(ns)), (), 0
        session = self._session
        reply = await session._http.send("GET", session._path, params=params(numRecentEvents=count))
        shown = session._shown(reply)
        if reply.size > _LARGE:
            self._memory.set((*self._names, "", "large", ""), shown.revision)
        return shown.state, shown.events, shown.base_revision

    async def put(
        self,
        ns: str,
        id: str,
        parent: str | None,
        checkpoint: Mapping[str, Any],
        metadata: Mapping[str, Any],
        new_versions: Mapping[str, Any],
        content: Any,
    ) -> None:
        """Stores a checkpoint, and makes it the latest of its namespace.

        After it the state has all of its values. If its parent is the latest one, they are there but for the new ones.

        Raises:
          InputError: It is too large, or a name of it breaks a rule of sessiond.
        """
        values, wanted = checkpoint["channel_values"], checkpoint["channel_versions"]
        lg.check_channels(wanted)
        since = self._writes_since(ns, id)
        said = {
            "ns": ns,
            "id": id,
            "parent": parent,
            "since": since,
            "checkpoint": self._codec.pack({name: checkpoint[name] for name in checkpoint if name != "channel_values"}),
            "metadata": self._codec.pack(metadata),
        }
        known = await self._digests_of(ns, parent) if parent is not None else {}
        kept = {name: known[name][1] for name in wanted if name in known and known[name][0] == wanted[name]}
        ways: list[tuple[str, Mapping[str, Any], list[Any]]] = [
            (lg.hashed(ns, id), wanted, []),
            # There is another checkpoint of that id, which this one replaces.
            (new_id(), wanted, []),
        ]
        if parent is not None and all(name in kept or name in new_versions for name in wanted):
            ways.insert(0, (lg.hashed(ns, id, "next"), new_versions, [equals(lg.key(ns), parent)]))
        for event_id, channels, when in ways:
            packing = Packing(self._codec, ns, content)
            delta: dict[str, Any] = {lg.key(ns): id}
            digests = dict(kept)
            for channel, version in channels.items():
                entry = packing.pack(values[channel], channel, version) if channel in values else {"none": True}
                delta[lg.key(ns, channel)] = {"v": version, **entry}
                digests[channel] = lg.digest_of(ns, channel, delta[lg.key(ns, channel)])
            actions = {"stateDelta": delta, **({"preconditions": when} if when else {})}
            event = self._event(CHECKPOINT, ns, id, event_id, {**said, "digests": digests}, actions)
            try:
                stored = await self._append({**event, **given(content=content)}, packing)
            except (StaleError, ConflictError) as error:
                if error.code not in ("revision_mismatch", "event_id_conflict") or event_id == ways[-1][0]:
                    raise
                continue
            if not stored.replayed or event_id == ways[-1][0] or await self._is_latest(ns, id, event_id):
                break
        self._memory.pop((*self._names, ns, id))
        self._saw(ns, id, stored.sequence)
        self._began(ns, since)
        self._vouched(ns, id, wanted, digests)

    async def _is_latest(self, ns: str, id: str, event_id: str) -> bool:
        """Whether no other checkpoint of that id was stored since."""
        events = self._session.events(invocation_id=lg.group(ns, id), author=CHECKPOINT, last=1)
        return [event.id async for event in events] == [event_id]

    async def put_writes(self, ns: str, id: str, task: str, path: str, writes: Sequence[tuple[int, str, Any]]) -> None:
        """Stores what a task has written after a checkpoint: an index, a channel and a value each."""
        self._is_ahead(ns, id)
        packing = Packing(self._codec, ns)
        packed = [[index, channel, packing.pack(value, channel, id)] for index, channel, value in writes]
        event_id = lg.hashed(ns, id, task, path, dumps(packed).decode())
        said = {"ns": ns, "id": id, "task": task, "path": path, "writes": packed}
        try:
            stored = await self._append(self._event(WRITES, ns, id, event_id, said), packing)
        except ConflictError as error:
            # The same, of other versions of files that have the same bytes.
            if error.code != "event_id_conflict":
                raise
        else:
            self._memory.set(self._names, stored.sequence)

    async def checkpoints(
        self,
        ns: str | None,
        *,
        before: tuple[str, str] | None,
        limit: int | None,
        matches: Callable[[Any], bool] | None,
    ) -> AsyncIterator[Whole]:
        """Yields the checkpoints of a namespace, or of all, latest first, whose metadata match.

        Args:
          ns: The namespace.
          before: Only those that were stored before this one, of a namespace and an id.
          limit: At most so many.
          matches: Says whether metadata match.
        """
        try:
            async for each in self._checkpoints(ns, before, limit, matches):
                yield each
        except NotFoundError as error:
            # A file that is gone is no thread that is not there.
            if error.code != "session_not_found":
                raise

    async def _checkpoints(
        self,
        ns: str | None,
        before: tuple[str, str] | None,
        limit: int | None,
        matches: Callable[[Any], bool] | None,
    ) -> AsyncIterator[Whole]:
        branch = None if ns is None else lg.branch(ns)
        prefix = lg.ALL_KEYS if ns is None else lg.key(ns)
        bound: int | None = None
        if before is not None:
            events = self._session.events(invocation_id=lg.group(*before), author=CHECKPOINT, last=1)
            async for event in events:
                bound = event.sequence
        dropped = await self._dropped(branch)
        writes = _Writes(self._session, branch, one_by_one=bound is not None and limit is not None and limit <= 10)
        most = _PAGE if limit is None else min(limit, _PAGE)
        page: list[Event] = []
        seen: set[str] = set()
        async for latest in _and_none(
            self._session.events(
                author=CHECKPOINT,
                branch=branch,
                before=bound,
                reverse=True,
                page_size=max(most, 1 if matches is None else 10),
            )
        ):
            if latest is not None:
                page.append(latest)
                if len(page) < most:
                    continue
            wanted = []
            for each in page:
                said, name = lg.mark(each), each.invocation_id
                if not said or name in seen:
                    continue
                seen.add(name)
                is_before = before is None or bound is not None or said["id"] < before[1]
                if dropped.get(name, 0) < each.sequence and is_before:
                    if matches is None or matches(self._codec.unpack(said["metadata"], {})):
                        wanted.append(each)
            wanted = wanted if limit is None else wanted[:limit]
            if wanted:
                states = await self._states(page, wanted, prefix)
                await writes.read(wanted)
                files: dict[str, bytes] = {}
                for each in wanted:
                    found = lg.folded([*writes.of(each, dropped), each])
                    assert found is not None
                    yield await self._whole(found, states[each.sequence], files)
            if limit is not None:
                limit -= len(wanted)
                if limit <= 0:
                    return
            page = []

    async def _states(self, page: list[Event], wanted: list[Event], prefix: str) -> dict[int, dict[str, Any]]:
        """Returns the channels of each checkpoint, by its number: from the state at the first, and what they set."""
        first = wanted[-1].sequence
        state = await self._state(prefix, first)
        asked = {event.sequence for event in wanted}
        states, said = {}, dict[str, Any]()
        for event in reversed(page):
            if event.sequence < first:
                continue
            said.update(event.delta)
            if event.sequence in asked:
                channels = lg.versions(event, self._codec)
                values = lg.values_of(ChainMap(said, state), lg.mark(event)["ns"], channels)
                states[event.sequence] = await self._trusted(event, channels, values, said)
        return states

    async def _trusted(
        self, event: Event, wanted: Mapping[str, Any], entries: Mapping[str, dict[str, Any]], said: Mapping[str, Any]
    ) -> dict[str, dict[str, Any]]:
        """Returns the entries of a checkpoint's channels that a checkpoint has stored, in the place of all others.

        Who may change the state may be anybody. The author of events is protected: so what these say, in `said`, is
        believed, and of the rest of the state what has the digest that the checkpoint has of it.

        Raises:
          SessiondError: Somebody else has written a value, and the log does not have the one that was there.
        """
        ns, digests = lg.mark(event)["ns"], lg.digests(event)
        trusted = {}
        for channel, version in wanted.items():
            entry = entries.get(channel)
            if entry is None and channel not in digests:
                continue
            if entry is None or (
                entry is not said.get(lg.key(ns, channel)) and lg.digest_of(ns, channel, entry) != digests.get(channel)
            ):
                entry = await self._logged(event, lg.key(ns, channel), version)
            trusted[channel] = entry
        return trusted

    async def _logged(self, event: Event, key: str, version: Any) -> dict[str, Any]:
        """Returns what a checkpoint, up to this one, has stored under a key."""
        count = 0
        try:
            async for change in self._session.state_history(key, page_size=100):
                count += 1
                is_ours = change.revision <= event.sequence and (change.by or {}).get("author") == CHECKPOINT
                if is_ours and isinstance(change.value, dict) and change.value.get("v") == version:
                    return change.value
                if count == _CHANGES:
                    break
        except NotFoundError:
            pass
        raise SessiondError(
            f"The key {key} of the session {self._session.id} does not have what LangGraph's checkpoint has stored, "
            "and neither does the log: somebody else has written it, or a version of this package without digests."
        )

    async def history(self, ns: str, id: str | None, channels: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Returns what the ancestors of a checkpoint have written to channels, and the value that this began with."""
        found: dict[str, dict[str, Any]] = {channel: {"writes": []} for channel in channels}
        chain: list[Event] = []
        seeds: dict[str, Event] = {}
        try:
            target, _ = await self._find(ns, id)
            if target is None:
                return found
            dropped, parent = await self._dropped(lg.branch(ns)), target.parent
            async for event in self._session.events(
                author=CHECKPOINT, branch=lg.branch(ns), before=target.event.sequence, reverse=True, page_size=_PAGE
            ):
                if parent is None or len(seeds) == len(found):
                    break
                if lg.mark(event).get("id") != parent:
                    continue
                if dropped.get(event.invocation_id, 0) > event.sequence:
                    break
                chain.append(event)
                parent = lg.mark(event)["parent"]
                for channel in found.keys() - seeds.keys():
                    if "none" not in event.delta.get(lg.key(ns, channel), {"none": True}):
                        seeds[channel] = event
            writes = _Writes(self._session, lg.branch(ns))
            await writes.read(chain)
        except NotFoundError:
            return found
        files: dict[str, bytes] = {}
        for event in reversed(chain):
            ancestor = lg.folded([*writes.of(event, dropped), event])
            assert ancestor is not None
            for task, channel, entry in ancestor.writes:
                if channel in found and (channel not in seeds or event.sequence >= seeds[channel].sequence):
                    value = await self._value(entry, files, ns, channel, ancestor.id)
                    found[channel]["writes"].append((task, channel, value))
        for channel, event in seeds.items():
            entry = event.delta[lg.key(ns, channel)]
            found[channel]["seed"] = await self._value(entry, files, ns, channel, entry["v"])
        return found

    async def delete(self) -> None:
        """Deletes the session."""
        self._memory.pop(self._names)
        await self._session.delete()

    async def copy(self, id: str) -> None:
        """Copies the session, if there is one. Raises `ConflictError` if there is one of that id."""
        try:
            await self._session.fork(id=whole_id(id, "id of the thread"))
        except NotFoundError:
            return

    async def drop_runs(self, runs: Sequence[str]) -> None:
        """Drops the checkpoints of these runs, with what was written for them."""

        def is_of_them(event: Event) -> bool:
            return self._codec.unpack(lg.mark(event)["metadata"], {}).get("run_id") in runs

        while True:
            try:
                live = await self._live()
                gone = [event for event in live if is_of_them(event)]
                if gone:
                    await self._drop(gone, live)
                return
            except StaleError:
                # A checkpoint was stored meanwhile.
                continue
            except NotFoundError:
                return

    async def prune(self) -> None:
        """Removes all but the latest checkpoint of each namespace, and what is before them in the log.

        Raises:
          InputError: The values of a channel are made of earlier checkpoints.
          AccessError: The client may not trim the log: that takes the role `operator`.
        """
        try:
            live = await self._live()
            kept: dict[str, Event] = {}
            for event in live:
                kept.setdefault(lg.mark(event)["ns"], event)
            if not kept:
                return
            if any("counters_since_delta_snapshot" in self._metadata(event) for event in kept.values()):
                raise InputError(
                    "The thread has a DeltaChannel, whose values are made of earlier checkpoints: it cannot be pruned.",
                    problem={"outcome": "not_applied"},
                )
            bound = min(map(lg.floor, kept.values())) + 1
            gone = [event for event in live if event.sequence >= bound and event not in kept.values()]
            files = await self._files_of_others(kept)
            if gone:
                await self._drop(gone, live)
            try:
                if bound > 1:
                    await self._session.trim(before=bound)
            except AccessError as error:
                error.args = (f"{error} To prune a thread takes the role operator.",)
                raise
            for name in sorted(files):
                await self._session.artifacts.delete(name)
        except NotFoundError:
            return

    async def _files_of_others(self, kept: Mapping[str, Event]) -> set[str]:
        """Returns the names of the files that only checkpoints have which are not kept."""
        if not [each async for each in self._session.artifacts.list(prefix=lg.ALL_KEYS)]:
            return set()
        names, needed = set[str](), lg.files_in(await self._state(lg.ALL_KEYS))
        groups = {event.invocation_id for event in kept.values()}
        async for event in self._session.events(author=WRITES):
            (needed if event.invocation_id in groups else names).update(lg.files_in(lg.mark(event).get("writes", ())))
        async for event in self._session.events(author=CHECKPOINT, page_size=_PAGE):
            names |= lg.files_in(dict(event.delta))
        return names - needed

    async def _live(self) -> list[Event]:
        """Returns the checkpoints of all namespaces, latest first."""
        dropped = await self._dropped(None)
        live: dict[str, Event] = {}
        async for event in self._session.events(author=CHECKPOINT, reverse=True, page_size=_PAGE):
            if lg.mark(event) and dropped.get(event.invocation_id, 0) < event.sequence:
                live.setdefault(event.invocation_id, event)
        return list(live.values())

    async def _dropped(self, branch: str | None) -> dict[str, int]:
        """Returns what was dropped last at which number: what is before it is gone."""
        events = self._session.events(author=DROP, branch=branch)
        return {event.invocation_id: event.sequence async for event in events}

    async def _drop(self, gone: list[Event], live: list[Event]) -> None:
        """Marks checkpoints as dropped; the latest of those that stay is then the latest of its namespace.

        Raises:
          StaleError: A checkpoint was stored meanwhile.
        """
        names = {event.invocation_id for event in gone}
        state = await self._state(lg.ALL_KEYS)
        events = []
        for event in gone:
            said = lg.mark(event)
            ns, id = said["ns"], said["id"]
            actions: dict[str, Any] = {}
            if lg.head_of(state, ns)[0] == id:
                others = [
                    lg.mark(each)["id"]
                    for each in live
                    if each.invocation_id not in names and lg.mark(each)["ns"] == ns
                ]
                # The state has the values of the one that goes: so the next checkpoint finds its parent in no case, and
                # writes all of its own.
                head = {"id": others[0]} if others else None
                when = [equals(lg.key(ns), state[lg.key(ns)])]
                actions = {"stateDelta": {lg.key(ns): head}, "preconditions": when}
            events.append(self._event(DROP, ns, id, new_id(), {"ns": ns, "id": id}, actions))
        for some in lg.chunks(events, 500):
            await self._session.append(some, answer="minimal")

    def _event(
        self, author: str, ns: str, id: str, event_id: str, said: dict[str, Any], actions: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        event = {
            "id": event_id,
            "author": author,
            "invocationId": lg.group(ns, id),
            "branch": lg.branch(ns),
            "customMetadata": {"langgraph": said},
        }
        return {**event, "actions": actions} if actions else event

    async def _append(self, event: dict[str, Any], packing: Packing) -> Event:
        """Appends an event; before it, what is too large for it is saved."""
        if packing.files:
            saved = {name: await self._save(name, data) for name, data in packing.files.items()}
            # By this, a copy of the session has the files, too.
            event = {**event, "actions": {**event.get("actions", {}), "artifactDelta": saved}}
        return await self._session.append(event, create=True, answer="minimal")

    async def _save(self, name: str, data: bytes) -> int:
        """Saves a file, if there is none of that name that has these bytes; and returns its version."""
        sha256 = hashlib.sha256(data).hexdigest()
        for _ in range(2):
            try:
                return (await self._session.artifacts.save(name, data, event=False, exist_ok=False)).version
            except StaleError:
                async for version in self._session.artifacts.versions(name):
                    if version.sha256 == sha256:
                        return version.version
                break
            except NotFoundError:
                await self._session.create(exist_ok=True)
        return (await self._session.artifacts.save(name, data, event=False)).version

    async def _whole(self, found: Found, entries: Mapping[str, Mapping[str, Any]], files: dict[str, bytes]) -> Whole:
        values = {
            each: await self._value(entry, files, found.ns, each, entry["v"])
            for each, entry in entries.items()
            if "none" not in entry
        }
        writes = [
            (task, channel, await self._value(entry, files, found.ns, channel, found.id))
            for task, channel, entry in found.writes
        ]
        return found, values, writes

    async def _value(
        self, entry: Mapping[str, Any], files: dict[str, bytes], ns: str, channel: str, version: Any
    ) -> Any:
        """Returns a value; a file that it needs is read, and kept in `files`.

        Raises:
          SessiondError: The file has other bytes than its name says.
        """
        name = entry.get("artifact")
        if name is not None and name not in files:
            files[name] = await self._file(
                name, lambda sha256: name.endswith("@" + lg.file_digest(ns, channel, version, entry["t"], sha256))
            )
        return self._codec.unpack(entry, files)

    async def _file(self, name: str, fits: Callable[[str], bool]) -> bytes:
        """Returns the bytes of a file: of the latest version that has those of its name, whoever has saved others."""
        data = await self._session.artifacts.get(name).read()
        if fits(hashlib.sha256(data).hexdigest()):
            return data
        async for version in self._session.artifacts.versions(name):
            if version.sha256 and fits(version.sha256):
                data = await self._session.artifacts.get(name, version=version.version).read()
                if fits(hashlib.sha256(data).hexdigest()):
                    return data
        raise SessiondError(f"The file {name} of the session {self._session.id} is not the one that its name says.")

    async def _state(self, prefix: str, at: int | None = None) -> dict[str, Any]:
        """Returns the keys of the session that begin so, now or at a revision."""
        return await self._session.state(at=at, prefix=prefix)

    def _metadata(self, event: Event) -> Any:
        return self._codec.unpack(lg.mark(event)["metadata"], {})

    # LangGraph stores a checkpoint while its tasks run already: what they write may come before it in the log, by as
    # many events as the server is behind. So the event of a checkpoint says behind which number all is that was written
    # for it: the last one that this process had seen when it sent the first of it.

    def _saw(self, ns: str, id: str, revision: int) -> None:
        self._memory.set(self._names, revision)
        self._memory.set((*self._names, ns), id)

    def _began(self, ns: str, since: int) -> None:
        """Remembers behind which number all is of the latest checkpoint."""
        self._memory.set((*self._names, ns, "since", ""), since)

    def _width(self, ns: str) -> int:
        """Returns how many last events have all of the latest checkpoint; 0 if they are not to be read.

        Others may have written meanwhile: the events themselves say whether they are enough.
        """
        seen = self._memory.get(self._names, 0)
        large = self._memory.get((*self._names, "", "large", ""))
        count = max(_FEW, seen - self._memory.get((*self._names, ns, "since", ""), seen))
        return 0 if count > _MOST or (large is not None and large <= seen < large + _AGAIN) else count

    def _vouched(self, ns: str, id: str, wanted: Mapping[str, Any], digests: Mapping[str, str]) -> None:
        """Remembers the digests of the latest checkpoint, with the versions that they are of."""
        known = {name: (wanted[name], digest) for name, digest in digests.items() if name in wanted}
        self._digests.set((*self._names, ns), (id, known))

    async def _digests_of(self, ns: str, id: str) -> dict[str, tuple[Any, str]]:
        """Returns them; those of a checkpoint that this process has not seen last, from its event."""
        if self._digests.get((*self._names, ns), ("",))[0] != id:
            try:
                async for event in self._session.events(invocation_id=lg.group(ns, id), author=CHECKPOINT, last=1):
                    if lg.mark(event):
                        self._vouched(ns, id, lg.versions(event, self._codec), lg.digests(event))
            except NotFoundError:
                pass
        seen, known = self._digests.get((*self._names, ns), ("", {}))
        return dict(known) if seen == id else {}

    def _is_ahead(self, ns: str, id: str) -> None:
        if self._memory.get((*self._names, ns)) != id:
            self._writes_since(ns, id)

    def _writes_since(self, ns: str, id: str) -> int:
        name = (*self._names, ns, id)
        since: int | None = self._memory.get(name)
        if since is None:
            since = self._memory.get(self._names, 0)
            self._memory.set(name, since)
        return since


class _Writes:
    """What was written for checkpoints, which are asked for in the order of the log, backwards."""

    def __init__(self, session: AsyncSession, branch: str | None, *, one_by_one: bool = False) -> None:
        self._session = session
        self._branch = branch
        self._one_by_one = one_by_one
        self._of: dict[str, list[Event]] = {}
        self._behind: int | None = None

    async def read(self, checkpoints: list[Event]) -> None:
        """Reads those of some checkpoints: one by one, or all since the first of them was stored."""
        if self._one_by_one:
            for each in checkpoints:
                async for event in self._session.events(author=WRITES, invocation_id=each.invocation_id, reverse=True):
                    self._of.setdefault(event.invocation_id, []).append(event)
            return
        floor = min(map(lg.floor, checkpoints), default=None)
        if floor is None or (self._behind is not None and self._behind <= floor):
            return
        before = None if self._behind is None else self._behind + 1
        async for event in self._session.events(
            author=WRITES, branch=self._branch, after=floor, before=before, reverse=True
        ):
            self._of.setdefault(event.invocation_id, []).append(event)
        self._behind = floor

    def of(self, checkpoint: Event, dropped: Mapping[str, int]) -> list[Event]:
        """Returns those of a checkpoint, in the order of the log, and forgets them."""
        name = checkpoint.invocation_id
        return [event for event in reversed(self._of.pop(name, [])) if event.sequence > dropped.get(name, 0)]


async def _and_none(events: AsyncIterator[Event]) -> AsyncIterator[Event | None]:
    """Yields events, and then None."""
    async for event in events:
        yield event
    yield None
