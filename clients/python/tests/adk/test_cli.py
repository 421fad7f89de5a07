"""ADK's own command line and servers on sessiond: one line in `services.py`, and the URI."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from ..support.process import Program, Server, free_port, running

AGENT = """
from google.adk.agents.llm_agent import LlmAgent
from tests.adk.model import ScriptedModel

root_agent = LlmAgent(
    name="greeter",
    model=ScriptedModel(script=["Hello, I am scripted."] * 9),
    instruction="Greet {user:name?}.",
    output_key="user:greeting",
)
"""

ADK = ["-m", "google.adk.cli"]


@pytest.fixture
def agents(tmp_path: Path, app: str) -> Path:
    """A folder of agents, with one agent in it, as a user of ADK has it."""
    folder = tmp_path / "agents"
    (folder / app).mkdir(parents=True)
    (folder / app / "agent.py").write_text(AGENT, encoding="utf-8")
    (folder / "services.py").write_text("import sessiond_adk\n", encoding="utf-8")
    return folder


@pytest.fixture
def env() -> dict[str, str]:
    return {"PYTHONPATH": str(Path(__file__).resolve().parents[2])}


@pytest.fixture
def plain(own_server: Server) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"{own_server.url}/v1", timeout=60) as client:
        yield client


@pytest.fixture(params=["api_server", "web"])
def adk(
    request: pytest.FixtureRequest, own_server: Server, agents: Path, env: dict[str, str]
) -> Iterator[httpx.Client]:
    url = f"http://127.0.0.1:{free_port()}"
    uri = own_server.url.replace("http://", "sessiond://")
    uris = [
        f"--session_service_uri={uri}",
        f"--artifact_service_uri={uri}?timeout=10",
        f"--memory_service_uri={uri}?limit=5",
    ]
    command = [*ADK, request.param, *uris, "--port", url.rpartition(":")[2], str(agents)]
    with running(*command, url=f"{url}/list-apps", env=env), httpx.Client(base_url=url, timeout=60) as client:
        yield client


def test_servers_of_adk_keep_all_in_sessiond(adk: httpx.Client, plain: httpx.Client, app: str) -> None:
    # One server for both: it takes seconds to start.
    keep_sessions(adk, plain, app)
    keep_artifacts(adk, plain, app)
    keep_memory(adk, plain, app)


def keep_sessions(adk: httpx.Client, plain: httpx.Client, app: str) -> None:
    sessions = f"/apps/{app}/users/user/sessions"
    created = adk.post(sessions, json={"state": {"topic": "tea", "user:name": "Ada"}}).json()
    assert adk.post(sessions, json={"sessionId": "s2"}).status_code == 200
    assert adk.post(sessions, json={"sessionId": "s2"}).status_code == 409

    message = {"role": "user", "parts": [{"text": "Hello"}]}
    run = {"appName": app, "userId": "user", "sessionId": created["id"], "newMessage": message}
    (said,) = adk.post("/run", json=run).raise_for_status().json()
    assert said["content"]["parts"] == [{"text": "Hello, I am scripted."}]

    listed = adk.get(sessions).json()
    assert {session["id"] for session in listed} == {created["id"], "s2"}
    assert all(session["events"] == [] for session in listed)
    shared = {"user:name": "Ada", "user:greeting": "Hello, I am scripted."}
    assert {session["id"]: session["state"] for session in listed} == {
        created["id"]: {"topic": "tea", **shared},
        "s2": shared,
    }

    patched = adk.patch(f"{sessions}/s2", json={"stateDelta": {"app:x": 1}}).json()
    assert patched["state"] == {"app:x": 1, **shared}
    assert adk.delete(f"{sessions}/s2").status_code == 200
    assert adk.get(f"{sessions}/s2").status_code == 404

    stored = plain.get(sessions + f"/{created['id']}").json()
    assert [event["author"] for event in stored["events"]] == ["user", "greeter"]
    assert stored["events"][1]["id"] == said["id"]
    assert stored["state"] == {"topic": "tea", "app:x": 1, **shared}
    assert [session["id"] for session in plain.get(sessions).json()["sessions"]] == [created["id"]]


def keep_artifacts(adk: httpx.Client, plain: httpx.Client, app: str) -> None:
    sessions = f"/apps/{app}/users/user/sessions"
    adk.post(sessions, json={"sessionId": "s"}).raise_for_status()
    files = f"{sessions}/s/artifacts"
    assert adk.get(files).json() == []
    assert adk.get(f"{files}/a/b").status_code == 404
    picture = {"inlineData": {"mimeType": "image/png", "data": "AP-A"}}
    for version, part in enumerate((picture, {"text": "Hällo"})):
        body = {"filename": "a/b", "artifact": part, "customMetadata": {"n": version}}
        known = adk.post(files, json=body).raise_for_status().json()
        uri = f"sessiond://apps/{app}/users/user/sessions/s/artifacts/a%2Fb/versions/{version}"
        assert (known["version"], known["canonicalUri"], known["customMetadata"]) == (version, uri, {"n": version})
    adk.post(files, json={"filename": "user:c", "artifact": {"text": "mine"}}).raise_for_status()
    assert adk.get(files).json() == ["a/b", "user:c"]
    assert adk.get(f"{files}/a/b").json() == {"text": "Hällo"}
    assert adk.get(f"{files}/a/b/versions").json() == [0, 1]
    # ADK writes base64 in the alphabet of URLs.
    assert adk.get(f"{files}/a/b/versions/0").json() == picture
    assert adk.get(f"{files}/a/b/versions/0/metadata").json()["mimeType"] == "image/png"
    assert plain.get(f"{files}/a%2Fb?version=0").content == b"\x00\xff\x80"
    refused = adk.post(files, json={"filename": "..", "artifact": {"text": "x"}})
    assert refused.status_code == 400
    assert adk.delete(f"{files}/a/b").status_code == 200
    assert adk.get(files).json() == ["user:c"]


def keep_memory(adk: httpx.Client, plain: httpx.Client, app: str) -> None:
    # ADK's own path asks the memory service to take in a session, which is here.
    taken = adk.patch(f"/apps/{app}/users/user/memory", json={"session_id": "s"})
    assert taken.status_code == 200, taken.text
    sessions = plain.get(f"/apps/{app}/users/user/sessions").json()["sessions"]
    assert "memories" not in {session["id"] for session in sessions}


def test_adk_run_keeps_its_session_in_sessiond(
    own_server: Server, plain: httpx.Client, agents: Path, app: str, env: dict[str, str]
) -> None:
    # This command looks for services.py in the folder of the agent.
    (agents / "services.py").rename(agents / app / "services.py")
    uri = own_server.url.replace("http://", "sessiond://")
    ran = Program(*ADK, "run", f"--session_service_uri={uri}", str(agents / app), env=env, said="Hello\nexit\n")
    assert ran.wait() == 0, ran.errors
    assert "[greeter]: Hello, I am scripted." in ran.output
    (session,) = plain.get(f"/apps/{app}/sessions").json()["sessions"]
    events = plain.get(f"/apps/{app}/users/{session['userId']}/sessions/{session['id']}").json()["events"]
    assert [event["author"] for event in events] == ["user", "greeter"]
