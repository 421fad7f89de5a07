"""Programs that share a session, threads and event loops that share a client, and what the package needs."""

import asyncio
import os
import subprocess
import sys
import threading
from importlib.metadata import requires
from pathlib import Path

import pytest

import sessiond
from sessiond import AsyncClient, Client

from ..support.process import Server

pytestmark = pytest.mark.both_databases

CLIENT = Path(__file__).resolve().parents[2] / "client"

COUNT = """
import sys
from sessiond import Client

url, app, name = sys.argv[1:]
with Client(url) as db:
    s = db.session(app, "ada", "s")
    for _ in range(10):
        s.increment("n")
        s.push("app:log", name)
        with s.lease(ttl=10) as turn:
            turn.append([{"author": name}, {"author": name}])
"""


def test_processes_lose_nothing_of_one_another(server: Server, app: str) -> None:
    with Client(server.url) as db:
        s = db.session(app, "ada", "s")
        s.create()
        programs = [
            subprocess.Popen([sys.executable, "-c", COUNT, server.url, app, name], stderr=subprocess.PIPE)
            for name in ("a", "b")
        ]
        for program in programs:
            _, errors = program.communicate(timeout=120)
            assert program.returncode == 0, errors
        assert s.state("n") == 20 and len(s.state("app:log")) == 20
        # Each turn is whole.
        turns = [event.author for event in s.events() if event.author != "user"]
        assert len(turns) == 40 and turns[::2] == turns[1::2]


def test_threads_share_a_client(server: Server, app: str) -> None:
    with Client(server.url) as db:
        db.session(app, "ada", "s").create()

        def work() -> None:
            for _ in range(10):
                db.session(app, "ada", "s").increment("n")

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert db.session(app, "ada", "s").state("n") == 80


def test_event_loops_share_a_client(server: Server, app: str) -> None:
    db = AsyncClient(server.url)

    async def work() -> int:
        s = db.session(app, "ada", "s")
        await s.create(exist_ok=True)
        return int(await s.increment("n"))

    assert [asyncio.run(work()) for _ in range(3)] == [1, 2, 3]
    # Those that ended are forgotten.
    assert len(db._http._pools._pools) == 1


def test_a_fork_has_connections_of_its_own(server: Server, app: str) -> None:
    with Client(server.url) as db:
        s = db.session(app, "ada", "s")
        s.create()
        s.increment("n")
        if not (child := os.fork()):
            try:
                for _ in range(20):
                    s.increment("n")
            finally:
                os._exit(0)
        for _ in range(20):
            s.increment("n")
        os.waitpid(child, 0)
        assert s.state("n") == 41


def test_the_synchronous_client_is_made_of_the_asynchronous_one() -> None:
    sys.path.insert(0, str(CLIENT))
    try:
        import make_sync
    finally:
        sys.path.remove(str(CLIENT))
    for path, text in make_sync.made().items():
        assert path.read_text(encoding="utf-8") == text, f"{path} is old: run make_sync.py"


def test_both_clients_have_the_same_names() -> None:
    for name in ("Client", "Session", "Turn", "State", "Scope", "User", "Artifacts", "File"):
        one, other = (
            {attribute for attribute in dir(getattr(sessiond, kind)) if not attribute.startswith("_")}
            for kind in (name, f"Async{name}")
        )
        assert one == other, name


@pytest.mark.parametrize("module", ["opentelemetry", "google", "pydantic"])
def test_it_works_without_what_others_bring(module: str) -> None:
    blocked = f"import sys; sys.modules[{module!r}] = None; import sessiond; sessiond.Client('http://h')"
    subprocess.run([sys.executable, "-c", blocked], check=True)


def test_it_needs_no_other_package() -> None:
    needs = [need for need in requires("sessiond-client") or () if "extra" not in need]
    assert needs == []
    loaded = "import sys, sessiond; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    said = subprocess.run([sys.executable, "-c", loaded], check=True, capture_output=True, encoding="utf-8").stdout
    assert not {"anyio", "google", "httpx", "pydantic"} & set(said.split())
