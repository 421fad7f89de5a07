"""Makes the synchronous client of the asynchronous one: `src/sessiond/_sync` of `src/sessiond/_async`.

    clients/python/.venv/bin/python clients/python/client/make_sync.py

What asyncio and threads do each in their way is in the two modules `io.py`, which are written by hand. A test compares
what is there with what this makes.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

SOURCES = Path(__file__).resolve().parent / "src/sessiond"
SETTINGS = Path(__file__).resolve().parents[1] / "pyproject.toml"

BY_HAND = {"__init__.py", "io.py"}

WORDS = [
    (r"\basync (def|with|for)\b", r"\1"),
    (r"\bawait ", ""),
    # Lines for the synchronous client alone.
    (r"# sync: ", ""),
    (r" \| Awaitable\[str\]", ""),
    (r"\bAsyncGenerator\[(\w+), None\]", r"Generator[\1, None, None]"),
    (r"\bAsync([A-Z]\w+)", r"\1"),
    (r"\basynccontextmanager\b", "contextmanager"),
    (r"\banext\b", "next"),
    (r"\b__a(enter|exit|iter)__\b", r"__\1__"),
    (r"\ba(iter_raw|close)\b", r"\1"),
    # What is told of event loops.
    (r"by several event loops and threads; each loop has its own connections", "by several threads"),
    (r", plain or `async`\. It is", ". It is"),
    (r"\. A plain function is called in a thread, so it\s+may block; an `async` one [^.]+", ""),
    (r", of whatever event loop and thread", ""),
    (r"Closes the connections of the running event loop", "Closes the connections"),
]


def sync(source: str) -> str:
    """Returns a synchronous module for an asynchronous one."""
    for pattern, word in WORDS:
        source = re.sub(pattern, word, source)
    return _ruff("format", _ruff("check", source, "--fix", "--select", "I,F401,UP028", "--unsafe-fixes"))


def made() -> dict[Path, str]:
    """Returns the modules of the synchronous client, by where they are."""
    return {
        SOURCES / "_sync" / module.name: f"# Made by make_sync.py, of _async/{module.name}.\n"
        + sync(module.read_text(encoding="utf-8"))
        for module in sorted(SOURCES.glob("_async/*.py"))
        if module.name not in BY_HAND
    }


def _ruff(command: str, source: str, *options: str) -> str:
    ruff = [sys.executable, "-m", "ruff", command, "--quiet", "--config", str(SETTINGS), *options]
    name = str(SOURCES / "_sync/module.py")
    ran = subprocess.run(
        [*ruff, "--stdin-filename", name, "-"], input=source, capture_output=True, encoding="utf-8", check=False
    )
    if ran.returncode:
        raise SystemExit(ran.stderr or ran.stdout)
    return ran.stdout


if __name__ == "__main__":
    for path, text in made().items():
        path.write_text(text, encoding="utf-8")
