"""The example does what its README, and that of the repository, show."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from .support.process import Server

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "examples/adk-python"


@pytest.mark.parametrize(("readme", "number"), [(EXAMPLE / "README.md", 3), (ROOT / "README.md", 1)])
def test_the_example_prints_its_transcript(own_server: Server, readme: Path, number: int) -> None:
    runs = re.findall(r"^\$ \.venv/bin/python (.*)\n((?:.+\n)+)", readme.read_text(), re.MULTILINE)
    assert len(runs) == number
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
