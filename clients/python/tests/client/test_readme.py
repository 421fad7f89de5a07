"""What the documents show runs as it stands there, and prints what they say."""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from ..support.process import Server

ROOT = Path(__file__).resolve().parents[4]
README = (ROOT / "clients/python/client/README.md").read_text(encoding="utf-8")
EXAMPLE = ROOT / "examples/client-python"


async def test_the_readme(own_server: Server) -> None:
    printed = io.StringIO()
    names: dict[str, object] = {"__name__": "readme"}
    blocks = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    with contextlib.redirect_stdout(printed):
        for block in blocks:
            if "app:open" in block:
                exec('s.set("app:open", True)', names)
            exec(block.replace("http://127.0.0.1:8080", own_server.url), names)
            if "async def main" in block:
                await names["main"]()  # type: ignore[operator]
    (first,) = re.findall(r"^It prints, the first time:\n\n```\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    assert printed.getvalue().startswith(first)
    assert printed.getvalue().endswith("b'One green tea'\n14\n[('receipt.txt', 1)]\n")


def test_the_example(own_server: Server) -> None:
    text = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    runs = re.findall(r"^\$ \.venv/bin/python (.*)\n((?:(?!\$|```).+\n)*)", text, re.MULTILINE)
    assert len(runs) == 4
    env = {**os.environ, "SESSIOND_URL": own_server.url}
    for command, shown in runs:
        ran = subprocess.run(
            [sys.executable, *shlex.split(command)], cwd=EXAMPLE, env=env, capture_output=True, encoding="utf-8"
        )
        assert (ran.stdout, ran.returncode) == (shown, 0), ran.stderr
