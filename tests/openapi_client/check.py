"""Checks that a client can be generated from the description of the API, and that it works.

    check.py SESSIOND_BINARY

openapi-python-client makes a client of what the binary says of itself; a warning fails, for what the generator cannot
take is left out of the client. Then a real server, on a temporary folder and a free port, is used with that client.

Runs in the Python that has openapi-python-client; `scripts/openapi-client` makes one.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# No text that the generator would reformat, and media types that it does not know.
CONFIG = """
post_hooks: []
content_type_overrides:
  application/yaml: text/plain
  application/x-ndjson: application/octet-stream
"""


def generate(binary: Path, folder: Path) -> None:
    (folder / "openapi.yaml").write_bytes(subprocess.run([binary, "openapi"], check=True, capture_output=True).stdout)
    (folder / "config.yaml").write_text(CONFIG)
    generator = Path(sys.executable).with_name("openapi-python-client")
    options = ["--path", "openapi.yaml", "--config", "config.yaml", "--meta", "none", "--output-path", "generated"]
    made = subprocess.run(
        [generator, "generate", "--fail-on-warning", *options], cwd=folder, capture_output=True, text=True, check=False
    )
    if made.returncode != 0:
        sys.exit(f"openapi-python-client does not take the description:\n{made.stdout}{made.stderr}")
    sys.path.insert(0, str(folder))


@contextlib.contextmanager
def server(binary: Path, folder: Path) -> Iterator[str]:
    """A server on a file and a port of its own; gives its address."""
    unset = {name for name in os.environ if name.startswith("SESSIOND_")} | {"DATABASE_URL"}
    env = {name: value for name, value in os.environ.items() if name not in unset}
    command = [binary, "--listen", "127.0.0.1:0", "--metrics-listen", "off", "--log-format", "json"]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, cwd=folder, env=env, stdout=log, stderr=log)
    try:
        for _ in range(600):
            lines = [json.loads(line) for line in (folder / "log").read_text().splitlines(True) if line.endswith("\n")]
            address = next((line["address"] for line in lines if line.get("message") == "listening"), None)
            if address or process.poll() is not None:
                break
            time.sleep(0.1)
        if not address:
            sys.exit(f"{binary} did not start:\n{(folder / 'log').read_text()}")
        yield f"http://{address}"
    finally:
        process.terminate()
        process.wait()


def use(url: str) -> None:
    """What a program does with a client: create, append, read, change, list, and meet an error."""
    from generated import Client, models
    from generated.api.events import append_events, list_events
    from generated.api.sessions import create_session, delete_session, get_session, list_sessions
    from generated.api.state import get_state_key, patch_state, put_state_key, render_template

    at: tuple[str, str, str] = ("shop", "ada/1", "s1")
    with Client(base_url=url) as client:
        state = models.StateDelta.from_dict({"topic": "returns", "user:name": "Ada"})
        created = create_session.sync(*at[:2], client=client, body=models.CreateSession(session_id=at[2], state=state))
        assert isinstance(created, models.WrittenSession), created
        assert created.revision == 0 and created.state.to_dict() == {"user:name": "Ada", "topic": "returns"}, created

        delta = models.StateDelta.from_dict({"step": 1, "price": 1.5})
        event = models.EventInput(id="e1", author="agent", timestamp=12.5, actions=models.ActionsInput(state_delta=delta))
        first = append_events.sync_detailed(*at, client=client, body=event, if_match='"0"')
        assert isinstance(first.parsed, models.Event) and first.status_code == 201, first
        assert first.parsed.sequence == 1 and first.parsed.timestamp == 12.5, first
        again = append_events.sync_detailed(*at, client=client, body=event)
        assert again.parsed == first.parsed and again.status_code == 200, again
        stale = append_events.sync(*at, client=client, body=models.EventInput(author="agent"), if_match='"0"')
        assert isinstance(stale, models.Problem), stale
        assert (stale.status, stale.code, stale.revision) == (412, "revision_mismatch", 1), stale
        assert stale.outcome == "not_applied" and stale.request_id, stale
        several = append_events.sync(
            *at, client=client, body=[models.EventInput(author="user"), models.EventInput(author="agent")]
        )
        assert isinstance(several, list) and [event.sequence for event in several] == [2, 3], several
        partial = append_events.sync(*at, client=client, body=models.EventInput(author="agent", partial=True))
        assert isinstance(partial, models.EventInput) and partial.partial is True, partial

        increment = models.StateOp(op=models.StateOpOp.INCREMENT, key="step", value=2)
        patched = patch_state.sync(*at, client=client, body=models.PatchState(state_ops=[increment]))
        expected: dict[str, Any] = {"user:name": "Ada", "price": 1.5, "step": 3, "topic": "returns"}
        assert isinstance(patched, models.State) and patched.to_dict() == expected, patched
        put_state_key.sync(*at, "app:tax", client=client, body=[1, None])
        assert get_state_key.sync(*at, "app:tax", client=client) == [1, None]
        rendered = render_template.sync(*at, client=client, body=models.Render(template="{user:name}: {step}"))
        assert isinstance(rendered, models.Rendered) and rendered.text == "Ada: 3", rendered

        read = get_session.sync(*at, client=client)
        assert isinstance(read, models.Session), read
        assert read.revision == len(read.events) == 5 and read.events[0] == first.parsed, read
        assert read.state.to_dict() == {"app:tax": [1, None], **expected}, read
        page = list_events.sync(*at, client=client, after_sequence=1, page_size=2)
        assert isinstance(page, models.EventList) and page.next_page_token, page
        assert [event.sequence for event in page.events] == [2, 3], page
        listed = list_sessions.sync(*at[:2], client=client, include_state=True)
        assert isinstance(listed, models.SessionList), listed
        assert [(found.id, found.state) for found in listed.sessions] == [("s1", read.state)], listed

        assert delete_session.sync_detailed(*at, client=client).status_code == 204
        gone = get_session.sync(*at, client=client)
        assert isinstance(gone, models.Problem) and gone.code == "session_not_found", gone


def main() -> None:
    # As Ctrl-C: what was started ends, too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    binary = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(prefix="sessiond-openapi-") as name:
        folder = Path(name)
        generate(binary, folder)
        with server(binary, folder) as url:
            use(url)
    print("The client that openapi-python-client makes of the description works.")


if __name__ == "__main__":
    main()
