"""Agents of every language work on one session.

Each client has a program that does through its framework what a line on its standard input says, and answers with a
line. The programs reach the server through a proxy, which can cut a connection after the server has done what it was
asked.
"""

import base64
import json
import os
import queue
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.parse
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.process import Server

# Whoever waits longer than this waits for ever.
PATIENCE = 120


class Program:
    """A client at work."""

    def __init__(self, name: str, command: list[str], url: str) -> None:
        self.name = name
        environment = {name: value for name, value in os.environ.items() if name != "SESSIOND_TOKEN"}
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment | {"SESSIOND_URL": url}
        )
        self._answers: queue.Queue[bytes] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            self._answers.put(line)
        self._answers.put(b"")

    def ask(self, do: str, session: dict[str, str], **more: object) -> dict:
        """What it answers, which may be an error."""
        assert self._process.stdin
        self._process.stdin.write(json.dumps({"do": do} | session | more).encode() + b"\n")
        self._process.stdin.flush()
        answer = self._answers.get(timeout=PATIENCE)
        assert answer, f"{self.name} ended"
        return json.loads(answer)

    def do(self, do: str, session: dict[str, str], **more: object) -> dict:
        """What it answers, which is no error."""
        answer = self.ask(do, session, **more)
        assert answer["ok"], f"{self.name}: {do}: {answer}"
        return answer

    def end(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()


class Proxy:
    """Passes bytes on, until an answer is to be lost."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://{}:{}".format(*self._listener.getsockname())
        self.lose = 0
        """So many of the next answers to a POST or PUT get lost, each with its connection."""
        self.keep: bytes | None = None
        """A request with these words never reaches the server."""
        self.kept = threading.Event()
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(self.server.address)
            writes: queue.SimpleQueue[bool] = queue.SimpleQueue()
            threading.Thread(target=self._requests, args=(client, server, writes), daemon=True).start()
            threading.Thread(target=self._answers, args=(client, server, writes), daemon=True).start()

    def _requests(self, client: socket.socket, server: socket.socket, writes: queue.SimpleQueue) -> None:
        try:
            while data := client.recv(65536):
                if data.startswith((b"POST ", b"PUT ")):
                    writes.put(True)
                if self.keep and self.keep in data:
                    self.kept.set()
                else:
                    server.sendall(data)
        except OSError:
            pass
        finally:
            shut(server)

    def _answers(self, client: socket.socket, server: socket.socket, writes: queue.SimpleQueue) -> None:
        try:
            while data := server.recv(65536):
                is_of_write = not writes.empty() and writes.get()
                with self._lock:
                    lost = is_of_write and self.lose > 0
                    self.lose -= lost
                if lost:
                    break
                client.sendall(data)
        except OSError:
            pass
        finally:
            shut(client)
            shut(server)

    def close(self) -> None:
        self._listener.close()


def shut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[list[Program], Proxy]]:
    folder = tmp_path_factory.mktemp("matrix")
    with ExitStack() as stack:
        server = Server(f"sqlite://{folder}/test.db", folder / "sessiond.log")
        stack.callback(server.stop)
        proxy = Proxy(server)
        stack.callback(proxy.close)
        programs = []
        for name, command in json.loads(Path(os.environ["MATRIX_PROGRAMS"]).read_text(encoding="utf-8")).items():
            programs.append(Program(name, command, proxy.url))
            stack.callback(programs[-1].end)
        yield programs, proxy


def event(name: str, text: str, delta: dict | None = None, files: dict[str, int] | None = None) -> dict:
    return {
        "id": f"{name}-{uuid.uuid4().hex}",
        "author": "waiter",
        "invocationId": f"turn-{name}",
        "timestamp": 1_790_000_000.25,
        "text": text,
        "role": "model",
        "stateDelta": delta or {},
        "artifactDelta": files or {},
    }


def new_session(programs: list[Program]) -> dict[str, str]:
    session = {"app": f"café {uuid.uuid4().hex}", "user": "ada/1", "session": f"séance-{uuid.uuid4().hex}"}
    python = next(program for program in programs if program.name == "python")
    python.do("create", session, state={"user:x": "written by Python", "app:n": 0, "turn": "python"})
    return session


def test_each_reads_what_all_wrote(world: tuple[list[Program], Proxy]) -> None:
    programs, _ = world
    session = new_session(programs)
    expected = {"user:x": "written by Python", "app:n": 0, "turn": "python"}
    events = []
    for at, program in enumerate(programs, 1):
        delta = {"turn": program.name, f"user:{program.name}": {"at": at, "of": [1, "zwei", None, True, 2.5]}}
        said = event(program.name, f"{program.name} says “hello”", delta)
        local = program.do("append", session, event=said)["state"]
        expected |= delta
        assert local == expected, f"the session object of {program.name}"
        events.append(said["id"])
        assert program.do("increment", session, key="app:n", by=1)["value"] == at
        expected["app:n"] = at
    assert programs
    reads = {program.name: program.do("get", session) for program in programs}
    for name, read in reads.items():
        assert read["state"] == expected, name
        assert read["events"][::2] == events, name
    assert len({json.dumps(read["events"]) for read in reads.values()}) == 1
    assert {round(read["lastUpdateTime"], 3) for read in reads.values()} == {
        round(reads["python"]["lastUpdateTime"], 3)
    }


def test_the_same_event_from_another_language_is_recognised(world: tuple[list[Program], Proxy]) -> None:
    programs, _ = world
    session = new_session(programs)
    for first in programs:
        said = event(first.name, "the same to all", {"by": first.name, "app:list": [1, {"a": "b"}]})
        for program in (first, *programs):
            program.do("append", session, event=said)
    events = programs[0].do("get", session)["events"]
    assert [name.split("-")[0] for name in events] == [program.name.split("-")[0] for program in programs]


def test_the_same_id_with_another_content_is_refused_in_every_language(world: tuple[list[Program], Proxy]) -> None:
    programs, _ = world
    session = new_session(programs)
    said = event("first", "one")
    programs[0].do("append", session, event=said)
    for program in programs:
        refused = program.ask("append", session, event=said | {"text": "another"})
        assert not refused["ok"], program.name
        assert (refused["code"], refused["status"]) == ("event_id_conflict", 409), program.name
    assert programs[0].do("get", session)["events"] == [said["id"]]


GOLDEN = json.loads((Path(__file__).resolve().parents[1] / "wire/events.json").read_text(encoding="utf-8"))["events"]


def path(session: dict[str, str]) -> str:
    names = [urllib.parse.quote(session[name], safe="") for name in ("app", "user", "session")]
    return "/v1/apps/{}/users/{}/sessions/{}".format(*names)


def plainly(url: str, body: object = None) -> dict:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return json.load(answer)


def stored(url: str, session: dict[str, str]) -> dict[str, dict]:
    """The events of a session by their ids, as they are stored, without what the server adds."""
    events = plainly(f"{url}{path(session)}/events?pageSize=1000")["events"]
    return {one["id"]: {k: v for k, v in one.items() if k not in ("sequence", "commitTime")} for one in events}


def golden(case: dict, *programs: str) -> dict:
    """What is stored when a program, and others after it, have read a golden event and written it."""
    by = case.get("written_by", {})
    return next((by[name] for name in programs if name in by), case.get("written", case["event"]))


def test_a_golden_event_goes_from_each_to_each(world: tuple[list[Program], Proxy]) -> None:
    programs, proxy = world
    source = new_session(programs)
    # A rewind takes back what is before it, which then nobody reads: it stays at home.
    cases = [case for case in GOLDEN if "rewindBeforeInvocationId" not in case["event"]["actions"]]
    for case in cases:
        plainly(f"{proxy.url}{path(source)}/events", case["event"])
    for first in programs:
        once = {**source, "session": f"by {first.name}"}
        programs[0].do("create", once, state={})
        first.do("copy", source, to=once["session"])
        found = stored(proxy.url, once)
        for case in cases:
            assert found[case["event"]["id"]] == golden(case, first.name), f"{first.name}: {case['name']}"
        for second in programs:
            twice = {**source, "session": f"by {first.name} and {second.name}"}
            programs[0].do("create", twice, state={})
            second.do("copy", once, to=twice["session"])
            found = stored(proxy.url, twice)
            for case in cases:
                expected = golden(case, first.name, second.name)
                assert found[case["event"]["id"]] == expected, f"{first.name}, {second.name}: {case['name']}"


def test_each_leaves_out_what_was_taken_back(world: tuple[list[Program], Proxy]) -> None:
    programs, proxy = world
    session = new_session(programs)
    kept, gone = event("kept", "stays"), event("gone", "is taken back")
    for said in (kept, gone):
        programs[0].do("append", session, event=said)
    plainly(f"{proxy.url}{path(session)}/rewind", {"beforeInvocationId": gone["invocationId"]})
    later = event("later", "comes after it")
    programs[0].do("append", session, event=later)
    for program in programs:
        # ADK for Python has all events, and leaves these out when it asks a model.
        if program.name != "python":
            assert program.do("get", session)["events"] == [kept["id"], later["id"]], program.name
    # Of an invocation that a rewind cuts in two, its beginning is there, behind the event that takes it back.
    cut = [event("cut", "stays"), event("cut", "is taken back")]
    for said in cut:
        programs[0].do("append", session, event=said)
    revision = plainly(f"{proxy.url}{path(session)}?numRecentEvents=0")["revision"]
    plainly(f"{proxy.url}{path(session)}/rewind", {"toRevision": revision - 1})
    seen = plainly(f"{proxy.url}{path(session)}/events?excludeRewound=true")["events"]
    assert seen[-1]["customMetadata"] == {"rewindCopyOf": cut[0]["id"]}
    for program in programs:
        if program.name != "python":
            assert program.do("get", session)["events"] == [one["id"] for one in seen], program.name


def test_a_lost_answer_loses_and_doubles_nothing(world: tuple[list[Program], Proxy]) -> None:
    programs, proxy = world
    session = new_session(programs)
    events = []
    for program in programs:
        said = event(program.name, "is this on?", {f"{program.name}": 1})
        proxy.lose = 1
        program.do("append", session, event=said)
        assert proxy.lose == 0, f"{program.name}: no answer was lost"
        events.append(said["id"])
        proxy.lose = 1
        program.do("increment", session, key="app:n", by=1)
        assert proxy.lose == 0, f"{program.name}: no answer was lost"
    for at, program in enumerate(programs):
        read = program.do("get", session)
        assert read["events"][::2] == events, program.name
        assert len(read["events"]) == 2 * len(programs), program.name
        assert read["state"]["app:n"] == len(programs), program.name
        assert read["state"][programs[at].name] == 1


def test_each_follows_all(world: tuple[list[Program], Proxy]) -> None:
    programs, _ = world
    session = new_session(programs)
    said = [event(program.name, "followed") for program in programs]
    for program, one in zip(programs, said, strict=True):
        program.do("append", session, event=one)
    for program in programs:
        assert program.do("watch", session, count=len(said))["events"] == [one["id"] for one in said], program.name


def test_writers_of_all_languages_at_once_lose_nothing(world: tuple[list[Program], Proxy]) -> None:
    programs, _ = world
    session = new_session(programs)
    rounds = 10
    failed: list[BaseException] = []

    def work(program: Program) -> None:
        try:
            for at in range(rounds):
                program.do("append", session, event=event(program.name, str(at), {f"{program.name}:{at}": at}))
                program.do("increment", session, key="app:n", by=1)
        except BaseException as error:
            failed.append(error)

    workers = [threading.Thread(target=work, args=(program,)) for program in programs]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failed, failed
    reads = [program.do("get", session) for program in programs]
    for read in reads:
        assert read["state"]["app:n"] == rounds * len(programs)
        assert len(set(read["events"])) == len(read["events"]) == 2 * rounds * len(programs)
        assert {f"{program.name}:{at}" for program in programs for at in range(rounds)} <= read["state"].keys()
        assert read["events"] == reads[0]["events"]


def first_version(program: Program) -> int:
    """The number that its framework gives to the first version of a file."""
    return 1 if program.name in ("go", "rust") else 0


def contents() -> list[dict[str, str]]:
    """Files that some way of sending them would spoil; none is as another."""
    some = [b"", os.urandom(100_000), bytes(range(256)), b"\xff\xfe{}", b'{"text": "\\u0000"}', "Hällo".encode()]
    types = ["text/plain", "image/png", "application/octet-stream", 'a/b; c="d e"', "application/json", "text/plain"]
    files = [
        {"data": base64.b64encode(data).decode(), "mimeType": kind} for data, kind in zip(some, types, strict=True)
    ]
    files[1]["displayName"] = 'My "Bericht" (ü) 100% + 1.png'
    return [*files, {"text": f"Hällo 🙂\r\n{uuid.uuid4()}"}, {"text": '{"inlineData": 1}'}]


def known(content: dict[str, str], program: Program) -> dict[str, str]:
    """What a program has of a file. ADK for Rust has no names for people."""
    return {key: value for key, value in content.items() if key != "displayName" or program.name != "rust"}


def test_a_file_goes_from_each_to_each(world: tuple[list[Program], Proxy]) -> None:
    programs, _ = world
    session = new_session(programs)
    names = ["notes", "a/b/c", "50% of an olé+.txt", "日本語 🙂?#", "user:mine", "user:a/b ü", "x" * 200, "..a"]
    saved: dict[str, dict[str, str]] = {}
    for program in programs:
        for name, content in zip(names, contents(), strict=True):
            own = f"{name} {program.name}"
            assert program.do("save", session, name=own, **content)["version"] == first_version(program), own
            saved[own] = known(content, program)
    for reader in programs:
        for name, content in saved.items():
            read = reader.do("load", session, name=name)
            assert read == {"ok": True, **known(content, reader)}, f"{reader.name}: {name}"
            first = first_version(reader)
            assert reader.do("load", session, name=name, version=first) == read, f"{reader.name}: {name}"
            assert reader.do("load", session, name=name, version=first + 1) == {"ok": True}, f"{reader.name}: {name}"
        assert sorted(reader.do("files", session)["names"]) == sorted(saved), reader.name
        assert reader.do("load", session, name="never was") == {"ok": True}, reader.name


def test_versions_of_all_languages_are_one_row(world: tuple[list[Program], Proxy]) -> None:
    programs, proxy = world
    session = new_session(programs)
    texts = []
    for round in range(2):
        for program in programs:
            # Also if the answer gets lost, after it was saved.
            proxy.lose = round
            text = f"{program.name} {round}"
            at = program.do("save", session, name="shared", text=text)["version"] - first_version(program)
            assert proxy.lose == 0, f"{program.name}: no answer was lost"
            assert at == len(texts), program.name
            texts.append(text)
    for program in programs:
        for at, text in enumerate(texts):
            read = program.do("load", session, name="shared", version=at + first_version(program))
            assert read == {"ok": True, "text": text}, program.name


def test_the_log_says_of_the_same_version_to_each(world: tuple[list[Program], Proxy]) -> None:
    programs, proxy = world
    session = new_session(programs)
    for at, writer in enumerate(programs):
        version = writer.do("save", session, name="a/b", text=f"{at}")["version"]
        said = event(writer.name, "wrote it", files={"a/b": version, f"of {writer.name}": first_version(writer) + 41})
        writer.do("append", session, event=said)
        assert stored(proxy.url, session)[said["id"]]["actions"]["artifactDelta"] == {
            "a/b": at,
            f"of {writer.name}": 41,
        }, writer.name
        for reader in programs:
            files = reader.do("get", session)["artifacts"]
            assert files["a/b"] == at + first_version(reader), f"{writer.name}, {reader.name}"
            assert files[f"of {writer.name}"] == 41 + first_version(reader), f"{writer.name}, {reader.name}"
            read = reader.do("load", session, name="a/b", version=files["a/b"])
            assert read == {"ok": True, "text": f"{at}"}, f"{writer.name}, {reader.name}"
        # The same event from another language, in its own numbers, is recognised.
        for other in programs:
            shift = first_version(other) - first_version(writer)
            again = {name: number + shift for name, number in said["artifactDelta"].items()}
            other.do("append", session, event={**said, "artifactDelta": again})
    assert len(stored(proxy.url, session)) == len(programs)


def test_a_file_without_its_session_is_refused_in_every_language(world: tuple[list[Program], Proxy]) -> None:
    programs, _ = world
    lost = {**new_session(programs), "session": "never was"}
    for program in programs:
        refused = program.ask("save", lost, name="a", text="x")
        assert not refused["ok"], program.name
        assert (refused["code"], refused["status"]) == ("session_not_found", 404), program.name
        assert program.do("load", lost, name="a") == {"ok": True}, program.name


ROOT = Path(__file__).resolve().parents[2]
# The frameworks of an order, and the authors of what their agents say.
FRAMEWORKS = {
    "adk": "waiter",
    "langgraph": "langgraph.checkpoint",
    "openai": "host",
    "claude": "claude",
    "strands": "barista",
    "pydantic-ai": "cashier",
    "ai-sdk": "cook",
}


def agent(framework: str, session_id: str, message: str, url: str) -> subprocess.Popen[str]:
    """Lets an agent of the examples have a turn, in a process of its own."""
    if framework == "ai-sdk":
        folder, command = Path(os.environ["AI_SDK"]), ["node", "one-order.js"]
    else:
        place = ROOT / "clients/python/.venv/adapters" / framework / "bin/python"
        python = sys.executable if framework == "adk" else str(place)
        folder, command = ROOT / "examples/frameworks-python", [python, "one_order.py", framework]
    command += [session_id, message]
    environment = os.environ | {"SESSIOND_URL": url}
    return subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, encoding="utf-8")


def test_every_language_reads_an_order_that_went_through_all_frameworks(world: tuple[list[Program], Proxy]) -> None:
    programs, proxy = world
    readme = (ROOT / "examples/frameworks-python/README.md").read_text(encoding="utf-8")
    printed = re.findall(r"^\$ .*one.order\.\S+ (?:([a-z-]+) )?(\S+) '(.*)'\n(.*\n)", readme, re.MULTILINE)
    turns = [(framework or "ai-sdk", message, shown) for framework, _, message, shown in printed]
    assert [framework for framework, *_ in turns] == list(FRAMEWORKS)
    if "AI_SDK" not in os.environ:
        # run-tests has said so.
        turns.pop()
    # Each a second time reads what was said since, but Claude, which reads what was said before it began.
    for framework in [framework for framework, *_ in reversed(turns) if framework != "claude"]:
        turns.append((framework, "And then?", f"{framework}: Ticket {len(turns) + 1}: green tea.\n"))

    session = {"app": "cafe", "user": "ada", "session": printed[0][1]}
    expected: list[list[str]] = []
    for number, (framework, message, shown) in enumerate(turns, start=1):
        # What a graph was asked is in its checkpoint.
        expected.append([FRAMEWORKS[framework] if framework == "langgraph" else "user", message])
        if framework == "langgraph":
            # The agent dies in its turn: what it was asked is stored, what it says is on its way.
            proxy.keep = f"Ticket {number}:".encode()
            dying = agent(framework, session["session"], message, proxy.url)
            assert proxy.kept.wait(PATIENCE)
            dying.kill()
            dying.communicate()
            proxy.keep = None
            proxy.kept.clear()
            assert programs[0].do("get", session)["said"] == expected
        assert agent(framework, session["session"], message, proxy.url).communicate()[0] == shown
        expected.append([FRAMEWORKS[framework], shown.partition(": ")[2].strip()])
        if number in (3, 8):
            proxy.server.stop(signal.SIGKILL)
            proxy.server.start()
    # All of it, once, and in order, by its authors.
    for program in programs:
        assert program.do("get", session)["said"] == expected, program.name
