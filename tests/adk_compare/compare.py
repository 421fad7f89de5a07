"""Compares sessiond's ADK paths with a real `adk api_server`, request by request.

    compare.py SESSIOND_BINARY | --table

Starts both on temporary folders and free ports, sends both the same requests, and compares status and JSON; generated
ids and times of the present are masked, and of an error only its status and that it has a `detail` count. Differences
are in DIFFERENCES, each with its reason: one that is not listed fails, and so does one that no longer shows. They make
the table in docs/adk.md, which `--table` prints.

Then google-adk's own HTTP client, as it is, is used against sessiond, and events of every shape are read at the paths of ADK's
server (shapes_check.py).

Runs in the Python that has google-adk; `scripts/adk-compare` makes one.
"""

import asyncio
import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
from pathlib import Path

import google.adk
import httpx
import yaml
from google.adk.artifacts.base_artifact_service import ArtifactVersion
from google.adk.cli.api_server import SaveArtifactRequest
from google.adk.cli.conformance.adk_web_server_client import AdkWebServerClient
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.sessions.sqlite_session_service import SqliteSessionService

import shapes
import shapes_check

ROOT = Path(__file__).resolve().parents[2]
S = "/apps/demo/users/ada/sessions"
BOB = "/apps/demo/users/bob/sessions"
FILES = f"{S}/a/artifacts"
SAID = {
    "id": "e1",
    "timestamp": 5.5,
    "author": "user",
    "invocationId": "i1",
    "content": {"role": "user", "parts": [{"text": "hi"}]},
}

SHAPE = "JSON of another shape than asked for is 422 in both; what is no JSON, or missing, is 400 here as everywhere"
MEDIA = "a body that is not application/json is 415 here, as everywhere: a web page could send it unasked"
RULE = "a request that breaks a rule is 422 here, as everywhere; nothing happens in either"
NAMES = "ids may hold anything here, percent-encoded; ADK has no way to ask for such an id again"
METHODS = "HEAD works here wherever GET does"
PLACE = "artifacts are those of a session, and end with it"
TYPE = "bytes have a type here, and without one it is that of any bytes"

# By request: the differences (ADK's -> sessiond's), and why.
DIFFERENCES = {
    "create with both spellings": (["status: 200 -> 422"], "it is not clear which one is meant; ADK takes sessionId"),
    "create with a body that is no JSON": (["status: 422 -> 400"], SHAPE),
    "create with a body of another type": (["status: 422 -> 415"], MEDIA),
    "create with a body without type": (["status: 422 -> 415"], MEDIA),
    "create with options": (["status: 400 -> 422"], RULE),
    "create with an event that acts": (["status: 400 -> 422"], RULE),
    "create with long-running calls": (["status: 400 -> 422"], RULE),
    "create with a call of ADK's protocol": (["status: 400 -> 422"], RULE),
    "create with a message": (
        ["status: 200 -> 422"],
        "`message` is an argument of a constructor in Python, not a field: it would be lost",
    ),
    "create with two equal events": (
        ["status: 500 -> 200"],
        "an event id names one event, so the second is a retry of the first; ADK fails and leaves half of it done",
    ),
    "create with two events of one id": (
        ["status: 500 -> 409"],
        "an event id names one event, and nothing is done by half; ADK fails and leaves half of it done",
    ),
    "create with a key twice": (["status: 200 -> 422"], "one of the values would be lost"),
    "create with a huge number": (["status: 200 -> 422"], "no client could read it again; ADK answers `null`"),
    "create by path with a blank id": (["status: 200 -> 422"], "a path names the session"),
    "get a blank id": (["status: 404 -> 422"], "a path names a session"),
    "an empty name": (["status: 404 -> 422"], RULE),
    "a slash at the end": (["status: 307 -> 404"], "one thing has one path"),
    "a slash in a user's name": (["status: 404 -> 200"], NAMES),
    "get an id with a slash": (["status: 404 -> 200"], NAMES),
    "patch with a temporary key": (
        ["/state/temp:t: 1 -> (absent)"],
        "an answer shows what there is; ADK adds what the request had in passing",
    ),
    "patch without a body": (["status: 422 -> 400"], SHAPE),
    "patch with a body that is no JSON": (["status: 422 -> 400"], SHAPE),
    "save bytes without a type": (["/mimeType: (absent) -> 'application/octet-stream'"], TYPE),
    "save no part": (["status: 400 -> 422"], RULE),
    "save a call": (["status: 400 -> 422"], RULE),
    "save without a body": (["status: 422 -> 400"], SHAPE),
    "save where no session is": (["status: 200 -> 404"], PLACE),
    "list artifacts where no session is": (["status: 200 -> 404"], PLACE),
    "load a negative version": (["status: 404 -> 422"], RULE),
    "load a negative version by its path": (["status: 404 -> 422"], RULE),
    "load bytes without a type": (["/inlineData/mimeType: (absent) -> 'application/octet-stream'"], TYPE),
    "load a reference": (
        [
            "/fileData: (absent) -> "
            "{'fileUri': 'artifact://apps/demo/users/ada/sessions/a/artifacts/t.txt/versions/1'}",
            "/text: 'b' -> (absent)",
        ],
        "it is given back as it was saved; ADK follows it",
    ),
    "head an artifact": (["status: 405 -> 200"], METHODS),
    "delete a version by its path": (
        ["status: 200 -> 405"],
        "it reads as if one version were meant, for which there is `?version=`; ADK deletes an artifact of this name",
    ),
    "save what was deleted": (
        [
            "/canonicalUri: '(its own)://apps/demo/users/ada/sessions/a/artifacts/t.txt/versions/0' -> "
            "'(its own)://apps/demo/users/ada/sessions/a/artifacts/t.txt/versions/5'",
            "/version: 0 -> 5",
        ],
        "a number is given once, or an old event would name new content",
    ),
    "list versions without one": (
        ["(body): [] -> [1, 2, 3]"],
        "one version was deleted, as asked for; ADK ignores `version` and deletes all",
    ),
    "save another field of a part": (["status: 200 -> 422"], "it would be lost"),
    "save two parts": (["status: 200 -> 422"], "one of them would be lost"),
    "save no name": (["status: 200 -> 422"], RULE),
    "head": (["status: 405 -> 200"], METHODS),
    "list-apps": (
        ["(body): ['demo', 'other'] -> ['demo', 'démo', 'nobody', 'temp']"],
        "the apps that have sessions or state, instead of the folders with agents",
    ),
    "list-apps with details": (["status: 200 -> 422"], "sessiond knows no agents"),
    "version": (["/language: 'python' -> 'rust'"], "each tells its own versions"),
    "get events of every kind": (
        ["/events/0/actions/requestedAuthConfigs/c/authScheme/type_: 'http' -> (absent)"],
        "an accident of ADK's SQLite service, which stores the name that the field has in Python",
    ),
}


def requests():
    """Name, method, path, and how to send the body."""

    def create(name, **body):
        return (f"create {name}", "POST", S, {"json": body})

    def raw(text, kind="application/json"):
        return {"content": text, "headers": {"content-type": kind} if kind else {}}

    acts = dict(SAID, actions={"stateDelta": {"k": 1}})
    asks = dict(SAID, content={"parts": [{"functionCall": {"name": "adk_request_confirmation", "args": {}}}]})
    secret = {"authType": "oauth2", "oauth2": {"clientId": "i", "clientSecret": "s", "accessToken": "t"}}
    keys = {"": 1, ":": 2, "temp_x": 3, "Temp:x": 4, "app:": 5, "user:": 6, "foo:bar": 7, "é 日": 8, "temp:": 9}
    return [
        ("health", "GET", "/health", {}),
        ("version", "GET", "/version", {}),
        ("list of nobody", "GET", S, {}),
        ("get what is not there", "GET", f"{S}/none?bogus=1", {}),
        ("create without a body", "POST", S, {}),
        ("create with null", "POST", S, raw("null")),
        create("with an empty object"),
        create("with nulls", sessionId=None, state=None, events=None, options=None),
        create(
            "with an id and state",
            sessionId="a",
            state={"k": 1, "f": 1.0, "n": None, "app:x": {"y": []}, "user:u": "ü"},
        ),
        create("in snake_case", session_id="snake", state={"app:z": True}),
        create("with an id that exists", sessionId="a", state={"app:x": 0}),
        create("with an id to be trimmed", sessionId="  trimmed\t", state={"temp:t": 1}),
        create("with a blank id", sessionId="  "),
        create("with keys of all kinds", sessionId="keys", state=keys),
        create("with an unknown field", sessionId="unknown", bogus=1, appName="x"),
        create("with both spellings", sessionId="b1", session_id="b2"),
        create("with an id of another type", sessionId=5),
        create("with state of another type", state=[1]),
        create("with events of another type", events={}),
        ("create with an array", "POST", S, {"json": []}),
        ("create with a body that is no JSON", "POST", S, raw("{")),
        ("create with a body of another type", "POST", S, raw("{}", "text/plain")),
        ("create with a body without type", "POST", S, raw("{}", None)),
        ("create with a key twice", "POST", S, raw('{"sessionId":"twice","state":{"k":1,"k":2}}')),
        ("create with a huge number", "POST", S, raw('{"sessionId":"huge","state":{"k":1e400}}')),
        create("with options", options={"a": 1}),
        create("with an event", sessionId="said", events=[SAID]),
        create(
            "with an event of many fields",
            sessionId="fields",
            events=[
                dict(SAID, branch=None, partial=False, turn_complete=True, errorCode="X", unknown=1, actions={}),
                dict(
                    SAID,
                    id="e2",
                    timestamp=6,
                    custom_metadata={"a": None, "__adk_internal_x": 1},
                    longRunningToolIds=[],
                ),
                dict(SAID, id="e3", timestamp=7, actions={"stateDelta": {}, "escalate": None}, output={"o": None}),
            ],
        ),
        create("with an event of nothing", sessionId="nothing", events=[{}]),
        create("with a partial event", sessionId="partial", events=[dict(SAID, partial=True)]),
        create(
            "with a tool call",
            sessionId="tool",
            events=[
                dict(
                    SAID,
                    content={
                        "role": "model",
                        "parts": [{"functionCall": {"id": "c", "name": "f", "args": {"x": None}}}],
                    },
                )
            ],
        ),
        create("with an event that acts", sessionId="acts", events=[acts]),
        create("with long-running calls", sessionId="acts", events=[dict(SAID, longRunningToolIds=["c"])]),
        create("with a call of ADK's protocol", sessionId="acts", events=[asks]),
        ("get what was refused", "GET", f"{S}/acts", {}),
        create("with a message", sessionId="message", events=[{"message": "hi"}]),
        create("with two equal events", sessionId="equal", events=[SAID, SAID]),
        create("with two events of one id", sessionId="one-id", events=[SAID, dict(SAID, author="x")]),
        create(
            "with a secret",
            sessionId="secret",
            state={"c": secret, "token": "t", "rawAuthCredential": {"password": "p"}},
        ),
        ("get with state", "GET", f"{S}/a", {}),
        ("get with events", "GET", f"{S}/fields", {}),
        ("get a secret", "GET", f"{S}/secret", {}),
        ("get a blank id", "GET", f"{S}/%20", {}),
        ("get an id to be trimmed", "GET", f"{S}/%20a%20", {}),
        ("create by path", "POST", f"{S}/path", {"json": {"state": {"k": 1}, "app:x": 2, "sessionId": "x"}}),
        ("create by path without a body", "POST", f"{S}/bare", {}),
        ("create by path with null", "POST", f"{S}/null", raw("null")),
        ("create by path with an array", "POST", f"{S}/array", {"json": [1]}),
        ("create by path with an id that exists", "POST", f"{S}/path", {"json": {"k": 2}}),
        ("create by path with a blank id", "POST", f"{S}/%20", {"json": {}}),
        ("create an evaluation's session", "POST", f"{BOB}/adk-eval-session-1", {}),
        ("create an old evaluation's session", "POST", f"{BOB}/___eval___session___1", {}),
        ("get an evaluation's session", "GET", f"{BOB}/adk-eval-session-1", {}),
        (
            "create with names of any script",
            "POST",
            "/apps/d%C3%A9mo/users/%E6%97%A5%20x/sessions",
            {"json": {"sessionId": "a b+ü"}},
        ),
        ("get with names of any script", "GET", "/apps/d%C3%A9mo/users/%E6%97%A5%20x/sessions/a%20b+%C3%BC", {}),
        ("create for another user", "POST", BOB, {"json": {"sessionId": "a", "state": {"user:u": 2, "k": 2}}}),
        ("create with the past", "POST", BOB, {"json": {"sessionId": "b", "events": [SAID], "state": {"k": 3}}}),
        ("create in an app without agent", "POST", "/apps/nobody/users/u/sessions", {}),
        (
            "patch",
            "PATCH",
            f"{S}/a",
            {"json": {"stateDelta": {"k": {"a": None}, "new": None, "user:u": 3, "app:x": 4}}},
        ),
        ("patch in snake_case", "PATCH", f"{S}/a", {"json": {"state_delta": {"k": 2}, "bogus": 1}}),
        ("patch with nothing", "PATCH", f"{S}/a", {"json": {"stateDelta": {}}}),
        ("patch with a temporary key", "PATCH", f"{S}/a", {"json": {"stateDelta": {"temp:t": 1}}}),
        ("patch with null", "PATCH", f"{S}/a", {"json": {"stateDelta": None}}),
        ("patch without stateDelta", "PATCH", f"{S}/a", {"json": {}}),
        ("patch without a body", "PATCH", f"{S}/a", {}),
        ("patch with a body that is no JSON", "PATCH", f"{S}/a", raw("{")),
        ("patch what is not there", "PATCH", f"{S}/none", {"json": {"stateDelta": {}}}),
        ("get what was patched", "GET", f"{S}/a", {}),
        ("get another user's session", "GET", f"{BOB}/a", {}),
        ("list", "GET", f"{BOB}?bogus=1", {}),
        ("get events of every kind", "GET", "/apps/demo/users/eve/sessions/all", {}),
        *artifact_requests(),
        ("delete", "DELETE", f"{S}/snake", {}),
        ("delete again", "DELETE", f"{S}/snake", {}),
        ("get what was deleted", "GET", f"{S}/snake", {}),
        ("create what was deleted", "POST", S, {"json": {"sessionId": "snake"}}),
        ("delete a list", "DELETE", S, {}),
        ("put", "PUT", f"{S}/a", {"json": {}}),
        ("head", "HEAD", f"{S}/a", {}),
        ("an empty name", "GET", "/apps/demo/users//sessions", {}),
        ("a slash at the end", "GET", f"{S}/a/", {}),
        ("a slash in a user's name", "POST", "/apps/temp/users/u%2Fv/sessions", {"json": {"sessionId": "a/b"}}),
        ("get an id with a slash", "GET", "/apps/temp/users/u%2Fv/sessions/a%2Fb", {}),
        ("nothing at this path", "GET", "/apps/demo", {}),
        ("list-apps", "GET", "/list-apps?bogus=1", {}),
        ("list-apps with details", "GET", "/list-apps?detailed=true", {}),
    ]


def artifact_requests():
    """Of artifacts, in a session that is there."""

    def save(name, filename, artifact, **rest):
        body = {"filename": filename, "artifact": artifact, **rest}
        return (f"save {name}", "POST", FILES, {"json": body})

    def load(name, path):
        return (f"load {name}", "GET", f"{FILES}/{path}", {})

    text = {"text": "grüß \u0000"}
    blob = {"mimeType": "image/png", "data": "-_8="}
    return [
        ("list artifacts where none is", "GET", FILES, {}),
        ("list versions where none is", "GET", f"{FILES}/t.txt/versions", {}),
        ("list metadata where none is", "GET", f"{FILES}/t.txt/versions/metadata", {}),
        save("a text", "t.txt", text),
        save("with metadata", "t.txt", {"text": "b"}, customMetadata={"n": 1, "d": {"x": [None]}}),
        save("with metadata in snake_case", "t.txt", {"text": ""}, custom_metadata={"n": 1.5}),
        save("with no metadata", "t.txt", {"text": "d"}, customMetadata=None),
        save("bytes", "b.png", {"inlineData": blob}),
        save("bytes of the other alphabet", "b.png", {"inline_data": {"mime_type": "image/png", "data": "+/8="}}),
        save("bytes without padding", "b.png", {"inlineData": dict(blob, data="-_8")}),
        save("bytes with a name", "b.png", {"inlineData": dict(blob, displayName="n")}),
        save("bytes without a type", "typeless", {"inlineData": {"data": "AAEC"}}),
        save("nothing", "nothing", {"inlineData": {"mimeType": "application/octet-stream", "data": ""}}),
        save("an address", "a", {"fileData": {"fileUri": "gs://a/b", "mimeType": "a/b"}}),
        save("an address without a type", "a", {"fileData": {"fileUri": "gs://a/b"}}),
        save(
            "a reference",
            "r",
            {"fileData": {"fileUri": "artifact://apps/demo/users/ada/sessions/a/artifacts/t.txt/versions/1"}},
        ),
        save("an artifact of the user", "user:u", text),
        save("a name with slashes", "f/g.txt", text),
        save("a name of any script", "dé 日?#%", text),
        save("an unknown field", "t.txt", {"text": "e"}, bogus=1),
        save("an unknown field of a part", "t.txt", {"text": "e", "bogus": 1}),
        save("no part", "t.txt", {}),
        save("a call", "t.txt", {"functionCall": {"name": "f"}}),
        save("what is no base64", "t.txt", {"inlineData": dict(blob, data="a b")}),
        save("metadata of another type", "t.txt", text, customMetadata=[1]),
        ("save without a name", "POST", FILES, {"json": {"artifact": text}}),
        ("save without a part", "POST", FILES, {"json": {"filename": "t.txt"}}),
        ("save without a body", "POST", FILES, {}),
        ("save where no session is", "POST", f"{S}/none/artifacts", {"json": {"filename": "t.txt", "artifact": text}}),
        ("list artifacts", "GET", FILES, {}),
        ("list artifacts where no session is", "GET", f"{S}/none/artifacts", {}),
        ("list artifacts of another session", "GET", f"{S}/snake/artifacts", {}),
        load("the latest", "t.txt?bogus=1"),
        load("a version", "t.txt?version=0"),
        load("an empty text", "t.txt/versions/2"),
        load("the latest by its path", "t.txt/versions/latest"),
        load("a version by its path", "t.txt/versions/1"),
        load("a version that is not there", "t.txt?version=77"),
        load("by its path what is not there", "t.txt/versions/77"),
        load("a negative version", "t.txt?version=-1"),
        load("a negative version by its path", "t.txt/versions/-1"),
        load("a version that is no number", "t.txt?version=x"),
        load("by its path what is no number", "t.txt/versions/x"),
        load("bytes", "b.png"),
        load("bytes of the other alphabet", "b.png?version=1"),
        load("bytes without padding", "b.png?version=2"),
        load("bytes with a name", "b.png?version=3"),
        load("bytes without a type", "typeless"),
        load("nothing", "nothing"),
        load("an address", "a?version=0"),
        load("an address without a type", "a?version=1"),
        load("a reference", "r"),
        load("an artifact of the user", "user:u"),
        load("a name with slashes", "f/g.txt"),
        load("a name with escaped slashes", "f%2Fg.txt"),
        load("a version of a name with slashes", "f/g.txt/versions/0"),
        load("a name of any script", "d%C3%A9%20%E6%97%A5%3F%23%25"),
        load("what is not there", "none"),
        ("list versions", "GET", f"{FILES}/t.txt/versions", {}),
        ("list versions of a name with slashes", "GET", f"{FILES}/f/g.txt/versions", {}),
        ("list metadata", "GET", f"{FILES}/t.txt/versions/metadata", {}),
        ("list metadata of an artifact of the user", "GET", f"{FILES}/user:u/versions/metadata", {}),
        ("list metadata of addresses", "GET", f"{FILES}/a/versions/metadata", {}),
        ("get metadata", "GET", f"{FILES}/t.txt/versions/1/metadata", {}),
        ("get metadata of the latest", "GET", f"{FILES}/f/g.txt/versions/latest/metadata", {}),
        ("get metadata of what is not there", "GET", f"{FILES}/t.txt/versions/77/metadata", {}),
        ("get metadata of no number", "GET", f"{FILES}/t.txt/versions/x/metadata", {}),
        ("get a session with artifacts", "GET", f"{S}/a", {}),
        ("put an artifact", "PUT", f"{FILES}/t.txt", {"json": text}),
        ("head an artifact", "HEAD", f"{FILES}/t.txt", {}),
        ("delete a version by its path", "DELETE", f"{FILES}/b.png/versions/0", {}),
        ("delete an artifact", "DELETE", f"{FILES}/t.txt", {}),
        ("delete an artifact again", "DELETE", f"{FILES}/t.txt", {}),
        ("delete an artifact where no session is", "DELETE", f"{S}/none/artifacts/t.txt", {}),
        load("what was deleted", "t.txt"),
        ("list versions of what was deleted", "GET", f"{FILES}/t.txt/versions", {}),
        save("what was deleted", "t.txt", {"text": "again"}),
        ("delete one version", "DELETE", f"{FILES}/b.png?version=0", {}),
        ("list versions without one", "GET", f"{FILES}/b.png/versions", {}),
        # ADK's server takes these.
        save("another field of a part", "t.txt", {"text": "e", "thought": True}),
        save("two parts", "t.txt", {"text": "e", "inlineData": blob}),
        save("no name", "", text),
    ]


def every_kind():
    """What only an agent appends: events of the library, as it would write them."""
    actions = EventActions(
        state_delta={"k": None, "user:u": 1},
        artifact_delta={"f.txt": 2},
        transfer_to_agent="b",
        escalate=False,
        skip_summarization=True,
        requested_tool_confirmations={"c": {"hint": "sure?"}},
        requested_auth_configs={
            "c": {
                "auth_scheme": {"type": "http", "scheme": "bearer"},
                "raw_auth_credential": {
                    "auth_type": "http",
                    "http": {"scheme": "bearer", "credentials": {"token": "secret"}},
                },
                "credential_key": "key",
            }
        },
        end_of_agent=True,
        agent_state={"s": None},
        rewind_before_invocation_id="i0",
        route=["r", 1, True],
        render_ui_widgets=[{"id": "w", "provider": "mcp", "payload": {"p": None}}],
        set_model_response={"r": 1},
        compaction={"start_timestamp": 1.0, "end_timestamp": 2.0, "compacted_content": {"parts": [{"text": "c"}]}},
    )
    common = {"invocation_id": "i1", "author": "agent"}
    content = {
        "role": "model",
        "parts": [{"text": "t", "thought": True}, {"function_call": {"id": "c", "name": "f", "args": {"a": None}}}],
    }
    return [
        Event(id="1", timestamp=1.25, content=content, actions=actions, long_running_tool_ids={"c"}, **common),
        Event(
            id="2",
            timestamp=2.5,
            branch="a.b",
            isolation_scope="s",
            output={"o": None},
            node_info={"path": "wf/A@1", "output_for": ["x"]},
            model_version="m",
            turn_complete=True,
            interrupted=False,
            error_code="E",
            error_message="m",
            finish_reason="STOP",
            usage_metadata={"prompt_token_count": 1},
            grounding_metadata={"web_search_queries": ["q"]},
            input_transcription={"text": "t", "finished": True},
            avg_logprobs=-0.5,
            custom_metadata={"a": None, "__adk_internal_x": 1},
            interaction_id="i",
            environment_id="e",
            live_session_id="l",
            **common,
        ),
        Event(id="3", timestamp=3.0, custom_metadata={"__adk_internal_x": 1}, partial=False, **common),
    ]


async def append_every_kind(adk_database, sessiond):
    """Through the library's own service, and through the native API with what the library writes."""
    service = SqliteSessionService(str(adk_database))
    session = await service.create_session(app_name="demo", user_id="eve", session_id="all")
    for event in every_kind():
        # What they are compared as is what is stored; the times are of the past.
        session.last_update_time = time.time()
        await service.append_event(session, event)
    path = "/v1/apps/demo/users/eve/sessions"
    sessiond.post(path, json={"sessionId": "all"}).raise_for_status()
    for event in every_kind():
        text = event.model_dump_json(by_alias=True, exclude_none=True)
        sessiond.post(
            f"{path}/all/events", content=text, headers={"content-type": "application/json"}
        ).raise_for_status()


def masked(value, key=None):
    if isinstance(value, dict):
        return {name: masked(member, name) for name, member in value.items()}
    if isinstance(value, list):
        return [masked(element) for element in value]
    times = ("timestamp", "lastUpdateTime", "createTime")
    if key in times and isinstance(value, (int, float)) and value > 1_700_000_000:
        return "(now)"
    if key in ("id", "invocationId") and isinstance(value, str):
        return re.sub("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "(generated)", value)
    if key in ("version", "language_version") and isinstance(value, str):
        return "(its own)"
    if key == "canonicalUri":
        return re.sub("^(memory|sessiond):", "(its own):", urllib.parse.unquote(value))
    return value


def diff(adk, sessiond, at=""):
    if isinstance(adk, dict) and isinstance(sessiond, dict):
        for name in sorted(adk.keys() | sessiond.keys()):
            yield from diff(adk.get(name, "(absent)"), sessiond.get(name, "(absent)"), f"{at}/{name}")
    elif isinstance(adk, list) and isinstance(sessiond, list) and any(isinstance(e, dict) for e in adk + sessiond):
        if len(adk) != len(sessiond):
            yield f"{at or '(body)'}: {len(adk)} elements -> {len(sessiond)} elements"
        else:
            for n, pair in enumerate(zip(adk, sessiond)):
                yield from diff(*pair, f"{at}/{n}")
    elif adk != sessiond or type(adk) is not type(sessiond) and not {type(adk), type(sessiond)} <= {int, float}:
        shown = [value if value == "(absent)" else repr(value) for value in (adk, sessiond)]
        yield f"{at or '(body)'}: {shown[0]} -> {shown[1]}"


def difference(adk, sessiond):
    """How two answers differ."""
    if adk.status_code != sessiond.status_code:
        return [f"status: {adk.status_code} -> {sessiond.status_code}"]
    if not adk.content or adk.request.method == "HEAD":
        return [] if not sessiond.content else ["(body): none -> some"]
    if adk.status_code >= 400:
        return [] if sessiond.json().get("detail") else ["/detail: some -> (absent)"]
    return list(diff(masked(adk.json()), masked(sessiond.json())))


def fields():
    """The fields of ADK's models, and those that openapi-adk.yaml lists."""
    schemas = yaml.safe_load((ROOT / "openapi-adk.yaml").read_text())["components"]["schemas"]
    schema = schemas["AdkEvent"]
    for model, listed in (
        (Event, schema),
        (EventActions, schema["properties"]["actions"]),
        (ArtifactVersion, schemas["AdkArtifactVersion"]),
        (SaveArtifactRequest, schemas["AdkSaveArtifact"]),
    ):
        known = {field.alias or name for name, field in model.model_fields.items()}
        if known != set(listed["properties"]):
            yield f"{model.__name__}: the library has {sorted(known)}, openapi-adk.yaml {sorted(listed['properties'])}"


async def use_client(base):
    """google-adk's own client for its server, on sessiond."""
    async with AdkWebServerClient(base) as client:
        user = {"app_name": "client", "user_id": "u"}
        assert (await client.get_version_data()).keys() == {"version", "language", "language_version"}
        created = await client.create_session(**user, state={"k": 1, "user:u": {"a": None}, "temp:t": 1})
        assert created.state == {"k": 1, "user:u": {"a": None}} and created.events == [], created
        one = {**user, "session_id": created.id}
        assert await client.get_session(**one) == created
        updated = await client.update_session(**one, state_delta={"k": 2, "app:x": [1]})
        assert updated.state == {"k": 2, "user:u": {"a": None}, "app:x": [1]}, updated
        assert [event.author for event in updated.events] == ["user"], updated
        assert updated.last_update_time == updated.events[0].timestamp
        assert await client.get_session(**one) == updated
        assert (await client.create_session(**user)).state == {"user:u": {"a": None}, "app:x": [1]}
        together = [client.update_session(**one, state_delta={f"k{n}": n}) for n in range(20)]
        await asyncio.gather(*together)
        assert len((await client.get_session(**one)).events) == 21
        saved = httpx.post(
            f"{base.rstrip('/')}/apps/client/users/u/sessions/{created.id}/artifacts",
            json={"filename": "d/f.txt", "artifact": {"text": "t"}, "customMetadata": {"n": 1}},
        )
        version = ArtifactVersion.model_validate(saved.raise_for_status().json())
        assert (version.version, version.mime_type, version.custom_metadata) == (0, "text/plain", {"n": 1}), version
        of = {**one, "artifact_name": "d/f.txt"}
        assert await client.get_artifact_version_metadata(**of, version=0) == version
        assert await client.list_artifact_versions_metadata(**of) == [version]
        await client.delete_session(**one)
        await client.delete_session(**one)
        for call in (client.get_session(**one), client.update_session(**one, state_delta={})):
            try:
                await call
            except httpx.HTTPStatusError as error:
                assert error.response.status_code == 404
            else:
                raise AssertionError("a deleted session answers")


def table():
    """DIFFERENCES, for docs/adk.md."""
    rows = ["| request | `adk api_server` → sessiond | why |", "|---|---|---|"]
    for name, (found, reason) in DIFFERENCES.items():
        shown = "; ".join(line.replace("->", "→") for line in found)
        rows.append(f"| {name} | {shown} | {reason} |")
    return "\n".join(rows)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@contextlib.contextmanager
def started(command, folder, port):
    """A server with its log in the folder, once it answers."""
    env = {name: value for name, value in os.environ.items() if "DATABASE_URL" not in name}
    with open(folder / "log", "wb") as log:
        server = subprocess.Popen(command, cwd=folder, env=env, stdout=log, stderr=log)
    try:
        # Each request on a connection of its own: after an error of its own, ADK's server closes them.
        limits = httpx.Limits(max_keepalive_connections=0)
        client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60, limits=limits)
        for _ in range(600):
            with contextlib.suppress(httpx.TransportError):
                client.get("/health").raise_for_status()
                break
            if server.poll() is not None:
                break
            time.sleep(0.2)
        else:
            server.terminate()
        if server.poll() is not None:
            sys.exit(f"{command[0]} did not start:\n{(folder / 'log').read_text()}")
        yield client
    finally:
        server.terminate()
        server.wait()


def main():
    if sys.argv[1] == "--table":
        sys.exit(print(table()))
    # As Ctrl-C: what was started ends, too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    binary = str(Path(sys.argv[1]).resolve())
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for name in ("adk", "sessiond", "agents/demo", "agents/other"):
            (folder / name).mkdir(parents=True)
        for name in ("demo", "other"):
            agent = f"from google.adk.agents import LlmAgent\nroot_agent = LlmAgent(name={name!r}, model='none')\n"
            (folder / "agents" / name / "agent.py").write_text(agent)
        ports = free_port(), free_port()
        adk = [sys.executable, "-m", "google.adk.cli", "api_server", f"--port={ports[0]}"]
        adk += ["--session_service_uri=sqlite:///sessions.db", "--artifact_service_uri=memory://"]
        adk += [str(folder / "agents")]
        sessiond = [binary, "serve", "--database-url=sqlite://sessions.db", "--metrics-listen=off"]
        sessiond += [f"--listen=127.0.0.1:{ports[1]}"]
        adk = stack.enter_context(started(adk, folder / "adk", ports[0]))
        sessiond = stack.enter_context(started(sessiond, folder / "sessiond", ports[1]))
        asyncio.run(append_every_kind(folder / "adk" / "sessions.db", sessiond))

        faults = list(fields())
        if table() not in (ROOT / "docs" / "adk.md").read_text():
            faults.append("docs/adk.md has another table of differences; see --table")
        same = 0
        for name, method, path, how in requests():
            answers = [server.request(method, path, **how) for server in (adk, sessiond)]
            found = difference(*answers)
            listed, _ = DIFFERENCES.get(name, ([], ""))
            if found == listed:
                same += not found
                print(f"{'as listed' if found else 'same':>9}  {name}  {'; '.join(found)}")
            else:
                faults.append(f"{name}: listed {listed}, found {found}")
        unknown = DIFFERENCES.keys() - {name for name, *_ in requests()}
        faults.extend(f"{name}: listed, but there is no such request" for name in unknown)
        if shapes.table() != (ROOT / "src/domain/shape/gen/models.rs").read_text():
            faults.append("the library has other models than src/domain/shape/gen/models.rs, which shapes.py writes")
        faults.extend(shapes_check.check(sessiond))
        asyncio.run(use_client(str(sessiond.base_url)))
        print(
            f"google-adk {google.adk.__version__}: {len(requests())} requests, {same} the same, {len(DIFFERENCES)} as listed"
        )
        print("AdkWebServerClient works")
    sys.exit("\n".join(faults) or 0)


if __name__ == "__main__":
    main()
