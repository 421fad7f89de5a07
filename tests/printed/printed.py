"""The fenced blocks of the pages, and the programs that run them.

A story is a program in `stories` with the lines that a page leaves to its reader. In it `<<< PAGE: TEXT` stands for the block of that page
that has this text, as it is printed.
"""

import functools
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PLACE = re.compile(r"^([ \t]*)(.*?)(?:<<<|>>>) ([\w/.-]+\.md): (.*?)( &)?$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    page: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}: {self.text.splitlines()[0]}"


def pages() -> list[str]:
    found = ["README.md", "docs/*.md", "examples/*README.md", "clients/*README.md"]
    listed = subprocess.run(["git", "ls-files", *found], cwd=ROOT, capture_output=True, encoding="utf-8", check=True)
    return listed.stdout.split()


@functools.cache
def blocks(page: str) -> list[Block]:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert not re.search(r"^[ \t]+```|^~~~", text, re.MULTILINE), (
        f"{page}: a block is fenced by ``` at the beginning of a line"
    )
    found = re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [Block(page, text.count("\n", 0, each.start()) + 1, each[1], each[2]) for each in found]


def block(page: str, text: str) -> Block:
    found = [each for each in blocks(page) if each.text == text + "\n"] or [
        each for each in blocks(page) if text in each.text
    ]
    assert len(found) == 1, f"{page} has {len(found)} blocks with: {text}"
    return found[0]


def told(story: Path) -> list[Block]:
    """The blocks of a story."""
    return [block(place[3], place[4]) for place in PLACE.finditer(story.read_text(encoding="utf-8"))]


def filled(story: Path) -> str:
    """A story with its blocks. Their imports go to where it says `<<< imports`, for languages that want these at the beginning."""
    text = story.read_text(encoding="utf-8")
    imports: dict[str, None] = {}

    def fill(place: re.Match[str]) -> str:
        # `{ … }` is what a reader does there.
        lines = re.sub(r"\{ (…|\.\.\.) \}", "{ }", block(place[3], place[4]).text).splitlines()
        if "<<< imports" in text:
            for line in [line for line in lines if line.startswith("import ")]:
                # Each name once, though several blocks have it.
                names = re.match(r"import \{ (.+) \} from (\S+);", line)
                found = [f"import {{ {name} }} from {names[2]};" for name in names[1].split(", ")] if names else [line]
                imports.update(dict.fromkeys(found))
            lines = [line for line in lines if not line.startswith("import ")]
        return "\n".join(place[1] + line if line else line for line in lines)

    return PLACE.sub(fill, text).replace("<<< imports", "\n".join(imports))


def transcript(text: str) -> list[tuple[str, str]]:
    """The commands behind a `$`, and what each prints."""
    found: list[tuple[str, str]] = []
    for line in text.splitlines(keepends=True):
        if line.startswith("$ "):
            found.append((line[2:], ""))
        elif found and found[-1][0].endswith("\\\n"):
            found[-1] = (found[-1][0] + line, "")
        elif found:
            found[-1] = (found[-1][0], found[-1][1] + line)
    return [(command.rstrip("\n"), printed.rstrip("\n")) for command, printed in found]


def masked(text: str) -> str:
    """Without what is another one each time: times, generated ids, digests, keys, tokens; and without white space at the ends of lines, which
    is not seen in a page."""
    changing = r"\d{10}\.\d{6}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\bsd[ku]_[\w.-]+|\b[0-9a-f]{16,}\b|\b[a-z2-7]{12}\b|\b[\w-]{43}\b|(?<=:)1\d{9}\b"
    return "\n".join(re.sub(changing, "*", line.rstrip()) for line in text.strip().splitlines())
