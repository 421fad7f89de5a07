"""Does what a newcomer does when a release is published, with registries on this machine beside the public ones. Run by
scripts/publish-check, with a folder in which `dist` has the files of a release.

Each newcomer begins in an empty folder, or with the program of an example, installs a package by its package manager, by the line that its
page prints, and runs the program of the page, against a server that pip has installed. It has to print what the page says.
"""

import base64
import contextlib
import functools
import hashlib
import http.server
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tarfile
import textwrap
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "printed"))
from printed import HERE, filled, transcript

ROOT = Path(__file__).resolve().parents[2]
WORK = Path(sys.argv[1])
UV = os.environ["UV"]
CACHE = Path(os.environ["SESSIOND_CACHE"])
# Under a name of its own: what package managers remember of an address is not of another run.
REGISTRY = WORK / "registry" / WORK.name
# The oldest and the newest that the packages are for; a newcomer whose name begins with the language comes with each.
VERSIONS = {"python": ("3.10", "3.14"), "typescript": ("20", "22")}

Newcomer = Callable[[Path], None]
newcomers: list[Newcomer] = []


# -- the registries
def serve_registry() -> str:
    """Lays out the files of a release as the registries of PyPI, npm, crates.io and Maven serve them, and serves them."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    handler = functools.partial(Quiet, directory=str(WORK / "registry"))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/{WORK.name}"
    for file in (WORK / "dist").iterdir():
        if file.suffix == ".whl" or re.fullmatch(r"\w+-[\d.]+\.tar\.gz", file.name):
            put(file, "simple/" + file.name.split("-")[0].replace("_", "-"))
        elif file.suffix in (".jar", ".pom"):
            (name,) = re.findall(r"^(.+?)-(\d[\d.]*\d)", file.name)
            put(file, "maven/dev/sessiond/" + "/".join(name))
        elif file.suffix == ".crate":
            put(file, "crates")
            index_crate(file, url)
        elif file.suffix == ".tgz":
            index_npm(file, url)
    return url


def put(file: Path, folder: str) -> None:
    (REGISTRY / folder).mkdir(parents=True, exist_ok=True)
    shutil.copy(file, REGISTRY / folder)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def index_npm(file: Path, url: str) -> None:
    with tarfile.open(file) as archive:
        # The Helm chart has the same suffix.
        if "package/package.json" not in archive.getnames():
            return
        package = json.load(archive.extractfile("package/package.json"))  # type: ignore[arg-type]
    put(file, "npm")
    integrity = "sha512-" + base64.b64encode(hashlib.sha512(file.read_bytes()).digest()).decode()
    package["dist"] = {"tarball": f"{url}/npm/{file.name}", "integrity": integrity}
    version = package["version"]
    index = {"name": package["name"], "dist-tags": {"latest": version}, "versions": {version: package}}
    write(REGISTRY / "npm" / package["name"], json.dumps(index))


def index_crate(file: Path, url: str) -> None:
    with tarfile.open(file) as archive:
        archive.extractall(WORK / "crate", filter="data")
    (folder,) = (WORK / "crate").iterdir()
    (package,) = json.loads(run("cargo metadata --no-deps --format-version 1", folder))["packages"]
    needs = [
        {
            **{key: each[key] for key in ("name", "req", "features", "optional", "target")},
            "default_features": each["uses_default_features"],
            "kind": "normal",
            "registry": each["source"].removeprefix("registry+"),
        }
        for each in package["dependencies"]
        if each["kind"] is None
    ]
    sum = hashlib.sha256(file.read_bytes()).hexdigest()
    name, version = package["name"], package["version"]
    entry = {"name": name, "vers": version, "deps": needs, "cksum": sum, "features": {}, "yanked": False}
    write(REGISTRY / "crates" / name[:2] / name[2:4] / name, json.dumps(entry) + "\n")
    write(REGISTRY / "crates/config.json", json.dumps({"dl": url + "/crates/{crate}-{version}.crate"}))


# -- what pages print
def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def line(name: str, beginning: str) -> str:
    """The first line of a page that begins so."""
    found = re.search(rf"^{re.escape(beginning)}.*$", page(name), re.MULTILINE)
    assert found, f"{name} does not say: {beginning}"
    return found[0]


def blocks(name: str, language: str = "") -> list[str]:
    return [text for found, text in re.findall(r"^```(\w*)\n(.*?)^```", page(name), re.MULTILINE | re.DOTALL) if found == language]


def story(name: str) -> tuple[str, str]:
    """The first command behind a `$`, and what it prints."""
    told = re.search(r"^\$ (.*)\n((?:[^$`\n].*\n)+)", page(name), re.MULTILINE)
    assert told, f"{name} shows no command"
    return told[1], told[2]


# -- the machine
def run(command: str, folder: Path, **env: str) -> str:
    """What a command, as it is typed, prints."""
    ran = subprocess.run(
        ["bash", "-euc", command], cwd=folder, env={**os.environ, **env}, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", check=False
    )
    assert ran.returncode == 0, f"{command}: exit status {ran.returncode}\n{ran.stdout[-4000:]}{ran.stderr[-4000:]}"
    return ran.stdout


def says(expected: str, command: str, folder: Path, **env: str) -> None:
    # Maven resets colours that it was told not to use.
    said = run(command, folder, **env).replace("\x1b[0m", "")
    # White space at the ends of lines is not seen in a page.
    assert [line.rstrip() for line in said.splitlines()] == [line.rstrip() for line in expected.splitlines()], (
        f"{command} says\n{said}instead of\n{expected}"
    )


@contextlib.contextmanager
def sessiond(program: Path, folder: Path) -> Iterator[str]:
    """A server with a new database; it has to end well."""
    env = {**os.environ, "SESSIOND_LISTEN": "127.0.0.1:0", "SESSIOND_METRICS_LISTEN": "off", "SESSIOND_LOG_FORMAT": "json"}
    folder.mkdir()
    log = folder / "log"
    with log.open("w") as stderr, subprocess.Popen([program], cwd=folder, env=env, stderr=stderr) as process:
        try:
            while not (listening := re.search(r"127\.0\.0\.1:[1-9]\d*", log.read_text())):
                assert process.poll() is None, log.read_text()
                time.sleep(0.05)
            with urllib.request.urlopen(f"http://{listening[0]}/readyz"):
                pass
            yield f"http://{listening[0]}"
        finally:
            process.terminate()
        assert process.wait() == 0, log.read_text()


def copy(example: str, folder: Path) -> None:
    """The files of an example, as git knows them."""
    run(f"git ls-files -z | tar -c --null --verbatim-files-from -T - | tar -x -C {shlex.quote(str(folder))}", ROOT / example)


def tell(story: str, path: Path) -> None:
    """Writes a story of tests/printed for the server."""
    write(path, filled(HERE / "stories" / story).replace("http://127.0.0.1:8080", os.environ["SESSIOND_URL"]))


def tell_python(story: str, folder: Path) -> None:
    # Under a name that is no package's.
    tell(story, folder / f"told_{story}")
    # The model of the tests, and the server's database.
    env = {"PYTHONPATH": str(ROOT / "clients/python"), "SESSIOND_BIN": str(PROGRAM), "DATABASE_URL": f"sqlite://{folder}.data/sessiond.db"}
    run(f".venv/bin/python told_{story}", folder, **env)


def have(language: str, version: str) -> bool:
    """Sees to it that a version of a language is used."""
    if language == "python":
        os.environ["UV_PYTHON"] = version
        ways = ([UV, "python", how, "--quiet", version] for how in ("find", "install"))
        return any(subprocess.run(way, capture_output=True, check=False).returncode == 0 for way in ways)
    node = f'npm exec --yes --package=node@{version} -- sh -c \'dirname "$(command -v node)"\''
    os.environ["PATH"] = run(node, WORK).strip() + os.pathsep + PATH
    return True


def newcomer(function: Newcomer) -> Newcomer:
    newcomers.append(function)
    return function


def pip(line: str, folder: Path) -> None:
    """A line of pip, in .venv, by uv: it takes a name from the first registry that has it, ours before the public one."""
    words = shlex.split(line)
    assert words[0].endswith("pip"), line
    if not (folder / ".venv").exists():
        run(f"{UV} venv --quiet .venv", folder)
    run(f"{UV} pip install --quiet --python .venv --index {URL}/simple {shlex.join(words[2:])}", folder)


# -- newcomers
@newcomer
def program_by_uvx(folder: Path) -> None:
    command = line("docs/install.md", "uvx ").split()[1]
    says(run(f"{PROGRAM} --version", folder), f"{UV} tool run --quiet --index {URL}/simple {command} --version", folder)


@newcomer
def program_by_hand(folder: Path) -> None:
    run(line("docs/install.md", "sha256sum"), WORK / "dist")
    version = run(f"{PROGRAM} --version", folder)
    unpack = next(block for block in blocks("docs/install.md") if block.startswith("tar -xzf ")).replace("VERSION", version.split()[1])
    for each in (WORK / "dist").glob("sessiond-*-linux-gnu.tar.gz"):
        shutil.copy(each, folder)
    assert run(unpack.rstrip("\n") + " --version", folder) == version


@newcomer
def bill_of_materials(folder: Path) -> None:
    run(f"git clone --quiet {ROOT} clone", folder)
    (command,) = [block for block in blocks("docs/install.md") if "packaging/sbom.py" in block]
    run(command + "test -s sessiond.cdx.json && test -s THIRD-PARTY.txt", folder / "clone")


@newcomer
def python_client(folder: Path) -> None:
    readme = "clients/python/client/README.md"
    pip(line(readme, "pip install"), folder)
    write(folder / "program.py", blocks(readme, "python")[0].replace("http://127.0.0.1:8080", os.environ["SESSIOND_URL"]))
    says(blocks(readme)[0], ".venv/bin/python program.py", folder)
    tell_python("client.py", folder)


@newcomer
def python_program_and_client(folder: Path) -> None:
    found = re.search(r"`(pip install 'sessiond\[client\]')`", page("docs/install.md"))
    assert found
    pip(found[1], folder)
    run(".venv/bin/sessiond --version && .venv/bin/python -c 'import sessiond'", folder)


@newcomer
def python_adk(folder: Path) -> None:
    copy("examples/adk-python", folder)
    pip(line("clients/python/adk/README.md", "pip install"), folder)
    command, printed = story("examples/adk-python/README.md")
    says(printed, command, folder)
    # It ends with a key, which the server then asks for.
    tell_python("adk.py", folder)


@newcomer
def python_kitchen(folder: Path) -> None:
    readme = "examples/client-python/README.md"
    copy("examples/client-python", folder)
    pip(line(readme, ".venv/bin/pip install"), folder)
    command, printed = story(readme)
    says(printed, command, folder)


@newcomer
def python_adk_import(folder: Path) -> None:
    readme = "clients/python/adk-import/README.md"
    pip(line(readme, "pip install"), folder)
    write(
        folder / "adk.py",
        textwrap.dedent("""\
            import asyncio
            from google.adk.events import Event
            from google.adk.sessions.sqlite_session_service import SqliteSessionService
            from google.genai.types import UserContent

            async def main():
                sessions = SqliteSessionService("agents.db")
                session = await sessions.create_session(app_name="cafe", user_id="ada", session_id="s1")
                await sessions.append_event(session, Event(author="user", content=UserContent("A green tea, please.")))

            asyncio.run(main())
            """),
    )
    run(".venv/bin/python adk.py", folder)
    # The address that is on the page is the default.
    to = f" --to {os.environ['SESSIOND_URL']}"
    for command in blocks(readme)[1].splitlines():
        run(".venv/bin/" + command.replace(" --to http://127.0.0.1:8080", "") + to, folder)
    with urllib.request.urlopen(os.environ["SESSIOND_URL"] + "/v1/apps/cafe/users/ada/sessions/s1") as answer:
        assert "A green tea, please." in answer.read().decode()


@newcomer
def python_langgraph(folder: Path) -> None:
    readme = "clients/python/langgraph-checkpoint/README.md"
    pip(line(readme, "pip install") + " langgraph", folder)
    # What the page leaves to the reader.
    given = textwrap.dedent("""\
        from langchain_core.messages import AIMessage, HumanMessage
        from langgraph.graph import START, MessagesState, StateGraph
        builder = StateGraph(MessagesState)
        builder.add_node("serve", lambda state: {"messages": [AIMessage("Coming up.")]})
        builder.add_edge(START, "serve")
        """)
    shown = "print([each.content for each in graph.get_state(config).values['messages']])\n"
    write(folder / "program.py", given + blocks(readme, "python")[0] + shown)
    says("['A green tea, please.', 'Coming up.']\n", ".venv/bin/python program.py", folder)
    tell_python("langgraph.py", folder)


@newcomer
def typescript_client(folder: Path) -> None:
    readme = "clients/typescript/client/README.md"
    write(folder / ".npmrc", f"@sessiond:registry={URL}/npm\n")
    run(line(readme, "npm install"), folder)
    write(folder / "example.mjs", blocks(readme, "js")[0].replace("http://127.0.0.1:8080", os.environ["SESSIOND_URL"]))
    says(blocks(readme)[0], "node example.mjs", folder)
    tell("client.mjs", folder / "client.mjs")
    run("node client.mjs", folder)


@newcomer
def typescript_kitchen(folder: Path) -> None:
    readme = "examples/client-typescript/README.md"
    copy("examples/client-typescript", folder)
    write(folder / ".npmrc", f"@sessiond:registry={URL}/npm\n")
    run(blocks(readme)[0], folder)
    command, printed = story(readme)
    says(printed, command, folder)


@newcomer
def typescript_langgraph(folder: Path) -> None:
    readme = "examples/frameworks-typescript/README.md"
    copy("examples/frameworks-typescript", folder)
    write(folder / ".npmrc", f"@sessiond:registry={URL}/npm\n")
    run(blocks(readme)[0] + line(readme, "npm install @langchain"), folder)
    tell("langgraph.mjs", folder / "langgraph.mjs")
    run("node langgraph.mjs", folder)


@newcomer
def typescript_adk(folder: Path) -> None:
    readme = "examples/adk-typescript/README.md"
    copy("examples/adk-typescript", folder)
    write(folder / ".npmrc", f"@sessiond:registry={URL}/npm\n")
    run(line("clients/typescript/adk/README.md", "npm install"), folder)
    tell("adk.ts", folder / "src/pages.ts")
    run(blocks(readme)[0], folder)
    for block in blocks(readme):
        for command, printed in transcript(block):
            if "follow" in command:
                # It does not end.
                command = f"exec 3< <(exec setsid {command}); head -n {printed.count(chr(10)) + 1} <&3; kill -- -$!"
            says(printed, command, folder)
    says("as printed\n", "node dist/pages.js", folder)


@newcomer
def rust(folder: Path) -> None:
    readme = "examples/adk-rust/README.md"
    needs = blocks(readme, "toml")[0]
    asked = blocks("clients/rust/README.md", "toml")[0]
    assert asked in needs, "the example has another dependency than the page"
    write(folder / "Cargo.toml", f'[package]\nname = "cafe"\nversion = "0.1.0"\nedition = "2024"\ndefault-run = "cafe"\n[dependencies]\n{needs}')
    write(folder / "src/main.rs", page("clients/rust/examples/cafe.rs"))
    tell("pages.rs", folder / "src/bin/pages.rs")
    # crates.io has everything else; what is downloaded of it is shared, and what is here is of this run.
    name, version = asked.strip().split(" = ")
    write(
        folder / ".cargo/config.toml",
        f'registries.here.index = "sparse+{URL}/crates/"\npatch.crates-io.{name} = {{ version = {version}, registry = "here" }}\n',
    )
    home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    for kind in ("index", "cache", "src"):
        (folder / "home/registry" / kind).mkdir(parents=True)
        for each in (home / "registry" / kind).glob("*-*"):
            (folder / "home/registry" / kind / each.name).symlink_to(each)
    compiler = run("rustc --version", folder).split()[1]
    env = {
        "CARGO_HOME": str(folder / "home"),
        "CARGO_TARGET_DIR": str(CACHE / f"target-{compiler}" / "publish-check"),
        # Nobody looks for a fault with it.
        "CARGO_PROFILE_DEV_DEBUG": "0",
    }
    command, printed = story(readme)
    try:
        says(printed, command.replace(" --example cafe", ""), folder, **env)
        assert "Coming." in run("cargo run --quiet --bin pages", folder, **env)
    finally:
        run("cargo clean --quiet --package sessiond-adk --package cafe", folder, **env)


@newcomer
def go(folder: Path) -> None:
    readme = "examples/adk-go/README.md"
    copy("examples/adk-go", folder)
    # A module is the tree of its tag.
    get = line("clients/go/README.md", "go get ")
    module, version = get.split()[2].split("@")
    repository, path = module[: module.index("/clients")], module[module.index("clients") :]
    run(f"git clone --quiet --bare . {WORK}/go.git && git -C {WORK}/go.git tag --force {path}/{version} HEAD", ROOT)
    downloaded, proxy = run("go env GOMODCACHE GOPROXY", folder).split()
    env = {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.file://{WORK}/go.git.insteadOf",
        "GIT_CONFIG_VALUE_0": f"https://{repository}",
        "GOPRIVATE": repository,
        "GOMODCACHE": str(folder / "modules"),
        "GOPROXY": f"file://{downloaded}/cache/download,{proxy}",
        # So that what was compiled is known again, wherever the folder is.
        "GOFLAGS": "-trimpath",
    }
    run(f"go mod edit -dropreplace={module}", folder, **env)
    run(get, folder, **env)
    command, printed = story(readme)
    says(printed, command, folder, **env)
    for each in ("cafe", "readme"):
        tell(f"{each}.go", folder / f"pages/{each}/main.go")
    run("go vet ./pages/...", folder, **env)
    assert "Coming." in run("go run ./pages/cafe", folder, **env)
    # Without what go would leave behind.
    serve = line(readme, "go run ./serve").replace("go run ./serve", "./serve-program").replace("8000", PORT)
    ready = f"until curl --silent --fail --output serve.html http://localhost:{PORT}/ui/; do kill -0 $!; sleep 0.1; done; kill $!"
    run(f"go build -o serve-program ./serve; {serve} & {ready}", folder, **env)


@newcomer
def java(folder: Path) -> None:
    copy("examples/adk-java", folder)
    (dependency,) = [block for block in blocks("clients/java/README.md", "xml") if "dev.sessiond" in block]
    pom = (folder / "pom.xml").read_text()
    assert "".join(dependency.split()) in "".join(pom.split()), "the example has another dependency than the page"
    write(
        folder / "settings.xml",
        f"""<settings><activeProfiles><activeProfile>here</activeProfile></activeProfiles><profiles><profile><id>here</id>
        <repositories><repository><id>here</id><url>file://{REGISTRY}/maven</url></repository></repositories>
        </profile></profiles></settings>""",
    )
    # What was downloaded is kept, but for ours.
    local = CACHE / "publish-check-maven"
    shutil.rmtree(local / "dev/sessiond", ignore_errors=True)
    write(folder / ".mvn/maven.config", f"--settings={folder}/settings.xml\n-Dmaven.repo.local={local}\n")
    command, printed = story("examples/adk-java/README.md")
    for each in ("Pages", "Cafe"):
        tell(f"{each}.java", folder / f"src/main/java/pages/{each}.java")
    says(printed, command, folder)
    assert "Coming." in run("mvn -q compile exec:java -Dexec.mainClass=pages.Pages", folder)


if __name__ == "__main__":
    for name in ("PIP_DISABLE_PIP_VERSION_CHECK", "PYTHONDONTWRITEBYTECODE"):
        os.environ[name] = "1"
    for name in ("npm_config_audit", "npm_config_fund", "npm_config_update_notifier"):
        os.environ[name] = "false"
    URL = serve_registry()
    run("python3 -m venv program", WORK)
    install = line("docs/install.md", "pip install sessiond")
    run(f"program/bin/{install} --quiet --no-cache-dir --index-url {URL}/simple/", WORK)
    PROGRAM = WORK / "program/bin/sessiond"
    PATH = os.environ["PATH"]
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        PORT = str(listener.getsockname()[1])
    failed = []
    for each in newcomers:
        if sys.argv[2:] and each.__name__ not in sys.argv[2:]:
            continue
        language = each.__name__.split("_")[0]
        for version in VERSIONS.get(language, ("",)):
            name = f"{each.__name__}_{version}".rstrip("_")
            start = time.monotonic()
            if version and not have(language, version):
                print(f"== NOT RUN: {name.replace('_', ' ')}, as it is not there and cannot be installed", flush=True)
                failed += [name] * (os.environ.get("CI") == "true")
                continue
            folder = WORK / name
            folder.mkdir()
            try:
                with sessiond(PROGRAM, WORK / f"{name}.data") as url:
                    os.environ["SESSIOND_URL"] = url
                    each(folder)
            except (AssertionError, OSError) as error:
                print(f"error: {name}: {error}", flush=True)
                failed.append(name)
            print(f"== {time.monotonic() - start:.0f} s: {name.replace('_', ' ')}", flush=True)
        os.environ["PATH"] = PATH
        os.environ.pop("UV_PYTHON", None)
    sys.exit(1 if failed else 0)
