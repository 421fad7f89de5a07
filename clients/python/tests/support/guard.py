"""A server that asks for a token."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Guard:
    """Answers `{}` to who shows a token that it takes, and 401 to others; of as many connections at once as come."""

    def __init__(self, *taken: str) -> None:
        self.url = ""
        self.taken = set(taken)
        self.requests: list[tuple[str, str]] = []
        """The token and the body of each request."""
        self.refused_together = threading.Barrier(1)
        """So many refusals wait for one another, before any is answered."""


class _Listener(ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True


@contextmanager
def guard(*taken: str) -> Iterator[Guard]:
    """Runs one that takes these tokens, at its `url`."""
    state = Guard(*taken)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0"))).decode()
            (shown,) = self.headers.get_all("Authorization") or [""]
            token = shown.removeprefix("Bearer ")
            state.requests.append((token, body))
            status, answer = 200, {}
            if token not in state.taken:
                state.refused_together.wait(60)
                status = 401
                answer = {"status": 401, "code": "unauthenticated", "detail": "no valid token", "requestId": "r1"}
            data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PUT = do_DELETE = _answer

        def log_message(self, format: str, *args: object) -> None:
            pass

    with _Listener(("127.0.0.1", 0), Handler) as listener:
        host, port = listener.server_address[:2]
        state.url = f"http://{host!s}:{port}"
        thread = threading.Thread(target=listener.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield state
        finally:
            listener.shutdown()
            thread.join()
