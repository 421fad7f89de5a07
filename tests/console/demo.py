"""The demo: a week of a shop's agents, written by examples/demo.sh."""

import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def fill(server):
    """What the script prints."""
    environment = {**os.environ, "SESSIOND_URL": server.url, "SESSIOND_TOKEN": server.key}
    return subprocess.run([ROOT / "examples/demo.sh"], env=environment, check=True, capture_output=True, text=True).stdout
