#!/usr/bin/env python3
"""What clients see of a failover, and what is lost by it.

    cargo build --profile dist
    bench/failover.py --sessiond target/dist/sessiond    (or scripts/bench --failover)

A primary, a synchronous and an asynchronous standby; two sessiond behind an address that moves, with and without PgBouncer.
While writers append and watchers follow, the primary is killed, a standby is promoted, and the address moves. Each of the four
combinations starts from nothing. Prints as JSON, for each:

- acknowledged, missing, doubled: appends that were answered with success, those of them that are not there after the promotion,
  and ids that are there twice
- outage_seconds: from the kill until a standby is promoted and the address moved, of which --detect before the promotion;
  recovery_seconds, from then to the first success
- unavailable_seconds: from the first to the last 503 of any writer; slowest_append_seconds, until one was acknowledged, with all
  of its repetitions
- answers: how often each status came, with the outcome of a 503; watchers: how often they resumed, by what ended their stream,
  and how often they saw an event that does not follow the one before, or is another one than in the log
- verify: what `sessiond verify` says

The asynchronous standby gets nothing in the last --behind seconds before the kill. A writer repeats what was answered 503 every
50 ms, with the same event id. Exits with 1 if what must never happen did.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

from lab import PATIENCE, PostgreSQL, Sessiond, dies_with_us, end, frames, free_port, say, settings_removed

DATABASE = "failover"
SESSIONS = "/v1/apps/failover/users/ada/sessions"
# How long a client waits before it asks again.
PAUSE = 0.05


class Standby(PostgreSQL):
    """A copy of a primary that follows it, by way of `port`."""

    def __init__(self, primary: PostgreSQL, folder: Path, name: str, port: int):
        self.programs, self.user = primary.programs, primary.user
        self.folder = folder / name
        self.folder.mkdir()
        if self.user:
            os.chown(self.folder, self.user["user"], self.user["group"])
        source = f"host=127.0.0.1 port={port} user=postgres application_name={name}"
        self._run("pg_basebackup", "-d", source, "-D", "data", "-R", "--checkpoint=fast")
        self.start()

    def promote(self) -> None:
        self._run("pg_ctl", "promote", "-w", "-D", "data")


def kill(postgresql: PostgreSQL) -> None:
    """As if its machine had lost its power: no process of it says another word."""
    pid = postgresql.process.pid
    for process in [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    postgresql.process.wait()


class Address:
    """A TCP address that leads to a port, or nowhere, and can be moved."""

    def __init__(self, port: int | None):
        self.upstream = port
        self.lock = threading.Lock()
        self.open: set[socket.socket] = set()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def lead_to(self, port: int | None) -> None:
        """Ends what is open, and forwards new connections there; without a port it closes them."""
        with self.lock:
            self.upstream = port
            for end in self.open:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
            self.open.clear()

    def _accept(self) -> None:
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        upstream = self.upstream
        with client:
            try:
                server = socket.create_connection(("127.0.0.1", upstream)) if upstream else None
            except OSError:
                return
            if server is None:
                return
            with server:
                with self.lock:
                    if self.upstream != upstream:
                        return
                    self.open |= {client, server}
                for end in (client, server):
                    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                back = threading.Thread(target=_carry, args=(server, client), daemon=True)
                back.start()
                _carry(client, server)
                back.join()
                with self.lock:
                    self.open -= {client, server}


def _carry(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while chunk := source.recv(1 << 16):
            target.sendall(chunk)
    for end in (source, target):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


class PgBouncer:
    """In transaction mode, with its defaults but for what is given."""

    def __init__(self, folder: Path, upstream: int, user: dict, login_retry: float):
        self.port = free_port()
        settings = folder / "pgbouncer.ini"
        settings.write_text(
            f"[databases]\n* = host=127.0.0.1 port={upstream} user=postgres\n[pgbouncer]\nlisten_addr = 127.0.0.1\n"
            f"listen_port = {self.port}\nunix_socket_dir =\nauth_type = any\npool_mode = transaction\n"
            f"server_login_retry = {login_retry}\n"
        )
        settings.chmod(0o644)
        with open(folder / "pgbouncer.log", "wb") as log:
            self.process = subprocess.Popen(
                ["pgbouncer", settings], cwd="/", env=settings_removed() | {"PATH": os.environ["PATH"] + ":/usr/sbin"},
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=dies_with_us(signal.SIGKILL), **user,
            )  # fmt: skip
        deadline = time.monotonic() + PATIENCE
        while b"process up" not in (folder / "pgbouncer.log").read_bytes():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit("PgBouncer does not start:\n" + (folder / "pgbouncer.log").read_text())
            time.sleep(0.02)

    def stop(self) -> None:
        end(self.process, signal.SIGKILL)


def connect(server: Sessiond) -> http.client.HTTPConnection:
    return http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=PATIENCE)


class Clients:
    """Writers and watchers of the same sessions, until they are stopped."""

    def __init__(self, servers: list[Sessiond], sessions: int, writers: int):
        self.servers = servers
        self.writing = self.watching = True
        self.lock = threading.Lock()
        self.acknowledged: dict[str, int] = {}
        self.successes: list[float] = []
        self.unavailable: list[float] = []
        self.slowest = 0.0
        self.answers: Counter[str] = Counter()
        self.names = [f"s{n}" for n in range(sessions)]
        for name in self.names:
            status, text = self._ask(connect(servers[0]), "POST", SESSIONS, {"sessionId": name})
            if status != 201:
                raise SystemExit(f"no session: {status} {text}")
        self.writers = [threading.Thread(target=self._write, args=(n,), daemon=True) for n in range(writers)]
        self.watchers = [Watcher(self, server, name) for server in servers for name in self.names]
        for thread in self.writers:
            thread.start()

    @staticmethod
    def _ask(to: http.client.HTTPConnection, method: str, path: str, body: dict | None = None) -> tuple[int, str]:
        headers = {"content-type": "application/json"} if body else {}
        to.request(method, path, json.dumps(body) if body else None, headers)
        answer = to.getresponse()
        return answer.status, answer.read().decode()

    def _write(self, writer: int) -> None:
        to = connect(self.servers[writer % len(self.servers)])
        session = writer % len(self.names)
        number = 0
        while self.writing:
            number += 1
            event = f"w{writer}-{number}"
            body = {"id": event, "author": "a", "actions": {"stateDelta": {"k": number, "user:k": number}}}
            # What has begun is seen to its end, for its outcome counts.
            begun = time.monotonic()
            while True:
                try:
                    status, text = self._ask(to, "POST", f"{SESSIONS}/s{session}/events", body)
                    key = str(status) + (f" {json.loads(text).get('outcome')}" if status == 503 else "")
                except (OSError, http.client.HTTPException) as error:
                    to.close()
                    status, key = 0, type(error).__name__
                with self.lock:
                    self.answers[key] += 1
                    if status in (200, 201):
                        self.acknowledged[event] = session
                        self.successes.append(time.monotonic())
                        self.slowest = max(self.slowest, time.monotonic() - begun)
                        break
                    if status == 503:
                        self.unavailable.append(time.monotonic())
                time.sleep(PAUSE)

    def stop_writing(self) -> None:
        self.writing = False
        for thread in self.writers:
            thread.join(PATIENCE)
            if thread.is_alive():
                raise SystemExit(f"a writer does not end: {self.answers}")

    def log(self, name: str) -> list[str]:
        """The ids of a session's events."""
        ids: list[str] = []
        to = connect(self.servers[0])
        while True:
            status, text = self._ask(to, "GET", f"{SESSIONS}/{name}/events?pageSize=1000&afterSequence={len(ids)}")
            if status != 200:
                raise SystemExit(f"events: {status} {text}")
            events = json.loads(text)["events"]
            if [event["sequence"] for event in events] != list(range(len(ids) + 1, len(ids) + len(events) + 1)):
                raise SystemExit(f"the log of {name} has a gap behind {len(ids)}")
            if not events:
                return ids
            ids += [event["id"] for event in events]


class Watcher:
    """Follows a session, and resumes where it was."""

    def __init__(self, clients: Clients, server: Sessiond, name: str):
        self.clients, self.server, self.name = clients, server, name
        self.ends: Counter[str] = Counter()
        self.gaps = 0
        # What came since the watch began, or was last told that its position is gone.
        self.seen: dict[int, str] = {}
        self.last = 0
        self.cursor: str | None = None
        threading.Thread(target=self._follow, daemon=True).start()

    def _follow(self) -> None:
        while self.clients.watching:
            to = connect(self.server)
            try:
                query = "" if self.cursor or not self.last else f"?afterSequence={self.last}"
                headers = {"last-event-id": self.cursor} if self.cursor else {}
                to.request("GET", f"{SESSIONS}/{self.name}/watch{query}", headers=headers)
                answer = to.getresponse()
                ended = self._frames(answer) if answer.status == 200 else str(answer.status)
                if answer.status == 410:
                    self._begin_anew()
            except (OSError, http.client.HTTPException, ValueError) as error:
                ended = type(error).__name__
            to.close()
            if self.clients.watching:
                self.ends[ended] += 1
                time.sleep(PAUSE)

    def _begin_anew(self) -> None:
        to = connect(self.server)
        to.request("GET", f"{SESSIONS}/{self.name}/events?pageSize=1")
        answer = to.getresponse()
        text = answer.read()
        if answer.status == 200:
            self.last = json.loads(text)["revision"]
            self.cursor = None
            self.seen.clear()

    def _frames(self, answer: http.client.HTTPResponse) -> str:
        ended = "broken"
        for fields in frames(answer):
            if fields.get("event") == "event":
                event = json.loads(fields["data"])
                self.gaps += event["sequence"] != self.last + 1
                self.last = event["sequence"]
                self.seen[self.last] = event["id"]
            elif fields.get("event") == "bye":
                ended = "bye " + json.loads(fields["data"])["reason"]
            if "id" in fields:
                self.cursor = fields["id"]
        return ended


def until(condition, what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit(f"never: {what}")
        time.sleep(0.05)


def failed_over(options: argparse.Namespace, folder: Path, promoted: str, pgbouncer: bool) -> dict:
    folder.mkdir()
    folder.chmod(0o711)
    with contextlib.ExitStack() as stack:
        primary = PostgreSQL(folder)
        stack.callback(primary.stop)
        primary.sql("postgres", f"create database {DATABASE}")
        replication = Address(primary.port)
        standbys = {}
        for name, port in (("synchronous", primary.port), ("asynchronous", replication.port)):
            standbys[name] = Standby(primary, folder, name, port)
            stack.callback(standbys[name].stop)
        # Not before: the copies would have it, too, and wait for one another when they are promoted.
        primary.sql("postgres", "alter system set synchronous_standby_names = 'synchronous'", "select pg_reload_conf()")
        states = "select string_agg(sync_state, ' ' order by sync_state) from pg_stat_replication"
        until(lambda: primary.sql("postgres", states) == "async sync", "both standbys follow")
        address = Address(primary.port)
        port, flags = address.port, []
        if pgbouncer:
            bouncer = PgBouncer(folder, address.port, primary.user, options.login_retry)
            stack.callback(bouncer.stop)
            port, flags = bouncer.port, ["--pgbouncer"]
        servers = []
        for n in range(2):
            (own := folder / f"sessiond-{n}").mkdir()
            url = f"postgres://postgres@127.0.0.1:{port}/{DATABASE}"
            servers.append(stack.enter_context(Sessiond(options.sessiond.resolve(), url, own, *flags)))
        clients = Clients(servers, options.sessions, options.writers)
        time.sleep(options.seconds)

        if promoted == "asynchronous":
            replication.lead_to(None)
            time.sleep(options.behind)
        killed = time.monotonic()
        kill(primary)
        address.lead_to(None)
        replication.lead_to(None)
        before = len(clients.acknowledged)
        time.sleep(options.detect)
        standbys[promoted].promote()
        moved = time.monotonic()
        address.lead_to(standbys[promoted].port)
        until(lambda: clients.successes[-1] > moved, "a success after the failover")
        time.sleep(options.seconds)
        clients.stop_writing()

        logs = {name: clients.log(name) for name in clients.names}
        caught_up = time.monotonic() + PATIENCE
        while any(w.last < len(logs[w.name]) for w in clients.watchers) and time.monotonic() < caught_up:
            time.sleep(0.05)
        clients.watching = False
        ids = [set(logs[name]) for name in clients.names]
        ends = sum((watcher.ends for watcher in clients.watchers), Counter())
        others = sum(logs[w.name][s - 1 : s] != [event] for w in clients.watchers for s, event in list(w.seen.items()))
        command = [options.sessiond.resolve(), "verify", "--database-url", standbys[promoted].url(DATABASE)]
        verified = subprocess.run(command, capture_output=True, text=True, env=settings_removed())
        unavailable = clients.unavailable
        return {
            "promoted": promoted,
            "pgbouncer": pgbouncer,
            "acknowledged_before": before,
            "acknowledged": len(clients.acknowledged),
            "missing": sum(event not in ids[session] for event, session in clients.acknowledged.items()),
            "doubled": sum(len(log) - len(set(log)) for log in logs.values()),
            "unavailable_seconds": max(unavailable) - min(unavailable) if unavailable else 0,
            "slowest_append_seconds": clients.slowest,
            "outage_seconds": moved - killed,
            "recovery_seconds": min(at for at in clients.successes if at > moved) - moved,
            "answers": dict(clients.answers),
            "watchers": {
                "count": len(clients.watchers),
                "ends": dict(ends),
                "gaps": sum(watcher.gaps for watcher in clients.watchers),
                "other_than_the_log": others,
                "behind_at_the_end": sum(w.last < len(logs[w.name]) for w in clients.watchers),
            },
            "verify": {"status": verified.returncode, "said": verified.stdout.strip().splitlines()[-1:]},
        }


def broken(result: dict) -> list[str]:
    """What must never happen, and did."""
    watchers = result["watchers"]
    known = ("200", "201", "503")
    wrong = {
        "acknowledged appends are missing": result["missing"] if result["promoted"] == "synchronous" else 0,
        "events are doubled": result["doubled"],
        "answers are neither success nor 503": sum(n for key, n in result["answers"].items() if key[:3] not in known),
        "watchers have a gap": watchers["gaps"],
        "watchers saw what is not in the log": watchers["other_than_the_log"],
        "watchers did not catch up": watchers["behind_at_the_end"],
        "the database is not sound": result["verify"]["status"],
    }
    return [f"{what}: {count}" for what, count in wrong.items() if count]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessiond", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=5, help="of load before the kill, and after the recovery")
    parser.add_argument("--writers", type=int, default=16)
    parser.add_argument("--sessions", type=int, default=8)
    parser.add_argument("--detect", type=float, default=0, help="seconds until it is noticed that the primary is gone")
    parser.add_argument("--behind", type=float, default=0.2)
    parser.add_argument("--login-retry", type=float, default=15, help="PgBouncer's server_login_retry; 15 is its default")
    parser.add_argument("--only", choices=["synchronous", "asynchronous"])
    parser.add_argument("--pgbouncer", choices=["with", "without"])
    options = parser.parse_args()
    results, failures = [], []
    with tempfile.TemporaryDirectory(prefix="sessiond-failover-", dir="/var/tmp") as name:
        folder = Path(name)
        folder.chmod(0o711)
        for promoted in ("synchronous", "asynchronous"):
            for pgbouncer in (False, True):
                if options.only not in (None, promoted) or options.pgbouncer == ("without" if pgbouncer else "with"):
                    continue
                say(f"{promoted}, {'with' if pgbouncer else 'without'} PgBouncer")
                results.append(failed_over(options, folder / f"{promoted}-{pgbouncer}", promoted, pgbouncer))
                failures += broken(results[-1])
    print(json.dumps(results, indent=2))
    if failures:
        sys.exit("\n".join(failures))


if __name__ == "__main__":
    main()
