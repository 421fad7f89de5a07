#!/usr/bin/env python3
"""A server for the tests of all clients: it answers as requests.json says, and judges what a client makes of it.

Prints two URLs on one line: its own, and one where nobody listens. It ends when its standard input does.

A client of a test is given the URL `URL/RUN/CASE`: RUN is a word of the test's choice, such as the name of the
language, and CASE is the name of a case. `GET URL/seen/RUN/CASE` tells which requests came, and when.
`POST URL/check/RUN/CASE` takes what the client made of the answers, and returns what is wrong with that or with the
requests: a list of sentences, empty if nothing is. README.md has the rules.
"""

import json
import re
import socket
import socketserver
import sys
import threading
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

DATA = json.loads((Path(__file__).parent / "requests.json").read_text(encoding="utf-8"))

SENT_AGAIN = ("idempotency-key", "content-type", "if-match", "x-tenant")
"""Headers that are the same each time."""

PROBLEM: dict[str, Any] = {"detail": "why", "requestId": "r1", "revision": 7}
"""What all errors say."""

FUZZ = 0.005
"""Seconds by which the clocks of client and server may differ."""


class Run:
    """What was asked in one case of one run."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.requests: list[dict[str, Any]] = []
        self.answered = 0


RUNS: defaultdict[str, Run] = defaultdict(Run)


class Connection(socketserver.StreamRequestHandler):
    """One request, and its answer; then the connection ends."""

    def handle(self) -> None:
        try:
            self._answer()
        except OSError:
            # The client has given up.
            pass

    def _answer(self) -> None:
        head = []
        while line := self.rfile.readline().rstrip(b"\r\n"):
            head.append(line.decode())
        if not head:
            return
        method, target, _ = head[0].split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
        body = self.rfile.read(int(headers.get("content-length", 0))).decode()
        _, first, run, *rest = target.split("/", 3)
        if first in ("seen", "check"):
            key = f"{run}/{rest[0]}"
            said = RUNS[key].requests if first == "seen" else complaints(rest[0], RUNS[key], json.loads(body))
            self._send({"status": 200, "body": said})
            return
        answer: dict[str, Any]
        case, kept = DATA["cases"][run], RUNS[f"{first}/{run}"]
        request: dict[str, Any] = {"method": method, "target": "/" + "".join(rest), "headers": headers, "body": body}
        with kept.lock:
            request["at"] = time.monotonic()
            kept.requests.append(request)
            token = headers.get("authorization", "").removeprefix("Bearer ")
            if case.get("takes", token) != token:
                answer = DATA["answers"]["refused"]
            else:
                answers = case["answers"]
                given = answers[min(kept.answered, len(answers) - 1)]
                answer = DATA["answers"][given] if isinstance(given, str) else given
                kept.answered += 1
            # Before it is sent: a pause begins later, however busy the machine is.
            request["answered"] = time.monotonic()
        if "problem" in answer:
            status, code, outcome = answer["problem"]
            problem = {**PROBLEM, "status": status, "code": code}
            # sessiond tells of the outcome of writes alone.
            if outcome and method != "GET":
                problem["outcome"] = outcome
            answer = {**answer, "status": status, "body": problem}
        self._send(answer, f"http://{headers['host']}/{first}/{run}")

    def _send(self, answer: dict[str, Any], url: str = "") -> None:
        if "stream" in answer:
            kind, body = "text/event-stream", "\n".join(answer["stream"])
        else:
            given = answer.get("body", "")
            kind, body = ("text/html", given) if isinstance(given, str) else ("application/json", json.dumps(given))
        headers = {"Content-Type": kind, "Connection": "close"}
        if "stream" not in answer and answer.get("status") != 204:
            headers["Content-Length"] = str(len(body.encode()) + answer.get("missing", 0))
        headers |= answer.get("headers", {})
        if "status" in answer or "stream" in answer:
            lines = [f"{name}: {text.replace('{url}', url)}" for name, text in headers.items()]
            head = f"HTTP/1.1 {answer.get('status', 200)} X"
            self.wfile.write("\r\n".join([head, *lines, "", body]).encode()[: answer.get("cutAfter")])
        while answer.get("drips"):
            self.wfile.write(b" ")
            time.sleep(0.01)
        if answer.get("hangs"):
            # Until the client gives up.
            self.connection.recv(1)


def complaints(name: str, kept: Run, did: dict[str, Any]) -> list[str]:
    """Returns what is wrong. `did` is what the client made of it, as README.md says."""
    case, wrong = DATA["cases"][name], []
    then, requests = case["then"], kept.requests

    def equal(what: str, found: Any, expected: Any) -> None:
        if found != expected:
            wrong.append(f"{name}: {what}: {found!r}, and not {expected!r}")

    wanted = then["requests"]
    least, most = wanted if isinstance(wanted, list) else (wanted, wanted)
    if not least <= len(requests) <= (most or len(requests)):
        wrong.append(f"{name}: {len(requests)} requests, and not {wanted}")
    for request in requests:
        agent, tenant = (request["headers"].get(header, "") for header in ("user-agent", "x-tenant"))
        if not agent.startswith(f"sessiond-{did['language']}/"):
            wrong.append(f"{name}: the client calls itself {agent!r}")
        equal("header of the program", tenant, did.get("tenant", ""))
    # A request that is sent again is the same, so that it cannot be applied twice.
    if len(set(case["do"])) == 1 and case["do"][0] != "watch":
        for request in requests[1:]:
            for part in ("method", "target", "body"):
                equal(f"{part} of a request that is sent again", request[part], requests[0][part])
            for header in SENT_AGAIN if len(case["do"]) == 1 and "together" not in case else ():
                first, again = requests[0]["headers"].get(header), request["headers"].get(header)
                equal(f"{header} of a request that is sent again", again, first)
    for number, pause in enumerate(then.get("pauses", [])):
        if number + 1 < len(requests):
            paused = requests[number + 1]["at"] - requests[number]["answered"]
            if paused < pause * did.get("scale", 1.0) / 2 - FUZZ:
                wrong.append(f"{name}: pause {number + 1} is {paused:.3f} s, and not half of {pause}")
    for number, asked in enumerate(then.get("waits", [])):
        paused = requests[number + 1]["at"] - requests[number]["answered"]
        if paused < asked - FUZZ:
            wrong.append(f"{name}: pause {number + 1} is {paused:.3f} s, and not {asked}, which the server asked for")
    shown = [request["headers"].get("authorization") for request in requests]
    if "tokens" in then:
        equal("tokens", shown, [token and f"Bearer {token}" for token in then["tokens"]])
    for header, text in then.get("headers", {}).items():
        equal(header, [request["headers"].get(header) for request in requests], [text] * len(requests))
    if "after" in then:
        places = [re.findall(r"afterSequence=([^&]*)", request["target"]) for request in requests]
        equal("places", ["".join(place) for place in places][: len(then["after"])], then["after"])
    if "asked" in then:
        equal("calls of the callback for the token", did["asked"], then["asked"])
    if "items" in then:
        equal("items", did.get("items"), then["items"])
    expected = then.get("results", [then.get("error")] * len(case["do"]))
    if case.get("together"):
        expected = expected * case["together"]
    equal("results", len(did["results"]), len(expected))
    for number, (found, error) in enumerate(zip(did["results"], expected, strict=False)):
        judge(f"result {number + 1}", found, error, did, wrong, name)
    secrets = [token for token in (case.get("token"), *case.get("tokens", [])) if token and "secret" in token]
    told = "\n".join([*did.get("log", []), *(json.dumps(found) for found in did["results"] if found)])
    for secret in [*secrets, "hunter2"]:
        if secret in told:
            wrong.append(f"{name}: {secret} is shown: {told}")
    if "log" in did and "log" in then:
        words = then["log"] if isinstance(then["log"], list) else [f"attempt[= ]{n + 1}\\b" for n in range(then["log"])]
        equal("lines of the log", len(did["log"]), len(words))
        for line, word in zip(did["log"], words, strict=False):
            if not re.search(word, line) or "/v1/apps/a/users/u/sessions" not in line or "answer=minimal" in line:
                wrong.append(f"{name}: a line of the log has {word} and the URL, without its query: {line}")
    return wrong


def judge(
    what: str,
    found: dict[str, Any] | None,
    error: dict[str, Any] | None,
    did: dict[str, Any],
    wrong: list[str],
    name: str,
) -> None:
    """Compares an error with that of the case; None is a success."""
    if found is None or error is None:
        if found is not error:
            wrong.append(f"{name}: {what} is {found}, and not {error}")
        return
    words = DATA["kinds"][did["language"]]
    expected = {**error, "kind": words.get(error["kind"], error["kind"])}
    for field in ("kind", "status", "code", "outcome", "requestId"):
        if field in expected and found.get(field) != expected[field]:
            said = f"{field} is {found.get(field)!r}, and not {expected[field]!r}"
            wrong.append(f"{name}: {what}: {said}: {found['text']}")
    for said in error.get("says", []):
        said = said.replace("{url}", did["url"])
        if not any(word.lower() in found["text"].lower() for word in said.split("|")):
            wrong.append(f"{name}: {what} does not say {said!r}: {found['text']}")


class Listener(socketserver.ThreadingTCPServer):
    """A thread for each connection, and room for as many as come at once."""

    daemon_threads = True
    request_queue_size = 128


def main() -> None:
    with Listener(("127.0.0.1", 0), Connection) as listener, socket.socket() as nobody:
        # It has a port, which nobody else gets, and does not listen.
        nobody.bind(("127.0.0.1", 0))
        threading.Thread(target=listener.serve_forever, daemon=True).start()
        print(*(f"http://127.0.0.1:{each.getsockname()[1]}" for each in (listener.socket, nobody)), flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
