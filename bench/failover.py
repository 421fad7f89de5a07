#!/usr/bin/env python3
"""What clients see of a failover under load, and what is there afterwards.

    cargo build --release
    bench/failover.py --sessiond target/release/sessiond

A primary has a synchronous and an asynchronous standby. Two processes of sessiond reach it at an address that can move, directly or
through PgBouncer. Writers append, each to a session of its own, and send an event again until it is answered; watchers follow. The
primary is killed, a standby is promoted, and the address moves. Prints as JSON, for each standby, with and without PgBouncer:

- acknowledged, lost, doubled: events that were answered with 200 or 201; those of them that are not there; those that are there twice
- silent: the longest time in which no writer was answered; from the kill, and from the moment when the address had moved
- slowest: the longest time until a writer was answered again, counted from when the address had moved
- answers: how often each status was answered, or the connection failed
- watchers: events seen, gaps (must be 0), and how often one had to begin anew (410)
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
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

from lab import PATIENCE, Sessiond, dies_with_us, end, free_port, postgresql_programs, say, settings_removed

WATCHERS = 4
SESSIONS = "/v1/apps/failover/users/u/sessions"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessiond", type=Path, required=True)
    parser.add_argument("--writers", type=int, default=16)
    parser.add_argument("--before", type=float, default=4, help="seconds of load before the kill")
    parser.add_argument("--after", type=float, default=6, help="seconds of load after the address has moved")
    options = parser.parse_args()
    results = []
    for promoted in ("synchronous", "asynchronous"):
        for pgbouncer in (False, True):
            with tempfile.TemporaryDirectory(prefix="sessiond-failover-", dir="/var/tmp") as folder:
                result = {"promoted": promoted, "pgbouncer": pgbouncer} | fail_over(options, Path(folder), promoted, pgbouncer)
            say(json.dumps(result))
            results.append(result)
    print(json.dumps(results, indent=2))


class Node:
    """A PostgreSQL server, durable as a real one."""

    def __init__(self, folder: Path, name: str, user: dict, programs: Path):
        self.home, self.user, self.programs = folder / name, user, programs
        self.home.mkdir()
        if user:
            os.chown(self.home, user["user"], user["group"])
        self.data, self.port = self.home / "data", free_port()

    def run(self, program: str, *arguments: object) -> None:
        done = subprocess.run(
            [self.programs / program, *map(str, arguments)], cwd=self.home, env=settings_removed(), capture_output=True, text=True,
            **self.user,
        )  # fmt: skip
        if done.returncode != 0:
            raise SystemExit(f"{program} failed:\n{done.stdout}{done.stderr}")

    def start(self) -> None:
        settings = {"listen_addresses": "127.0.0.1", "hot_standby": "on", "wal_keep_size": "256MB", "max_connections": "200"}
        command = [self.programs / "postgres", "-D", self.data, "-p", str(self.port), "-k", self.home]
        for name, value in settings.items():
            command += ["-c", f"{name}={value}"]
        self.process = subprocess.Popen(
            command, cwd=self.home, env=settings_removed(), stdin=subprocess.DEVNULL, stdout=open(self.home / "log", "wb"),
            stderr=subprocess.STDOUT, preexec_fn=dies_with_us(signal.SIGQUIT), start_new_session=True, **self.user,
        )  # fmt: skip
        until(lambda: self.sql("select 1") == "1", self.home / "log")

    def sql(self, text: str) -> str | None:
        command = [self.programs / "psql", "-X", "-q", "-A", "-t", "-c", text, f"postgres://postgres@127.0.0.1:{self.port}/postgres"]
        done = subprocess.run(command, capture_output=True, text=True, env=settings_removed())
        return done.stdout.strip() if done.returncode == 0 else None

    def stop(self) -> None:
        end(self.process, signal.SIGQUIT)


def until(condition, log: Path | None = None) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit("it does not come about" + (f":\n{log.read_text()[-2000:]}" if log else ""))
        time.sleep(0.05)


class Address:
    """A TCP address that leads to a port, and can be led to another one."""

    def __init__(self, target: int):
        self.target, self.pairs, self.lock = target, [], threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        while True:
            client, _ = self.listener.accept()
            with self.lock:
                target = self.target
            try:
                server = socket.create_connection(("127.0.0.1", target), timeout=2)
            except OSError:
                client.close()
                continue
            for one in (client, server):
                one.settimeout(None)
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.pairs.append((client, server))
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self.pump, args=(source, sink), daemon=True).start()

    @staticmethod
    def pump(source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while part := source.recv(65536):
                sink.sendall(part)
        for one in (source, sink):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def lead_to(self, port: int) -> None:
        with self.lock:
            self.target = port
        for pair in self.pairs:
            for one in pair:
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)


def fail_over(options: argparse.Namespace, folder: Path, promoted: str, pgbouncer: bool) -> dict:
    folder.chmod(0o711)
    user = {}
    if os.getuid() == 0:
        import pwd

        entry = pwd.getpwnam("postgres")
        user = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    programs = postgresql_programs()
    primary = Node(folder, "primary", user, programs)
    primary.run("initdb", "-D", primary.data, "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C")
    standbys = {}
    with contextlib.ExitStack() as stack:
        primary.start()
        stack.callback(primary.stop)
        for name in ("synchronous", "asynchronous"):
            node = standbys[name] = Node(folder, name, user, programs)
            source = f"host=127.0.0.1 port={primary.port} user=postgres application_name={name}"
            node.run("pg_basebackup", "-d", source, "-D", node.data, "-R", "--checkpoint=fast")
            node.start()
            stack.callback(node.stop)
        primary.sql("alter system set synchronous_standby_names = 'FIRST 1 (synchronous)'")
        primary.sql("select pg_reload_conf()")
        until(lambda: primary.sql("select count(*) from pg_stat_replication where sync_state = 'sync'") == "1")
        address = Address(primary.port)
        port = address.port
        if pgbouncer:
            port = bouncer(folder, address.port, user, stack)
        url = f"postgres://postgres@127.0.0.1:{port}/postgres"
        servers = []
        for n in range(2):
            home = folder / f"sessiond-{n}"
            home.mkdir()
            servers.append(stack.enter_context(Sessiond(options.sessiond.resolve(), url, home, *["--pgbouncer"] * pgbouncer)))
        load = Load(options, [server.url for server in servers])
        time.sleep(options.before)
        killed = time.monotonic()
        os.killpg(primary.process.pid, signal.SIGKILL)
        node = standbys[promoted]
        node.run("pg_ctl", "promote", "-w", "-D", node.data)
        address.lead_to(node.port)
        moved = time.monotonic()
        time.sleep(options.after)
        load.stop()
        result = load.judged(killed, moved)
        done = subprocess.run(
            [options.sessiond.resolve(), "verify", "--database-url", f"postgres://postgres@127.0.0.1:{node.port}/postgres"],
            capture_output=True, text=True, env=settings_removed(),
        )  # fmt: skip
        result["verify"] = "clean" if done.returncode == 0 else done.stdout + done.stderr
        result["promotion"] = round(moved - killed, 2)
        return result


def bouncer(folder: Path, upstream: int, user: dict, stack: contextlib.ExitStack) -> int:
    home, port = folder / "pgbouncer", free_port()
    home.mkdir()
    settings = home / "pgbouncer.ini"
    settings.write_text(
        f"[databases]\n* = host=127.0.0.1 port={upstream} user=postgres\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n"
        "unix_socket_dir =\nauth_type = any\npool_mode = transaction\ndefault_pool_size = 16\nmax_client_conn = 500\n"
        "server_login_retry = 1\nserver_connect_timeout = 2\n"
    )
    program = next(path for path in map(Path, ("/usr/sbin/pgbouncer", "/usr/local/sbin/pgbouncer")) if path.is_file())
    if user:
        os.chown(home, user["user"], user["group"])
    process = subprocess.Popen(
        [program, settings], cwd=home, env=settings_removed(), stdin=subprocess.DEVNULL, stdout=open(home / "log", "wb"),
        stderr=subprocess.STDOUT, preexec_fn=dies_with_us(signal.SIGKILL), **user,
    )  # fmt: skip
    stack.callback(end, process, signal.SIGKILL)
    until(lambda: "process up" in (home / "log").read_text(), home / "log")
    return port


class Load:
    """Writers and watchers until it is stopped."""

    def __init__(self, options: argparse.Namespace, urls: list[str]):
        self.addresses = [urlsplit(url).netloc for url in urls]
        self.writers = options.writers
        self.stopped = threading.Event()
        self.lock = threading.Lock()
        self.acknowledged: dict[int, list[str]] = {n: [] for n in range(self.writers)}
        self.answered: dict[int, list[float]] = {n: [] for n in range(self.writers)}
        self.answers: Counter = Counter()
        self.seen, self.gaps, self.anew = Counter(), 0, 0
        for n in range(self.writers):
            status, body = self.ask(http.client.HTTPConnection(self.addresses[0]), "POST", SESSIONS, {"sessionId": f"s{n}"})
            if status != 201:
                raise SystemExit(f"no session: {status} {body!r}")
        self.threads = [threading.Thread(target=self.write, args=(n,)) for n in range(self.writers)]
        self.threads += [threading.Thread(target=self.watch, args=(n,), daemon=True) for n in range(WATCHERS)]
        for thread in self.threads:
            thread.start()

    @staticmethod
    def ask(connection: http.client.HTTPConnection, method: str, path: str, body: object = None) -> tuple[int, bytes]:
        connection.request(method, path, body and json.dumps(body), {"content-type": "application/json"})
        answer = connection.getresponse()
        return answer.status, answer.read()

    def write(self, n: int) -> None:
        connection = http.client.HTTPConnection(self.addresses[n % 2], timeout=30)
        count = 0
        while not self.stopped.is_set():
            event = {"id": f"e{n}-{count}", "author": "agent", "actions": {"stateDelta": {"k": count}}}
            try:
                status, _ = self.ask(connection, "POST", f"{SESSIONS}/s{n}/events", event)
            except (OSError, http.client.HTTPException):
                connection.close()
                status = 0
            with self.lock:
                self.answers[status] += 1
            if status in (200, 201):
                self.acknowledged[n].append(event["id"])
                self.answered[n].append(time.monotonic())
                count += 1
            else:
                # As the clients do; `Retry-After` would be a second.
                time.sleep(0.1)

    def watch(self, n: int) -> None:
        last, sequence = None, 0
        while not self.stopped.is_set():
            with contextlib.suppress(OSError, http.client.HTTPException):
                connection = http.client.HTTPConnection(self.addresses[(n + 1) % 2], timeout=30)
                headers = {"accept": "text/event-stream"} | ({"last-event-id": last} if last else {})
                connection.request("GET", f"{SESSIONS}/s{n}/watch", headers=headers)
                answer = connection.getresponse()
                if answer.status == 410:
                    self.anew += 1
                    last, sequence = None, 0
                name = ""
                while answer.status == 200 and (line := answer.readline().decode()):
                    field, _, value = line.rstrip("\n").partition(": ")
                    if field == "id":
                        cursor = value
                    elif field == "event":
                        name = value
                    elif field == "data" and name == "event":
                        found = json.loads(value)["sequence"]
                        self.gaps += found != sequence + 1
                        self.seen[n] += 1
                        sequence, last = found, cursor
            time.sleep(0.1)

    def stop(self) -> None:
        self.stopped.set()
        for thread in self.threads[: self.writers]:
            thread.join()

    def judged(self, killed: float, moved: float) -> dict:
        lost = doubled = 0
        connection = http.client.HTTPConnection(self.addresses[0])
        for n in range(self.writers):
            ids: list[str] = []
            while True:
                status, body = self.ask(connection, "GET", f"{SESSIONS}/s{n}/events?pageSize=1000&afterSequence={len(ids)}")
                page = json.loads(body)["events"]
                ids += [event["id"] for event in page]
                if status != 200 or not page:
                    break
            doubled += len(ids) - len(set(ids))
            lost += len(set(self.acknowledged[n]) - set(ids))
        times = sorted(time for answered in self.answered.values() for time in answered)
        last = max(time for time in times if time <= killed)
        first = min((time for time in times if time > moved), default=float("inf"))
        slowest = max(min((time for time in answered if time > moved), default=float("inf")) for answered in self.answered.values())
        return {
            "acknowledged": sum(map(len, self.acknowledged.values())), "lost": lost, "doubled": doubled,
            "silent": {"from_kill": round(first - last, 2), "from_move": round(first - moved, 2)},
            "slowest": round(slowest - moved, 2), "answers": dict(self.answers),
            "watchers": {"events": sum(self.seen.values()), "gaps": self.gaps, "anew": self.anew},
        }  # fmt: skip


if __name__ == "__main__":
    main()
