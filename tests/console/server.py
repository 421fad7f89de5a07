"""A sessiond with a database of its own, and a plain HTTP client for its API."""

import http.client
import json
import os
import re
import socket
import subprocess
import time
from urllib.parse import quote, urlencode

PATIENCE = 30


def until(what, condition):
    """The first result of the condition that is true. Fails if there is none in time."""
    limit = time.monotonic() + PATIENCE
    while not (result := condition()):
        assert time.monotonic() < limit, f"waited in vain: {what}"
        time.sleep(0.02)
    return result


def path(*names):
    """`/v1/...`, each name one segment."""
    return "/v1/" + "/".join(quote(name, safe="") for name in names)


class Answer:
    def __init__(self, status, headers, bytes):
        self.status, self.headers, self.bytes = status, headers, bytes

    @property
    def text(self):
        return self.bytes.decode()

    @property
    def json(self):
        return json.loads(self.text)

    @property
    def tag(self):
        return self.headers["etag"]


class Api:
    """Requests to a server, with a credential if there is one. A body that is a string is JSON; bytes have the type that the headers say."""

    def __init__(self, port, credential=""):
        self.port, self.credential = port, credential

    def send(self, method, address, body=None, headers=None):
        """The answer, whatever it is."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        sent = dict(headers or {})
        if body is not None and not isinstance(body, bytes):
            sent["content-type"] = "application/json"
            body = (body if isinstance(body, str) else json.dumps(body)).encode()
        if self.credential:
            sent["authorization"] = f"Bearer {self.credential}"
        try:
            connection.request(method, address, body, sent)
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())
        finally:
            connection.close()

    def ask(self, method, address, body=None, headers=None):
        """The answer, which is a success."""
        answer = self.send(method, address, body, headers)
        assert answer.status < 300, f"{method} {address}: {answer.status} {answer.text}"
        return answer

    def get(self, address):
        return self.ask("GET", address)

    def post(self, address, body=None):
        return self.ask("POST", address, body)

    def save(self, of, name, content, type=None, **query):
        """Saves a version of a file of a session or a user, whose path it is: what the answer says of it."""
        address = f"{of}/artifacts/{quote(name, safe='')}"
        if query:
            address += f"?{urlencode(query)}"
        return self.ask("PUT", address, content, {"content-type": type} if type is not None else {}).json

    def session(self, app, user="ada", id="s1", **body):
        """Makes a session: its path."""
        self.post(path("apps", app, "users", user, "sessions"), {"sessionId": id, **body})
        return path("apps", app, "users", user, "sessions", id)

    def append(self, session, *events):
        """Appends events, in batches."""
        for start in range(0, len(events), 1000):
            self.post(f"{session}/events", list(events[start : start + 1000]))


def event(id, author="agent", text=None, delta=None, ops=None, **fields):
    actions = {name: value for name, value in {"stateDelta": delta, "stateOps": ops}.items() if value is not None}
    content = {"content": {"role": "model", "parts": [{"text": text}]}} if text is not None else {}
    return {"id": id, "author": author, **content, **({"actions": actions} if actions else {}), **fields}


class Server:
    """Its flags are those of `sessiond serve`. With `--require-auth`, `api` has a key of role admin. `keyed`: a database and its key, to begin with."""

    def __init__(self, folder, *flags, keyed=None):
        self.folder, self.flags, self.key = folder, flags, ""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        if "--require-auth" in flags:
            self._copy(keyed or self._new_keyed())
        self.api = Api(self.port, self.key)
        self.start()

    def _copy(self, keyed):
        content, self.key = keyed
        (self.folder / "data.db").touch(0o600)  # it has secrets
        (self.folder / "data.db").write_bytes(content)

    def keyed(self):
        """Its database, and its key. It is stopped."""
        self.stop()
        return self._content(), self.key

    def _content(self):
        assert not list(self.folder.glob("data.db-*")), "what has stopped leaves one file"
        return (self.folder / "data.db").read_bytes()

    first = None  # an empty database and its key: to make these takes longer than all the rest

    def _new_keyed(self):
        if Server.first is None:
            # A command for keys makes no database.
            subprocess.run([*self._command, "migrate"], env=self._environment, check=True, capture_output=True)
            key = self.new_key("--role=admin")
            Server.first = self._content(), key
        return Server.first

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    @property
    def _environment(self):
        ours = {name: value for name, value in os.environ.items() if not re.match(r"SESSIOND_|DATABASE_URL|PG", name)}
        # A busy machine may take longer to open a file than a server should.
        return {**ours, "SESSIOND_ACQUIRE_TIMEOUT": "20s"}

    @property
    def _command(self):
        return [os.environ["SESSIOND_BIN"], "--database-url", f"sqlite://{self.folder}/data.db"]

    def new_key(self, *flags):
        """A key, made by the command line; of all apps and of a name like others, unless the flags say so."""
        given = {flag.partition("=")[0] for flag in flags}
        flags = (*flags, *(flag for flag in ("--name=a test", "--apps=*") if flag.partition("=")[0] not in given))
        run = subprocess.run(
            [*self._command, "keys", "create", *flags], env=self._environment, check=True, capture_output=True, text=True
        )
        return run.stdout.strip()

    def as_key(self, *flags):
        return self.as_token(self.new_key(*flags))

    def as_token(self, credential):
        return Api(self.port, credential)

    def start(self):
        command = [*self._command, "serve", f"--listen=127.0.0.1:{self.port}", "--metrics-listen=off", *self.flags]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self._environment)
        until("the server is ready", self._is_ready)

    def _is_ready(self):
        assert self.process.poll() is None, (self.folder / "log").read_text()
        try:
            return self.api.send("GET", "/readyz").status == 200
        except OSError:
            return False

    def stop(self):
        self.process.terminate()
        self.process.wait(PATIENCE)

    def kill(self):
        self.process.kill()
        self.process.wait(PATIENCE)
