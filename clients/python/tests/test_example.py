"""The example does what its README shows."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from .support.process import Server

EXAMPLE = Path(__file__).resolve().parents[3] / "examples/adk-python"


def test_the_example_prints_its_transcript(own_server: Server) -> None:
    runs = re.findall(r"^\$ \.venv/bin/python (.*)\n((?:.+\n)+)", (EXAMPLE / "README.md").read_text(), re.MULTILINE)
    assert len(runs) == 3
    for arguments, shown in runs:
        ran = subprocess.run(
            [sys.executable, *shlex.split(arguments)],
            cwd=EXAMPLE,
            env={**os.environ, "SESSIOND_URL": own_server.url},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        assert ran.stdout == shown.removesuffix("```\n")
