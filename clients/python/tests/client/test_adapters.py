"""The adapters of frameworks, where none of these is installed: their tests are in tests/adapters."""

import subprocess
import sys

import pytest

ADAPTERS = {"openai": "agents", "claude": "claude_agent_sdk", "strands": "strands", "pydantic-ai": "pydantic_ai"}


@pytest.mark.parametrize("extra", ADAPTERS)
def test_an_adapter_says_which_extra_is_missing(extra: str) -> None:
    blocked = f"import sys; sys.modules[{ADAPTERS[extra]!r}] = None; import sessiond.{extra.replace('-', '_')}"
    ran = subprocess.run([sys.executable, "-c", blocked], capture_output=True, encoding="utf-8", check=False)
    assert f"pip install 'sessiond-client[{extra}]'" in ran.stderr.splitlines()[-1]
