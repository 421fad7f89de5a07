"""Each fenced block of the pages is run by a test, or is in `elsewhere` with the reason why not; and the stories in sh and Python are told."""

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from printed import HERE, PLACE, ROOT, Block, block, blocks, filled, masked, pages, told, transcript

STORIES = sorted((HERE / "stories").iterdir())


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def quickstart() -> list[Block]:
    """What tests/it/quickstart.rs runs: the blocks of its pages that begin with a command which needs no environment of Python."""
    listed = re.search(r"TRANSCRIPTS: &\[&str\] =\s*&\[(.*?)\];", read("tests/it/quickstart.rs"), re.DOTALL)
    assert listed
    found = [each for page in re.findall(r'"(.+?)"', listed[1]) for each in blocks(page)]
    page = "docs/access.md"
    assert f'"{page}"' in read("tests/it/quickstart.rs")
    end = read(page).split("\n## A company's issuer\n")[0].count("\n")
    found += [each for each in blocks(page) if each.line < end]
    return [each for each in found if each.text.startswith("$ ") and not each.text.startswith("$ .venv/")]


def test_each_block_is_run_or_is_listed_with_the_reason_why_not() -> None:
    run = {each for story in STORIES for each in told(story)} | set(quickstart())
    left: set[Block] = set()
    for line in (HERE / "elsewhere").read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        page, text, how = line.split(" | ")
        text = text.replace(r"\n", "\n")
        found = {each for each in blocks(page) if text in each.text}
        if how.startswith("run by "):
            # The test names the page.
            test = read(how.removeprefix("run by "))
            named = [page, page.removeprefix("docs/")] + ["README.md"] * page.endswith("README.md")
            assert any(name in test for name in named), line
            found -= run
            run |= found
        else:
            assert how.startswith("not run: "), line
            found -= left
            left |= found
        assert found, f"no block, or none that is not run anyway: {line}"
    assert not run & left, "listed, though it is run: " + ", ".join(map(str, run & left))
    missing = {each for page in pages() for each in blocks(page)} - run - left
    assert not missing, "neither run nor listed in tests/printed/elsewhere:\n" + "\n".join(sorted(map(str, missing)))


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


# `sessiond` without a subcommand is the server, in the background, with all that it prints in `log`. It takes the place of the one before.
# It has to end well.
SH = r"""
set -euo pipefail
server=
stop() { [ -z "$server" ] || { kill "$server" && wait "$server"; }; server=; }
trap 'status=$?; stop || status=$?; exit $status' EXIT
sessiond() { run_sessiond "$@"; }
run_sessiond() {
    case ${1:-} in
        '' | --*)
            stop
            "$SESSIOND_BIN" "$@" >>log 2>&1 &
            server=$!
            until command curl --silent --fail --output /dev/null "$SESSIOND_URL/readyz"; do
                kill -0 "$server" 2>/dev/null || { cat log; return 1; }
                sleep 0.05
            done
            ;;
        *) "$SESSIOND_BIN" "$@" ;;
    esac
}
curl() { command curl --silent --show-error "$@"; }
"""


def script(story: Path) -> tuple[str, list[str]]:
    """A story in sh, in which what a page says that a command prints goes into files; and what should be in each of them."""
    shown: list[str] = []

    def into(command: str, printed: str) -> str:
        shown.append(printed)
        return f"{{ {command}\n}} >said.{len(shown) - 1} 2>&1"

    def fill(place: re.Match[str]) -> str:
        _, before, page, text, background = place.groups()
        said = block(page, text).text
        if before:
            return into(before.strip(), said)
        if said.startswith("$ "):
            return "\n".join(into(*each) for each in transcript(said))
        return said.rstrip("\n") + (background or "")

    filled = PLACE.sub(fill, story.read_text(encoding="utf-8"))
    # As curl before 7.82 has it.
    return filled.replace("--json ", "-H 'content-type: application/json' -d "), shown


@pytest.mark.parametrize(
    "story", [each for each in STORIES if each.suffix in (".sh", ".py")], ids=lambda story: story.name
)
def test_story(story: Path, tmp_path: Path) -> None:
    needs = re.findall(r"^# needs: (\w+)$", story.read_text(encoding="utf-8"), re.MULTILINE)
    for tool in needs:
        if not (os.environ.get("SESSIOND_ALL") if tool == "all" else shutil.which(tool)):
            pytest.skip(f"needs {tool}")
    port, other = free_port(), free_port()
    database = urlsplit(os.environ["TEST_DATABASE_URL"])
    env = {
        **os.environ,
        "ROOT": str(ROOT),
        "SESSIOND_URL": f"http://127.0.0.1:{port}",
        "SESSIOND_LISTEN": f"127.0.0.1:{port}",
        "SESSIOND_METRICS_LISTEN": "off",
        "SESSIOND_LOG": "warn",
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        # Whatever name a page gives to the machine with PostgreSQL.
        "PGHOSTADDR": database.hostname or "",
        "PGPORT": str(database.port or 5432),
        "USER": database.username or "",
        "PGUSER": database.username or "",
        "PGPASSWORD": database.password or "",
    }
    ours = {"8080": str(port), "5173": str(other), "8000": str(other)}

    def here(text: str) -> str:
        return re.sub("|".join(ours), lambda found: ours[found[0]], text)

    if story.suffix == ".py":
        program = f'. "{tmp_path}/sh"\nsessiond\npython3 ../story.py'
        (tmp_path / "story.py").write_text(here(filled(story)), encoding="utf-8")
        shown: list[str] = []
    else:
        program, shown = script(story)
        program = here(program)
    (tmp_path / "sh").write_text(SH, encoding="utf-8")
    (tmp_path / "story").write_text(f'. "{tmp_path}/sh"\n{program}', encoding="utf-8")
    work = tmp_path / "work"
    work.mkdir()
    output = tmp_path / "output"
    with output.open("w") as out:
        bash = subprocess.Popen(
            ["bash", str(tmp_path / "story")],
            cwd=work,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
        try:
            status = bash.wait(1800)
        finally:
            # All that it has left behind.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(bash.pid, signal.SIGTERM)
    log = (work / "log").read_text(encoding="utf-8") if (work / "log").exists() else ""
    assert status == 0, output.read_text(encoding="utf-8") + log[-4000:]
    for number, printed in enumerate(shown):
        said = (work / f"said.{number}").read_text(encoding="utf-8")
        said = "".join(line for line in said.splitlines(keepends=True) if not line.startswith("database: "))
        assert masked(said) == masked(here(printed))
