#!/usr/bin/env python3
"""Hours of everything at once, with faults, and a checker that knows what must be there.

    scripts/soak --hours 8                    both databases side by side, each in a process of its own
    scripts/soak --minutes 2 --only sqlite    whether it runs

Clients create, append, fork, rewind, redact, trim, search, save files, take leases, export, import, and erase their users; others
write sessions together, which are watched; one reads the change feed. Policies, expiry and the erasures remove what they make, so
that what grows, leaks. Each client has a model of its user and compares what it reads with it; what is answered 503, or not at all,
it sends again. Faults come every --faults seconds: SIGKILL, SIGTERM and SIGSTOP of sessiond; an immediate stop of PostgreSQL, its
connections ended, all its processes paused; a reader that keeps SQLite's log from being cut off, and backups. PostgreSQL has two
sessiond, of which one is killed all the time. The other one, and SQLite's, live from the second sixth of the time on.

Prints a table of the first, the second and the last sixth. Exits with 1 if

- an acknowledged write is missing, is there twice or at another place, or state differs from the model
- the feed or a watch has a gap, or shows what is not in the log
- an answer was 500, or one that the client does not expect, or none came within five minutes
- a row of an erased user is left, or an erasure was not done after five minutes
- `sessiond verify` finds a difference, a backup is not sound, or a SIGTERM did not end with status 0
- in a run of half an hour or more, the median of the last sixth is above 1.3 times that of the second, and by more than what is
  small: of memory (8 MiB), open files (8), threads (4), rows but for what no policy removes within a day (2,000), or the size of the
  database (16 MiB)
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import http.client
import json
import math
import os
import random
import re
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

from lab import TICKS, PostgreSQL, Sessiond, dies_with_us, end, frames, memory, say, settings_removed

KEY = "k" * 40
# How long something may take that must happen.
PATIENCE = 300
MAX_COUNT, KEEP_LAST = 40, 10
POLICIES = {
    "plain": {"events": {"stubsMaxAge": 120}, "sharedHistory": {"maxAge": "1d"}},
    "kept": {
        "sessions": {"idleTtl": "1d", "maxAge": "1d"},
        "events": {"maxCount": MAX_COUNT, "keepLast": KEEP_LAST, "stubsMaxAge": 120},
        "sharedHistory": {"maxAge": "1d"},
        "artifacts": {"keepVersions": 2},
    },
    "common": {"events": {"maxCount": 500, "stubsMaxAge": 120}, "sharedHistory": {"maxAge": "1d"}},
}
WORDS = [a + b for a in ("ka", "lo", "mi", "ru", "te") for b in ("bar", "den", "fis", "gol", "hum")]
# What stays for ever, and what no policy removes within a day: docs/data.md.
LASTING = {"erasures", "app_log", "app_spans"}


class Vanished(Exception):
    """The session is gone, and may be."""


class Wrong(Exception):
    """It was noted; the client goes on with another user."""


@dataclass
class Event:
    id: str
    invocation: str
    sets: dict = field(default_factory=dict)
    removes: list = field(default_factory=list)
    word: str = ""
    redacted: bool = False


def shown(event: dict) -> Event:
    actions = event.get("actions") or {}
    sets = {k: v for k, v in (actions.get("stateDelta") or {}).items() if not k.startswith(("user:", "app:"))}
    removes = [op["key"] for op in actions.get("stateOps") or [] if op["op"] == "remove"]
    return Event(event["id"], event.get("invocationId", ""), sets, removes, redacted="redacted" in event)


@dataclass
class Session:
    """What a session must be."""

    id: str
    url: str
    # Between the two, as the time to live counts from the moment of the write.
    dies: float
    dead: float
    state0: dict
    events: list[Event] = field(default_factory=list)
    base: int = 0
    # How far a policy may have trimmed it.
    allowed: int = 0
    ttl: bool = False
    forks: list[Session] = field(default_factory=list)
    files: dict = field(default_factory=dict)

    @property
    def revision(self) -> int:
        return self.base + len(self.events)

    def state(self, at: int | None = None) -> dict:
        state = dict(self.state0)
        for event in self.events[: None if at is None else at - self.base]:
            for key in event.removes:
                state.pop(key, None)
            state |= event.sets
        return state

    def redact(self, event: str) -> None:
        """The event, here and in the forks."""
        for fork in self.forks:
            fork.redact(event)
        for held in self.events:
            held.redacted |= held.id == event

    def trim(self, base: int) -> None:
        self.state0, self.events, self.base = self.state(base), self.events[base - self.base :], base


class World:
    """A database with its servers, and all that happens to it."""

    def __init__(self, options: argparse.Namespace, folder: Path):
        self.options, self.folder = options, folder
        self.sqlite = options.only == "sqlite"
        self.wrong: list[str] = []
        self.answers: Counter[str] = Counter()
        self.done: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self.times: dict[str, list[tuple[float, float]]] = {"append": [], "read": []}
        self.slowest = 0.0
        self.disturbed = 0  # odd: during a fault
        self.working = self.following = True
        self.lock = threading.Lock()
        self.erasing: dict[str, float] = {}
        self.total = self.started = 0
        self.postgresql = None
        if self.sqlite:
            self.file = folder / "sessiond.db"
            self.database_url = f"sqlite://{self.file}"
        else:
            self.postgresql = PostgreSQL(folder)
            self.postgresql.stop()
            # A small one, as it is installed, but for the log of what is written.
            self.settings = {"shared_buffers": "128MB", "max_wal_size": "1GB", "checkpoint_timeout": "5min"}
            self.postgresql.start(self.settings)
            self.database_url = self.postgresql.fresh("soak")
        key = folder / "key"
        key.write_text(KEY)
        key.chmod(0o600)
        self.flags = [
            f"--admin-key-file={key}", "--feed-retention=3m", "--sweep-interval=5s", "--watch-heartbeat=2s", "--watch-lifetime=2m",
        ]  # fmt: skip
        self.servers: list[Sessiond | None] = [None] * (1 if self.sqlite else 2)
        for n in range(len(self.servers)):
            self.serve(n)

    def note(self, what: str) -> None:
        with self.lock:
            self.wrong.append(f"{time.strftime('%H:%M:%S')} {what}")
        say(f"WRONG ({self.options.only}): {what}")

    def serve(self, n: int) -> None:
        self.started += 1
        folder = self.folder / f"server{self.started}"
        folder.mkdir()
        self.servers[n] = Sessiond(self.options.sessiond, self.database_url, folder, *self.flags)

    def end_server(self, n: int, signal_number: int) -> None:
        server, self.servers[n] = self.servers[n], None
        end(server.process, signal_number)
        expected = 0 if signal_number == signal.SIGTERM else -signal_number
        if server.process.returncode != expected:
            self.note(f"a server ended with {server.process.returncode}: {server.log.read_text()[-500:]}")
        self.look_for_panics(server)

    def look_for_panics(self, server: Sessiond) -> None:
        for line in server.log.read_text().splitlines():
            if '"panic"' in line or '"internal"' in line:
                self.note(f"the log has {line[:400]}")

    # ---- faults ------------------------------------------------------------------------------------------------------

    def fault(self, name: str, dice: random.Random) -> None:
        say(f"{self.options.only}: {name}")
        self.faults[name] += 1
        self.disturbed += 1
        victim = len(self.servers) - 1
        if name in ("kill", "term"):
            # Of two, the first one as well while it may.
            self.end_server(victim, signal.SIGKILL if name == "kill" else signal.SIGTERM)
            time.sleep(dice.uniform(0, 2))
            self.serve(victim)
        elif name == "pause":
            self._pause([dice.choice(self.servers).pid], dice)
        elif name == "backup":
            self.backup()
        elif name == "reader":
            with contextlib.closing(sqlite3.connect(f"file:{self.file}?mode=ro", uri=True)) as reader:
                reader.execute("begin")
                reader.execute("select count(*) from sessions").fetchone()
                time.sleep(dice.uniform(2, 8))
        elif name == "database stops":
            end(self.postgresql.process, signal.SIGQUIT)
            time.sleep(dice.uniform(0, 3))
            self.postgresql.start(self.settings, port=self.postgresql.port)
        elif name == "connections end":
            others = "datname = 'soak' and pid <> pg_backend_pid()"
            self.sql(f"select count(pg_terminate_backend(pid)) from pg_stat_activity where {others}")
        elif name == "database pauses":
            pid = self.postgresql.process.pid
            self._pause(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()), dice)
        # Until the waiting requests are over.
        time.sleep(2)
        self.disturbed += 1

    def _pause(self, pids, dice: random.Random) -> None:
        pids = list(pids)
        for number, wait in ((signal.SIGSTOP, dice.uniform(1, 6)), (signal.SIGCONT, 0)):
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
            time.sleep(wait)

    def backup(self) -> None:
        copy = self.folder / "copy.db"
        copy.unlink(missing_ok=True)
        if said := self.run("backup", "--verify", copy):
            self.note(f"backup: {said}")

    def run(self, *arguments) -> str:
        """What a command says, if it fails."""
        command = [self.options.sessiond, *arguments, "--database-url", self.database_url]
        done = subprocess.run(command, capture_output=True, text=True, env=settings_removed(), cwd=self.folder)
        return (done.stdout + done.stderr)[-1000:] if done.returncode else ""

    # ---- what is seen from outside -----------------------------------------------------------------------------------

    def sql(self, statement: str) -> list[list[str]]:
        if not self.sqlite:
            return [line.split("|") for line in self.postgresql.sql("soak", statement).splitlines()]
        with contextlib.closing(sqlite3.connect(f"file:{self.file}?mode=ro", uri=True, timeout=10)) as connection:
            return [[str(value) for value in row] for row in connection.execute(statement)]

    def tables(self, column: str | None = None) -> list[str]:
        if self.sqlite:
            names = [row[0] for row in self.sql("select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'")]
            return [t for t in names if not column or any(c[1] == column for c in self.sql(f"pragma table_info({t})"))]
        if not column:
            return [row[0] for row in self.sql("select tablename from pg_tables where schemaname = 'public'")]
        query = "select table_name from information_schema.columns where table_schema = 'public' and column_name = "
        return [row[0] for row in self.sql(f"{query}'{column}'")]

    def sample(self) -> dict:
        counts = " union all ".join(f"select '{table}', count(*) from {table}" for table in self.tables())
        found = {"at": time.time(), "rows": {table: int(count) for table, count in self.sql(counts)}, "servers": []}
        for server in self.servers:
            fields = Path(f"/proc/{server.pid}/stat").read_text().rsplit(")", 1)[1].split()
            found["servers"].append({
                "pid": server.pid,
                "memory": memory(server.pid)["now"],
                "files": len(os.listdir(f"/proc/{server.pid}/fd")),
                "threads": int(fields[17]),
                "cpu": (int(fields[11]) + int(fields[12])) / TICKS,
            })  # fmt: skip
        if self.sqlite:
            log = Path(f"{self.file}-wal")
            found["size"] = self.file.stat().st_size
            found["log"] = log.stat().st_size if log.exists() else 0
            found["free"] = int(self.sql("pragma freelist_count")[0][0]) * int(self.sql("pragma page_size")[0][0])
        else:
            found["size"] = int(self.sql("select pg_database_size('soak')")[0][0])
            found["log"] = self.postgresql.wal_bytes()
            found["dead"] = int(self.sql("select sum(n_dead_tup) from pg_stat_user_tables")[0][0] or 0)
            found["connections"] = int(self.sql("select count(*) from pg_stat_activity where datname = 'soak'")[0][0]) - 1
        return found


class Client:
    """Asks until there is an answer; what it sends can be sent twice."""

    def __init__(self, world: World, name: str):
        self.world, self.name = world, name
        self.dice = random.Random(f"{world.options.seed} {world.options.only} {name}")
        self.connection: http.client.HTTPConnection | None = None
        self.server: Sessiond | None = None
        self.count = 0

    def new(self, prefix: str = "") -> str:
        self.count += 1
        return f"{prefix}{self.name}-{self.count}"

    def connect(self) -> http.client.HTTPConnection:
        server = self.dice.choice(self.world.servers)
        if not self.connection or self.server not in self.world.servers or self.dice.random() < 0.02:
            if server is None:
                raise ConnectionRefusedError
            self.server, self.connection = server, http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=30)
        return self.connection

    def ask(self, method: str, path: str, body=None, ok=(200, 201, 204), kind: str = "", **headers) -> tuple[int, object, object]:
        world = self.world
        headers = {name.replace("_", "-"): value for name, value in headers.items()} | {"authorization": f"Bearer {KEY}"}
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
            headers["content-type"] = "application/json"
        begun, tries, before = time.monotonic(), 0, world.disturbed
        while True:
            tries += 1
            try:
                connection = self.connect()
                connection.request(method, path, body, headers)
                answer = connection.getresponse()
                data = answer.read()
                status = answer.status
            except (OSError, http.client.HTTPException) as error:
                self.connection, status, data = None, 0, repr(error).encode()
            took = time.monotonic() - begun
            with world.lock:
                world.answers[str(status or type(data).__name__ and "none")] += 1
            if status in ok:
                with world.lock:
                    world.slowest = max(world.slowest, took)
                    if kind and tries == 1 and before == world.disturbed and before % 2 == 0:
                        world.times[kind].append((time.time(), took))
                if (answer.getheader("content-type") or "").startswith("application/json"):
                    data = json.loads(data)
                return status, data, answer.headers
            # 408: the client, or the server, was stopped while the body arrived.
            if status not in (0, 408, 429, 503) or took > PATIENCE:
                self.fail(f"{method} {path}: {status} after {tries} tries, {took:.0f} s: {data[:600]!r}")
            time.sleep(0.05 + 0.2 * self.dice.random())

    def fail(self, what: str) -> None:
        self.world.note(f"{self.name}: {what}")
        raise Wrong(what)

    def expect(self, holds: bool, what) -> None:
        if not holds:
            self.fail(what() if callable(what) else what)

    def begin(self, target) -> threading.Thread:
        def run() -> None:
            try:
                target()
            except Exception:
                self.world.note(f"{self.name} ended: {traceback.format_exc()}")

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread


class Person(Client):
    """A user with sessions, written by nobody else."""

    ACTIONS = {
        "append": 30, "read": 14, "batch": 5, "state": 5, "search": 5, "create": 6, "list": 3, "fork": 3, "rewind": 3, "redact": 3,
        "trim": 2, "delete": 2, "save": 3, "load": 2, "lease": 3, "patch": 3, "copy": 2, "together": 14,
    }  # fmt: skip

    def __init__(self, world: World, name: str, common: list[Common]):
        super().__init__(world, name)
        self.common = common
        self.user = ""
        self.thread = self.begin(self.live)

    def live(self) -> None:
        while self.world.working:
            self.be_somebody()
            until = time.monotonic() + self.dice.uniform(40, 120)
            try:
                while self.world.working and time.monotonic() < until:
                    time.sleep(self.dice.expovariate(1 / self.world.options.think))
                    self.step()
                if self.world.working:
                    self.check_all()
            except Wrong:
                pass
            if self.world.working:
                with contextlib.suppress(Wrong):
                    self.erase()

    def be_somebody(self) -> None:
        self.app = self.dice.choice(["plain", "kept"])
        self.user = self.new("soak-") + "z"
        self.url = f"/v1/apps/{self.app}/users/{self.user}"
        self.sessions: dict[str, Session] = {}
        self.shared: dict = {}
        self.files: dict[str, str] = {}

    def step(self) -> None:
        name = self.dice.choices(list(self.ACTIONS), list(self.ACTIONS.values()))[0]
        if not self.sessions:
            name = "create"
        session = self.dice.choice(list(self.sessions.values())) if self.sessions else None
        try:
            if session and time.time() > session.dead:
                self.ask("GET", session.url, ok=(404,))
                raise Vanished
            getattr(self, name)(session)
            with self.world.lock:
                self.world.done[name] += 1
        except Vanished:
            del self.sessions[session.id]
            if name in ("append", "lease", "save"):
                # What was written for the user before the session expired, by a try that was not answered, is there.
                self.shared = self.ask("GET", f"{self.url}/state")[1]
                self.files.clear()

    def ask_session(self, session: Session, method: str, path: str = "", body=None, ok=(200, 201, 204), **more):
        answer = self.ask(method, session.url + path, body, ok=(*ok, 404), **more)
        if answer[0] == 404:
            self.expect(time.time() > session.dies - 1, f"{session.url} is gone {session.dies - time.time():.1f} s too early")
            raise Vanished
        return answer

    def create(self, _) -> None:
        if len(self.sessions) >= 6:
            return self.delete(self.dice.choice(list(self.sessions.values())))
        body = {"state": {"n": self.dice.randrange(1000), "who": self.user}}
        if self.dice.random() < 0.5:
            body["sessionId"] = self.new("s-")
        dies = math.inf
        if ttl := self.dice.random() < 0.3 and self.dice.randrange(5, 60):
            body["ttl"], dies = ttl, time.time() + ttl
        key = self.new("key-")
        status, made, _ = self.ask("POST", f"{self.url}/sessions", body, idempotency_key=key)
        if not ttl and self.dice.random() < 0.2:
            _, again, _ = self.ask("POST", f"{self.url}/sessions", body, idempotency_key=key)
            self.expect(again["id"] == made["id"], f"a creation made {made['id']} and {again['id']}")
        dead = time.time() + ttl + 1 if ttl else math.inf
        session = Session(made["id"], f"{self.url}/sessions/{made['id']}", dies, dead, body["state"], ttl=bool(ttl))
        self.sessions[session.id] = session

    def event(self, invocation: str, shared: bool = False) -> tuple[Event, dict]:
        event = Event(self.new("e-"), invocation, word=self.new("w").replace("-", "x"))
        event.sets = {f"k{self.dice.randrange(8)}": self.dice.randrange(10**6) for _ in range(self.dice.randrange(3))}
        said = " ".join([event.word, *self.dice.choices(WORDS, k=20)])
        body = {"id": event.id, "author": "agent", "invocationId": invocation, "actions": {"stateDelta": dict(event.sets)}}
        body["content"] = {"role": "model", "parts": [{"text": said}]}
        if shared:
            body["actions"]["stateDelta"]["user:last"] = event.word
            body["actions"]["stateOps"] = [{"op": "increment", "key": "user:count", "value": 1}]
        return event, body

    def append(self, session: Session, **headers) -> None:
        shared = self.dice.random() < 0.3
        event, body = self.event(self.new("i-"), shared)
        keyed = self.dice.random() < 0.3
        if keyed:
            del body["id"]
            headers["idempotency_key"] = self.new("key-")
        for _ in range(1 + (self.dice.random() < 0.05)):
            _, made, _ = self.ask_session(session, "POST", "/events", body, kind="append", **headers)
            self.expect(made["sequence"] == session.revision + 1, f"{session.url}: {made['sequence']}, not {session.revision + 1}")
            self.expect(keyed or made["id"] == event.id, f"{session.url}: {made['id']}, not {event.id}")
        event.id = made["id"]
        session.events.append(event)
        if shared:
            self.shared |= {"last": event.word, "count": self.shared.get("count", 0) + 1}

    def batch(self, session: Session) -> None:
        invocation = self.new("i-")
        pairs = [self.event(invocation) for _ in range(self.dice.randrange(2, 12))]
        self.ask_session(session, "POST", "/events", [body for _, body in pairs])
        session.events += [event for event, _ in pairs]

    def read(self, session: Session, **options) -> None:
        _, got, _ = self.ask_session(session, "GET", kind="read", **options)
        self.compare(session, got)

    def compare(self, session: Session, got: dict) -> None:
        base = got.get("baseRevision", 0)
        where = session.url
        session.allowed = max(session.allowed, session.revision - MAX_COUNT if self.app == "kept" else 0)
        self.expect(got["revision"] == session.revision, lambda: f"{where}: revision {got['revision']}, not {session.revision}")
        if base != session.base:
            may = session.base < base <= session.allowed
            self.expect(may, lambda: f"{where}: base {base}, was {session.base} of {session.revision}")
            session.trim(base)
        events = [shown(event) for event in got["events"]]
        ids, expected = [e.id for e in events], [e.id for e in session.events]
        self.expect(ids == expected, lambda: f"{where}: events {ids}, not {expected}")
        for event, must in zip(events, session.events, strict=True):
            same = (event.sets, event.removes, event.redacted) == (must.sets, must.removes, must.redacted)
            self.expect(same, lambda event=event, must=must: f"{where}: {event}, not {must}")
        state = session.state() | {f"user:{key}": value for key, value in self.shared.items()}
        self.expect(got["state"] == state, lambda: f"{where}: state {got['state']}, not {state}")

    def pull(self, session: Session, count: int) -> None:
        """Takes over what the service has appended by itself."""
        _, got, _ = self.ask_session(session, "GET", f"/events?afterSequence={session.revision}")
        self.expect(len(got["events"]) == count, lambda: f"{session.url}: {got['events']} behind {session.revision}, not {count}")
        session.events += [shown(event) for event in got["events"]]

    def state(self, session: Session) -> None:
        at = self.dice.randint(max(session.base, session.revision - KEEP_LAST), session.revision)
        _, got, _ = self.ask_session(session, "GET", f"/state?scope=session&atRevision={at}")
        self.expect(got == session.state(at), lambda: f"{session.url} at {at}: {got}, not {session.state(at)}")

    def search(self, session: Session) -> None:
        event = next((e for e in reversed(session.events) if e.word and self.dice.random() < 0.3), None)
        if event and session.events.index(event) >= len(session.events) - KEEP_LAST:
            _, got, _ = self.ask_session(session, "GET", f"/events?text={event.word.upper()}")
            ids, expected = [e["id"] for e in got["events"]], [] if event.redacted else [event.id]
            self.expect(ids == expected, lambda: f"{session.url} {event.word}: {ids}, not {expected}")

    def list(self, _) -> None:
        before = time.time()
        _, got, _ = self.ask("GET", f"{self.url}/sessions?pageSize=100")
        ids = {session["id"] for session in got["sessions"]}
        must = {s.id for s in self.sessions.values() if s.dies > before + PATIENCE or s.dies > time.time() + 1}
        self.expect(must <= ids <= set(self.sessions), lambda: f"{self.url} lists {ids}, not {set(self.sessions)}")

    def fork(self, session: Session) -> None:
        if len(self.sessions) >= 6:
            return
        at = self.dice.randint(max(session.base, session.revision - KEEP_LAST), session.revision)
        body = {"atRevision": at, "sessionId": self.new("f-")}
        self.ask_session(session, "POST", "/fork", body, idempotency_key=self.new("key-"))
        url = f"{self.url}/sessions/{body['sessionId']}"
        fork = Session(body["sessionId"], url, session.dies, math.inf, dict(session.state0), base=session.base, ttl=session.ttl)
        fork.allowed = max(session.allowed, session.revision - MAX_COUNT if self.app == "kept" else 0)
        fork.events = [replace(event) for event in session.events[: at - session.base]]
        session.forks.append(fork)
        self.sessions[fork.id] = fork
        self.read(fork)

    def rewind(self, session: Session) -> None:
        events = session.events
        ends = [n for n in range(max(1, len(events) - KEEP_LAST), len(events)) if events[n - 1].invocation != events[n].invocation]
        if not ends or session.files:
            return
        to = session.base + self.dice.choice(ends)
        state = session.state(to)
        self.ask_session(session, "POST", "/rewind", {"toRevision": to}, idempotency_key=self.new("key-"))
        self.pull(session, 1)
        self.expect(session.state() == state, lambda: f"{session.url} rewound to {to}: {session.state()}, not {state}")

    def redact(self, session: Session) -> None:
        event = next((e for e in session.events[-KEEP_LAST:] if e.word and not e.redacted), None)
        if not event:
            return
        remove = not session.forks and self.dice.random() < 0.5
        if remove:
            # Not what it wrote in user state: that may be of a later one.
            _, got, _ = self.ask_session(session, "GET", f"/events/{event.id}")
            remove = "user:last" not in got["actions"]["stateDelta"]
        self.ask_session(session, "POST", f"/events/{event.id}/redact", {"reason": "soak", "state": "remove" if remove else "keep"})
        later = session.events[session.events.index(event) + 1 :]
        present = {key for key in event.sets if not any(key in e.sets or key in e.removes for e in later)}
        session.redact(event.id)
        if remove:
            event.removes, event.sets = list(event.sets), {}
            self.pull(session, 1 if present else 0)
            if present:
                removed = set(session.events[-1].removes)
                self.expect(removed == present, lambda: f"{session.url}: removed {removed}, not {present}")
        self.read(session)

    def trim(self, session: Session) -> None:
        if self.app == "plain" and len(session.events) > 12:
            base = session.revision - self.dice.randrange(5, 12)
            self.ask_session(session, "POST", "/trim", {"beforeSequence": base + 1})
            session.trim(base)

    def delete(self, session: Session) -> None:
        self.ask("DELETE", session.url)
        self.ask("GET", session.url, ok=(404,))
        self.sessions.pop(session.id, None)

    def save(self, session: Session) -> None:
        of_user = self.dice.random() < 0.5
        name = ("user:" if of_user else "") + f"file{self.dice.randrange(2)}"
        data = self.dice.randbytes(int(self.dice.choice([100, 20_000, 400_000]) * self.dice.uniform(0.5, 1.5)))
        more = {"content_type": "application/octet-stream", "idempotency_key": self.new("key-")}
        event = self.dice.random() < 0.5
        self.ask_session(session, "PUT", f"/artifacts/{name}{'' if event else '?event=none'}", data, **more)
        (self.files if of_user else session.files)[name] = hashlib.sha256(data).hexdigest()
        if event:
            self.pull(session, 1)

    def load(self, session: Session) -> None:
        for name, digest in (session.files | self.files).items():
            _, data, _ = self.ask_session(session, "GET", f"/artifacts/{name}")
            self.expect(hashlib.sha256(data).hexdigest() == digest, f"{session.url}: {name} has other bytes")

    def lease(self, session: Session) -> None:
        owner = self.new("owner-")
        _, lease, _ = self.ask_session(session, "POST", "/lease", {"owner": owner, "invocationId": owner, "ttl": 300})
        status, _, _ = self.ask_session(session, "POST", "/lease", {"owner": "another"}, ok=(200, 201, 409))
        self.expect(status == 409, f"{session.url}: two hold the lease")
        self.append(session, sessiond_lease=f"{lease['epoch']}-{lease['incarnation']}")
        self.ask_session(session, "DELETE", f"/lease?epoch={lease['epoch']}")

    def patch(self, _) -> None:
        note = self.dice.randrange(10**6)
        body = {"stateDelta": {"note": note}, "stateOps": [{"op": "increment", "key": "count", "value": 1}]}
        self.shared |= {"note": note, "count": self.shared.get("count", 0) + 1}
        key = self.new("key-")
        for _ in range(1 + (self.dice.random() < 0.1)):
            _, got, _ = self.ask("PATCH", f"{self.url}/state", body, idempotency_key=key)
            self.expect(got == self.shared, lambda got=got: f"{self.url}: state {got}, not {self.shared}")

    def copy(self, session: Session) -> None:
        """Into an app where nothing else is, and away again."""
        _, lines, _ = self.ask_session(session, "GET", "/export", ok=(200,))
        while True:
            _, said, _ = self.ask("POST", "/v1/import?appName=copies", lines, content_type="application/x-ndjson")
            results = [json.loads(line) for line in said.split(b"\n") if line]
            failed = [result for result in results if result.get("result") not in (None, "created", "unchanged")]
            if results and "sessions" in results[-1] and not failed:
                break
            if session.ttl and any(result.get("code") == "session_not_found" for result in failed):
                return  # it has expired
            busy = all(result.get("code") in ("storage_unavailable", "overloaded", "timeout") for result in failed)
            self.expect(busy, lambda: f"import of {session.url}: {said[-600:]!r}")
            time.sleep(0.5)
        copy = session.url.replace(f"/apps/{self.app}/", "/apps/copies/")
        status, got, _ = self.ask("GET", copy, ok=(200, 404) if session.ttl else (200,))
        if status == 404:
            return  # it has expired
        ids, expected = [event["id"] for event in got["events"]], [event.id for event in session.events]
        self.expect(expected[-len(ids) :] == ids if ids else len(expected) <= KEEP_LAST, lambda: f"{copy}: {ids}, not {expected}")
        self.ask("DELETE", copy)

    def together(self, _) -> None:
        self.dice.choice(self.common).append(self)

    def check_all(self) -> None:
        for session in list(self.sessions.values()):
            try:
                self.read(session)
                self.load(session)
            except Vanished:
                del self.sessions[session.id]
        self.list(None)

    def erase(self) -> None:
        for app in (self.app, "copies"):
            url = f"/v1/apps/{app}/users/{self.user}"
            _, erasure, _ = self.ask("POST", f"{url}/erasure", {"requestId": self.user}, ok=(200, 202))
            with self.world.lock:
                self.world.erasing[erasure["id"]] = time.monotonic()
            _, got, _ = self.ask("GET", f"{url}/sessions")
            _, state, _ = self.ask("GET", f"{url}/state")
            self.expect(got["sessions"] == [] and state == {}, lambda: f"{url} was erased and has {got}, {state}")
        for session in self.sessions.values():
            self.ask("GET", session.url, ok=(404,))
        self.user, self.sessions = "", {}


class Common(Client):
    """A session that many write, and one follows, from whatever server."""

    def __init__(self, world: World, n: int):
        super().__init__(world, f"common{n}")
        self.url = f"/v1/apps/common/users/all/sessions/c{n}"
        self.ask("PUT", self.url)
        # What an answer or the stream has shown there, in both of which it must be the same.
        self.log: dict[int, str] = {}
        self.acknowledged: dict[str, int] = {}
        self.last, self.cursor, self.watched = 0, None, Counter()
        self.guard = threading.Lock()
        self.begin(self.follow)

    def saw(self, sequence: int, event: str) -> None:
        with self.guard:
            known = self.log.setdefault(sequence, event)
            if len(self.log) > 5000:
                for old in sorted(self.log)[:2500]:
                    del self.log[old]
        if known != event:
            self.world.note(f"{self.url}: {sequence} is {event}, and was {known}")

    def append(self, person: Person) -> None:
        event = person.new("e-")
        body = {"id": event, "author": "agent", "content": {"parts": [{"text": " ".join(person.dice.choices(WORDS, k=20))}]}}
        body["actions"] = {"stateDelta": {"by": person.name}}
        if person.dice.random() < 0.2:
            body["actions"]["stateOps"] = [{"op": "increment", "key": "app:total", "value": 1}]
            with self.world.lock:
                # If the client gives up, that was noted.
                self.world.total += 1
        _, made, _ = person.ask("POST", f"{self.url}/events", body, kind="append")
        with self.guard:
            self.acknowledged[event] = made["sequence"]
        self.saw(made["sequence"], event)

    def check(self) -> None:
        """What was acknowledged is there once, at its place, as far back as the log goes."""
        with self.guard:
            before = dict(self.acknowledged)
        found: list[dict] = []
        query = "pageSize=1000"
        while True:
            _, got, _ = self.ask("GET", f"{self.url}/events?{query}")
            found += got["events"]
            if "nextPageToken" not in got:
                break
            query = f"pageSize=1000&pageToken={got['nextPageToken']}"
        first = found[0]["sequence"] if found else 0
        sequences, ids = [e["sequence"] for e in found], {e["id"]: e["sequence"] for e in found}
        self.expect(sequences == list(range(first, first + len(found))), f"{self.url}: a gap in {sequences}")
        self.expect(len(ids) == len(found), f"{self.url}: an event is there twice")
        for event, sequence in before.items():
            there = sequence < first or ids.get(event) == sequence
            self.expect(there, f"{self.url}: {event} is at {ids.get(event)}, not {sequence}")
        with self.guard:
            for event, sequence in before.items():
                if sequence < first:
                    del self.acknowledged[event]

    def follow(self) -> None:
        while self.world.following:
            try:
                server = self.dice.choice(self.world.servers)
                if server is None:
                    raise ConnectionRefusedError
                stream = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=30)
                headers = {"authorization": f"Bearer {KEY}"} | ({"last-event-id": self.cursor} if self.cursor else {})
                stream.request("GET", self.url + "/watch" + ("" if self.cursor else f"?afterSequence={self.last}"), headers=headers)
                answer = stream.getresponse()
                if answer.status == 200:
                    self.frames(answer)
                elif answer.status == 410:
                    # It was paused for longer than a policy keeps.
                    self.last, self.cursor = self.ask("GET", f"{self.url}?numRecentEvents=1")[1]["revision"], None
                self.watched[str(answer.status)] += 1
                if answer.status not in (200, 410, 429, 503):
                    self.world.note(f"watch of {self.url}: {answer.status} {answer.read()[:500]!r}")
                stream.close()
            except (OSError, http.client.HTTPException, Wrong):
                self.watched["broken"] += 1
            time.sleep(0.2)

    def frames(self, answer: http.client.HTTPResponse) -> None:
        for fields in frames(answer):
            if fields.get("event") == "event":
                event = json.loads(fields["data"])
                if event["sequence"] != self.last + 1:
                    self.world.note(f"watch of {self.url}: {event['sequence']} after {self.last}")
                self.last = event["sequence"]
                self.saw(self.last, event["id"])
            if "id" in fields:
                self.cursor = fields["id"]
            if not self.world.following:
                return


class Feed(Client):
    """Reads the change feed: each change once, those of a session without a gap."""

    def __init__(self, world: World):
        super().__init__(world, "feed")
        self.position = self.ask("GET", "/v1/feed?after=now")[1]["position"]
        self.last: dict[str, int] = {}
        self.there: dict[tuple[str, str], str] = {}
        self.up_to_date = 0.0
        self.begin(self.follow)

    def follow(self) -> None:
        while self.world.following:
            asked = time.monotonic()
            try:
                _, got, _ = self.ask("GET", f"/v1/feed?after={self.position}&wait=2s&pageSize=200")
                for change in got["changes"]:
                    self.take(change)
            except Wrong:
                return
            self.position = got["position"]
            if got["upToDate"]:
                self.up_to_date = asked

    def take(self, change: dict) -> None:
        self.world.done["change"] += 1
        session = change.get("incarnation")
        if change["kind"] == "session.created":
            if session in self.last:
                self.fail(f"{change['sessionId']} was created twice")
            self.last[session] = 0
            self.there[change["appName"], change["sessionId"]] = session
        elif change["kind"] == "events":
            first, last = change["firstSequence"], self.last.get(session)
            # An import begins at the base of what was exported, and a fork at that of its source.
            if last is not None and first != last + 1 and (last != 0 or first <= last):
                self.fail(f"{change['appName']} {change['sessionId']}: events {first} after {last}")
            self.last[session] = change["lastSequence"]
        elif change["kind"] == "session.deleted":
            self.last.pop(session, None)


# ---- the run ---------------------------------------------------------------------------------------------------------


def soak(options: argparse.Namespace, folder: Path) -> dict:
    """One database. The servers are started by this thread alone: they end with it."""
    world = World(options, folder)
    dice = random.Random(f"{options.seed} {options.only} faults")
    started = time.time()
    seconds = options.hours * 3600
    common: list[Common] = []
    samples: list[dict] = []
    try:
        setup = Client(world, "setup")
        for app, policy in POLICIES.items():
            setup.ask("PUT", f"/v1/apps/{app}/policy", policy)
        feed = Feed(world)
        common = [Common(world, n) for n in range(3)]
        people = [Person(world, f"p{n}", common) for n in range(options.clients)]
        first = ["kill", "pause", "term"] + ([] if world.sqlite else ["database stops", "connections end", "database pauses"])
        later = ["pause", "backup", "reader"] if world.sqlite else [*first, "pause"]
        next_sample = next_fault = next_check = 0.0
        next_fault = time.time() + options.faults
        names: list[str] = []
        while (now := time.time()) < started + seconds:
            if now >= next_sample:
                next_sample = now + options.sample
                # A database that is busy with something else is looked at the next time.
                with contextlib.suppress(sqlite3.OperationalError, subprocess.CalledProcessError):
                    samples.append(world.sample())
                ended(world, setup)
            if now >= next_fault:
                young = now < started + seconds / 6
                if not names:
                    names = dice.sample(first if young else later, len(first if young else later))
                name = names.pop()
                if young or name in later:
                    if young and name in ("kill", "term") and dice.random() < 0.5:
                        # The other one of two lives long from here on.
                        world.servers.reverse()
                    world.fault(name, dice)
                next_fault = time.time() + options.faults * dice.uniform(0.5, 1.5)
            if now >= next_check:
                next_check = now + 20
                for each in common:
                    each.check()
            time.sleep(0.2)
        world.done["samples"] = len(samples)
        if len(samples) > 12:
            samples.append(world.sample())
        say(f"{options.only}: the end")
        for _ in range(3):
            world.fault("kill", dice)
        world.working = False
        for person in people:
            person.thread.join(PATIENCE)
            if person.thread.is_alive():
                world.note(f"{person.name} does not end")
        finish(world, setup, people, common, feed)
    except Wrong:
        pass  # it is noted
    finally:
        world.working = world.following = False
        for server in world.servers:
            if server:
                end(server.process, signal.SIGKILL)
        if world.postgresql:
            world.postgresql.stop()
    return {
        "database": options.only, "minutes": seconds / 60, "started": started, "seed": options.seed, "clients": options.clients,
        "wrong": world.wrong + growth(samples, seconds), "answers": dict(world.answers), "done": dict(world.done),
        "faults": dict(world.faults), "slowest": world.slowest, "watches": dict(sum((c.watched for c in common), Counter())),
        "extra": getattr(world, "extra", {}), "samples": samples, "times": world.times,
    }  # fmt: skip


def ended(world: World, client: Client) -> None:
    """Erasures are done in time."""
    with world.lock:
        waiting = dict(world.erasing)
    for erasure, since in waiting.items():
        _, got, _ = client.ask("GET", f"/v1/erasures/{erasure}")
        if got["state"] == "done" or time.monotonic() - since > PATIENCE:
            if got["state"] != "done":
                world.note(f"the erasure {erasure} is {got} after {PATIENCE} s")
            with world.lock:
                del world.erasing[erasure]
                world.done["erasure"] += 1


def finish(world: World, setup: Client, people: list[Person], common: list[Common], feed: Feed) -> None:
    for person in people:
        with contextlib.suppress(Wrong):
            person.check_all()
    for each in common:
        with contextlib.suppress(Wrong):
            each.check()
    _, got, _ = setup.ask("GET", "/v1/apps/common/state")
    if got["total"] != world.total:
        world.note(f"app:total is {got['total']} after {world.total} increments")
    now = time.monotonic()
    deadline = now + PATIENCE
    while (world.erasing or feed.up_to_date < now) and time.monotonic() < deadline:
        ended(world, setup)
        time.sleep(1)
    if world.erasing or feed.up_to_date < now:
        world.note(f"not over: erasures {list(world.erasing)}, the feed {feed.up_to_date - now:.0f} s")
    for each in common:
        _, got, _ = setup.ask("GET", f"{each.url}?numRecentEvents=1")
        if each.last != got["revision"]:
            world.note(f"the watch of {each.url} is at {each.last}, not at {got['revision']}")
    for person in people:
        for session in person.sessions.values():
            status, got, _ = setup.ask("GET", session.url, ok=(200, 404))
            known = feed.last.get(feed.there.get((person.app, session.id)))
            if status == 200 and known != got["revision"]:
                world.note(f"the feed has {session.url} at {known}, not at {got['revision']}")
    world.following = False
    time.sleep(3)
    # What it holds of users who are there, and of nobody else.
    alive = {person.user for person in people} | {"all"}
    for table in world.tables("user_id"):
        left = {row[0] for row in world.sql(f"select distinct user_id from {table} where user_id is not null")} - alive
        if left:
            world.note(f"{table} has rows of {sorted(left)[:5]}, who were erased")
    if world.sqlite:
        world.backup()
        world.extra = {"size": world.file.stat().st_size, "compact": (world.folder / "copy.db").stat().st_size}
    for n in range(len(world.servers)):
        world.end_server(n, signal.SIGTERM)
    if said := world.run("verify", "--artifacts"):
        world.note(f"verify: {said}")
    if world.sqlite:
        # Nothing is left of their names, in whatever page.
        names = {name.decode() for name in re.findall(rb"soak-p\d+-\d+z", world.file.read_bytes())}
        if left := names - alive:
            world.note(f"the file has the names {sorted(left)[:5]}, who were erased")
    else:
        size = int(world.sql("select pg_database_size('soak')")[0][0])
        world.postgresql.sql("soak", "vacuum full")
        world.extra = {"size": size, "compact": int(world.sql("select pg_database_size('soak')")[0][0])}


# ---- the figures -----------------------------------------------------------------------------------------------------


def parts(samples: list[dict]) -> list[list[dict]]:
    begin, end_ = samples[0]["at"], samples[-1]["at"] + 1
    return [[s for s in samples if int(6 * (s["at"] - begin) / (end_ - begin)) == n] for n in range(6)]


# Of a sample; how it is written; from which growth on it counts.
FIGURES = {
    "memory of sessiond, MiB": (lambda s: s["servers"][0]["memory"] / 2**20, 8),
    "open files": (lambda s: s["servers"][0]["files"], 8),
    "threads": (lambda s: s["servers"][0]["threads"], 4),
    "rows": (lambda s: sum(n for table, n in s["rows"].items() if table not in LASTING), 2000),
    "database, MiB": (lambda s: s["size"] / 2**20, 16),
}
SHOWN = {
    "free pages, MiB": lambda s: s["free"] / 2**20,
    "SQLite's log, MiB": lambda s: s["log"] / 2**20,
    "dead rows": lambda s: s["dead"],
    "connections to PostgreSQL": lambda s: s["connections"],
    "other rows": lambda s: sum(s["rows"][table] for table in LASTING),
}


def growth(samples: list[dict], seconds: float) -> list[str]:
    if seconds < 1800 or len(samples) < 12:
        return []
    sixths = parts(samples)
    found = []
    for name, (figure, small) in FIGURES.items():
        second, last = (statistics.median(map(figure, sixths[n])) for n in (1, 5))
        if last > 1.3 * second and last - second > small:
            found.append(f"grows: {name}, from {second:.0f} in the second sixth to {last:.0f} in the last")
    return found


def table(result: dict) -> str:
    samples = result["samples"]
    if len(samples) < 12:
        return ""
    sixths = parts(samples)
    lines = [f"| {result['database']} | first sixth | second sixth | last sixth |", "|---|---|---|---|"]

    def line(name: str, values: list[float], digits: int = 0) -> None:
        lines.append(f"| {name} | " + " | ".join(f"{value:,.{digits}f}" for value in values) + " |")

    shown_ones = SHOWN | {name: figure for name, (figure, _) in FIGURES.items()}
    for name in [*FIGURES, *SHOWN]:
        if name.startswith("SQLite") and result["database"] != "sqlite":
            continue
        with contextlib.suppress(KeyError):
            line(name, [statistics.median(map(shown_ones[name], sixths[n])) for n in (0, 1, 5)], 1 if "MiB" in name else 0)
    for kind in ("append", "read"):
        for label, share in (("median", 0.5), ("99 %", 0.99)):
            values = []
            for n in (0, 1, 5):
                begin, end_ = sixths[n][0]["at"], sixths[n][-1]["at"] + result["minutes"] * 10 / len(samples)
                took = sorted(t for at, t in result["times"][kind] if begin <= at < end_)
                values.append(1000 * took[int(share * (len(took) - 1))] if took else 0)
            line(f"{kind}, {label}, ms", values, 1)
    return "\n".join(lines)


def report(result: dict) -> str:
    counts = ", ".join(f"{name} {count:,}" for name, count in sorted(result["done"].items()))
    said = [f"\n{result['database']}, {result['minutes']:.0f} minutes, {result['clients']} clients, seed {result['seed']}"]
    said += [table(result), f"done: {counts}", f"faults: {result['faults']}", f"answers: {result['answers']}"]
    said += [f"watches: {result['watches']}; the slowest answer, with its repetitions: {result['slowest']:.1f} s"]
    if result["extra"]:
        said += ["at the end {size:,} bytes, {compact:,} when compacted".format(**result["extra"])]
    return "\n".join(said + (["WRONG:", *result["wrong"]] if result["wrong"] else ["nothing was wrong"]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessiond", type=Path, required=True)
    parser.add_argument("--hours", type=float, default=8)
    parser.add_argument("--minutes", type=float, help="instead of --hours")
    parser.add_argument("--only", choices=["sqlite", "postgres"])
    parser.add_argument("--clients", type=int, default=8, help="of each database")
    parser.add_argument("--think", type=float, default=0.3, help="mean seconds between what a client does")
    parser.add_argument("--faults", type=float, help="mean seconds between faults; by default 10 to 60, by the length")
    parser.add_argument("--sample", type=float, help="seconds between samples; by default a sixtieth of a sixth, at least 2")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="all figures, as JSON")
    options = parser.parse_args()
    options.sessiond = options.sessiond.resolve()
    if options.minutes:
        options.hours = options.minutes / 60
    options.faults = options.faults or min(60, max(10, options.hours * 45))
    options.sample = options.sample or max(2, options.hours * 10)
    parent = os.environ.get("BENCH_DIR", "/var/tmp")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if options.only:
        with tempfile.TemporaryDirectory(prefix=f"sessiond-soak-{options.only}-", dir=parent) as folder:
            results = [soak(options, Path(folder))]
    else:
        results = both(options, parent)
    if options.out:
        options.out.write_text(json.dumps(results) + "\n")
    print("\n".join(map(report, results)), flush=True)
    # The threads that follow may wait for a server that is gone.
    sys.stdout.flush()
    os._exit(1 if any(result["wrong"] for result in results) else 0)


def both(options: argparse.Namespace, parent: str) -> list[dict]:
    """Each in a Python of its own, so that they do not wait for each other."""
    with tempfile.TemporaryDirectory(prefix="sessiond-soak-", dir=parent) as folder:
        files, processes = [], []
        for name in ("sqlite", "postgres"):
            files.append(Path(folder) / f"{name}.json")
            command = [sys.executable, __file__, "--only", name, "--out", files[-1]]
            for option in ("sessiond", "hours", "clients", "think", "faults", "sample", "seed"):
                command += [f"--{option}", str(getattr(options, option))]
            processes.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, preexec_fn=dies_with_us(signal.SIGTERM)))
        for process in processes:
            process.wait()
        return [result for file in files for result in json.loads(file.read_text())]


if __name__ == "__main__":
    main()
