"""The examples, and the code that docs/frameworks.md shows."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
EXAMPLES = ROOT / "examples/frameworks-python"


def example_prints_its_transcript(script: str, url: str) -> None:
    runs = re.findall(
        rf"^\$ \S+/bin/python ({script} .*)\n((?:[^$`].*\n)+)",
        (EXAMPLES / "README.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    assert runs
    for arguments, shown in runs:
        ran = subprocess.run(
            [sys.executable, *shlex.split(arguments)],
            cwd=EXAMPLES,
            env={**os.environ, "SESSIOND_URL": url},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        assert ran.stdout == shown


def code(heading: str) -> str:
    """The Python of a section of docs/frameworks.md."""
    page = (ROOT / "docs/frameworks.md").read_text(encoding="utf-8")
    (section,) = re.findall(rf"^## {heading}\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    (block,) = re.findall(r"^```python\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    return str(block)
