"""Copies the documents of a release into a folder, with every link in them leading to a file that is there.

    documents.py FOLDER

README.md, CHANGELOG.md, LICENSE, openapi.yaml, openapi-adk.yaml, docs/ and ops/, as git knows them. A link to a file that stays
in the repository (sources, clients, examples) becomes the text that it had.
"""

import re
import subprocess
import sys
from pathlib import Path
from posixpath import dirname, join, normpath

WHAT = ["README.md", "CHANGELOG.md", "LICENSE", "openapi.yaml", "openapi-adk.yaml", "docs", "ops"]
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|#")
# An image is a link with a mark before it.
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")


def unlinked(text: str, name: str, names: set[str]) -> str:
    """The text of a document without its links to what is not among the names."""

    def link(match: re.Match[str]) -> str:
        target = match[3].split("#")[0]
        if ELSEWHERE.match(match[3]):
            return match[0]
        path = normpath(join(dirname(name), target))
        is_there = path in names or any(other.startswith(path + "/") for other in names)
        return match[0] if is_there else match[2]

    return LINK.sub(link, text)


def main() -> None:
    out = Path(sys.argv[1])
    listed = subprocess.run(["git", "ls-files", "-z", *WHAT], check=True, capture_output=True, text=True, encoding="utf-8")
    names = set(listed.stdout.split("\0")) - {""}
    for name in sorted(names):
        data = Path(name).read_bytes()
        if name.endswith(".md"):
            data = unlinked(data.decode(), name, names).encode()
        target = out / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        target.chmod(0o644)


if __name__ == "__main__":
    main()
