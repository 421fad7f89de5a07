#!/usr/bin/env python3
"""What it costs to save, to read and to list files, with the bytes in a database and in a folder.

    cargo build --profile dist && CARGO_TARGET_DIR=target/bench cargo build --release --manifest-path bench/load/Cargo.toml
    bench/artifacts.py --sessiond target/dist/sessiond --programs target/bench/release

Prints as JSON, or writes to `--out`, for SQLite, PostgreSQL, and PostgreSQL with a folder:

- up, down: MiB a second of one file of 64 MiB, and as a ratio to `dd` with fsync to the same disk, in turns
- memory: by how many bytes the server's peak was above what it had idle, with 64 such uploads at once
- save: files of 4 KiB saved a second at 64 connections, as a ratio to appends, in turns
- removal: of a session with 3,000 files of 300 bytes that is deleted, how many the sweep removes a second, and after how many seconds
  the erasure of another user is done meanwhile
- list: the median of a first page of a session with 10,000 files, as a ratio to that of one with 10, in turns

Of docs/benchmarks/artifacts.json, bench/report.py makes a part of docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import http.client
import json
import statistics
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

from lab import Load, PostgreSQL, Sessiond, exchange, forget_peak, memory, say

MIB = 2**20
SIZE = 64 * MIB
FILES = 10_000
REMOVED = 3_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessiond", type=Path, required=True)
    parser.add_argument("--programs", type=Path, required=True, help="the folder of sessiond-load")
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--uploads", type=int, default=64)
    parser.add_argument("--only", choices=["sqlite", "postgres", "folder"])
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sessiond-artifacts-", dir="/var/tmp") as folder:
        results = json.dumps(measure(options, Path(folder)), indent=1) + "\n"
    options.out.write_text(results) if options.out else print(results, end="")


def measure(options: argparse.Namespace, folder: Path) -> dict:
    results = {}
    # Zeros would not do: a disk may not write them.
    source = folder / "source"
    with open("/dev/urandom", "rb") as random:
        source.write_bytes(random.read(SIZE))
    if options.only in (None, "sqlite"):
        results["sqlite"] = of_store(options, folder, source, f"sqlite://{folder}/sessiond.db")
    if options.only != "sqlite":
        # PostgreSQL is another user.
        folder.chmod(0o711)
        objects = folder / "objects"
        objects.mkdir()
        for name, settings in (("postgres", ()), ("folder", ("--artifact-store", f"file://{objects}"))):
            if options.only in (None, name):
                (folder / name).mkdir()
                postgresql = PostgreSQL(folder / name)
                try:
                    results[name] = of_store(options, folder, source, postgresql.fresh("files"), *settings)
                finally:
                    postgresql.stop()
    return results


def of_store(options: argparse.Namespace, folder: Path, source: Path, url: str, *settings: str) -> dict:
    load = Load((options.programs / "sessiond-load").resolve(), 1024, 256)
    result: dict = {}
    with Sessiond(options.sessiond.resolve(), url, folder, *settings) as server:
        say(f"{url} {' '.join(settings)}")
        load.prepare(server, "setup", connections=4)
        body = source.read_bytes()
        rounds = [transfer(server, folder, source, body) for _ in range(options.rounds)]
        for name in ("up", "down"):
            ratio = statistics.median(each[name] / each["dd"] for each in rounds)
            result[name] = {"ratio": ratio, "mib_per_second": [each[name] for each in rounds]}
            say(f"{name}: {statistics.median(result[name]['mib_per_second']):.0f} MiB/s, {ratio:.2f} of dd")
        result["dd"] = [each["dd"] for each in rounds]
        saves = [one(load, server, scenario, options) for _ in range(options.rounds) for scenario in ("save", "append")]
        result["save"] = in_turns(saves)
        say(f"saves: {result['save']}")
        for name, files in (("few", 10), ("many", FILES)):
            ask(server, "PUT", session(name), b"{}")
            for number in range(files):
                ask(server, "PUT", f"{session(name)}/artifacts/f{number:05}?event=none", b"x")
        lists = [listed(load, server, name, options) for _ in range(options.rounds) for name in ("many", "few")]
        result["list"] = in_turns(lists)
        say(f"lists: {result['list']}")
        result["removal"] = removal(server)
        say(f"removal: {result['removal']}")
        result["memory"] = at_once(server, body, options.uploads)
        say(f"{options.uploads} uploads: {result['memory'] / MIB:.1f} MiB")
    return result


def in_turns(figures: list[float]) -> dict:
    """Of what was measured, the yardstick and so on: the ratio of the medians, and both."""
    measured, yardstick = figures[::2], figures[1::2]
    return {
        "ratio": statistics.median(measured) / statistics.median(yardstick),
        "measured": measured,
        "yardstick": yardstick,
    }


def session(name: str, user: str = "u0") -> str:
    return f"/v1/apps/bench/users/{user}/sessions/{name}"


connections: dict[str, http.client.HTTPConnection] = {}


def ask(server: Sessiond, method: str, path: str, body: bytes | None = None) -> bytes:
    if server.url not in connections:
        connections[server.url] = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=600)
    # A file may have any type, or none.
    content_type = None if "/artifacts/" in path else "application/json"
    return exchange(connections[server.url], method, path, body, content_type)


def transfer(server: Sessiond, folder: Path, source: Path, body: bytes) -> dict[str, float]:
    """MiB a second of `dd`, of a save and of a read."""
    address = f"{session('s0')}/artifacts/large"
    target = folder / "target"
    start = time.monotonic()
    subprocess.run(["dd", f"if={source}", f"of={target}", "bs=1M", "conv=fsync", "status=none"], check=True)
    written = time.monotonic()
    ask(server, "PUT", address, body)
    saved = time.monotonic()
    read = ask(server, "GET", address)
    end = time.monotonic()
    if read != body:
        raise SystemExit("what was read is not what was saved")
    target.unlink()
    mib = len(body) / MIB
    return {"dd": mib / (written - start), "up": mib / (saved - written), "down": mib / (end - saved)}


def one(load: Load, server: Sessiond, scenario: str, options: argparse.Namespace) -> float:
    body = {"body_bytes": 4096} if scenario == "save" else {}
    result = load(server, scenario, connections=64, seconds=options.seconds, warmup=0.5, **body)
    if result["errors"]:
        raise SystemExit(f"{scenario}: {result}")
    return result["rate"]


def listed(load: Load, server: Sessiond, name: str, options: argparse.Namespace) -> float:
    result = load(server, "list-files", connections=1, seconds=options.seconds / 2, warmup=0.2, session=name)
    if result["errors"]:
        raise SystemExit(f"list-files: {result}")
    return result["p50"]


def removal(server: Sessiond) -> dict[str, float]:
    gone = session("removed", "removed")
    for path in (gone, session("erased", "erased")):
        ask(server, "PUT", path, b"{}")
    for number in range(REMOVED):
        ask(server, "PUT", f"{gone}/artifacts/f{number}?event=none", b"x" * 300)
    ask(server, "DELETE", gone)
    begun = time.monotonic()
    took = {user: erased(server, user) - begun for user in ("erased", "removed")}
    return {"files_per_second": REMOVED / took["removed"], "erasure_seconds": took["erased"]}


def erased(server: Sessiond, user: str) -> float:
    """When the erasure of a user is done: not before its files are removed."""
    erasure = json.loads(ask(server, "POST", f"/v1/apps/bench/users/{user}/erasure", b"{}"))
    while json.loads(ask(server, "GET", f"/v1/erasures/{erasure['id']}"))["state"] != "done":
        time.sleep(0.02)
    return time.monotonic()


def at_once(server: Sessiond, body: bytes, uploads: int) -> int:
    time.sleep(2)
    idle = memory(server.pid)["now"]
    forget_peak(server.pid)
    failed = []

    def upload(number: int) -> None:
        to = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=600)
        try:
            exchange(to, "PUT", f"{session(f's{number}', f'u{number}')}/artifacts/parallel", body, None)
        except (SystemExit, OSError) as error:
            failed.append(str(error))

    threads = [threading.Thread(target=upload, args=(number,)) for number in range(uploads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise SystemExit(f"{len(failed)} uploads failed: {failed[0]}")
    return memory(server.pid)["peak"] - idle


if __name__ == "__main__":
    main()
