"""A PostgreSQL of the tests, in a temporary folder; or databases on the server that TEST_DATABASE_URL names.

`python -m tests.support.postgres COMMAND...` runs a command with one server for all of its processes.
"""

import atexit
import os
import re
import shutil
import subprocess
import sys
import tempfile
import uuid
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

from .process import free_port


def database() -> str:
    """Gives the URL of a fresh database. It goes with the server; on that of TEST_DATABASE_URL it stays."""
    return _create_database(os.environ.get("TEST_DATABASE_URL") or _server())


def _create_database(server: str) -> str:
    name = f"sessiond_test_{uuid.uuid4().hex}"
    psql = shutil.which("psql", path=f"{_bin()}{os.pathsep}{os.environ['PATH']}")
    assert psql, "psql, which comes with PostgreSQL, is not installed"
    create = f"CREATE DATABASE {name} ENCODING 'UTF8' TEMPLATE template0"
    subprocess.run([psql, "--no-psqlrc", "--quiet", "--dbname", server, "--command", create], check=True)
    return urlsplit(server)._replace(path=f"/{name}").geturl()


# Starts the server of the programs `$1` with the options `$2`, tells so, and ends it when the tests end, be it by
# SIGKILL: then the pipe ends from which it reads. It leads a session of its own, for Ctrl-C not to end it before.
_GUARD = """
trap '' PIPE
if "$1/initdb" -D data -U postgres --auth=trust --encoding=UTF8 --locale=C --no-sync >guard.log 2>&1 </dev/null &&
    "$1/pg_ctl" start -w -D data -l server.log -o "$2" >>guard.log 2>&1 </dev/null
then
    echo started
    read -r _
    "$1/pg_ctl" stop -w -m immediate -D data >>guard.log 2>&1 </dev/null
else
    cat guard.log server.log
fi
cd / && rm -rf "$3"
"""


@cache
def _server() -> str:
    """Starts the server, which all tests of this process share: its URL."""
    # PostgreSQL refuses to run as root.
    user = "postgres" if os.geteuid() == 0 else None
    folder = tempfile.mkdtemp(prefix="sessiond-adk-pg-")
    if user:
        shutil.chown(folder, user)
    port = free_port()
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off"
    guard = subprocess.Popen(
        ["sh", "-c", _GUARD, "guard", str(_bin()), options, folder],
        user=user,
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        start_new_session=True,
    )
    atexit.register(guard.communicate)
    assert guard.stdout
    said = guard.stdout.readline()
    assert said == "started\n", said + guard.stdout.read()
    return f"postgres://postgres@127.0.0.1:{port}/postgres"


def _bin() -> Path:
    """Where the server's programs are: the newest of the usual places, else what is on the PATH."""
    places = [
        *Path("/usr/lib/postgresql").glob("*/bin"),
        *Path("/usr").glob("pgsql-*/bin"),
        *Path("/usr/local").glob("pgsql*/bin"),
        *Path("/opt/homebrew/opt").glob("postgresql*/bin"),
    ]
    found = [place for place in places if (place / "initdb").is_file()]
    if found:
        return max(found, key=lambda place: int((re.findall(r"\d+", str(place)) or ["0"])[-1]))
    on_path = shutil.which("initdb")
    assert on_path, "PostgreSQL is not installed: install it (apt-get install postgresql), or set TEST_DATABASE_URL"
    return Path(on_path).resolve().parent


if __name__ == "__main__":
    if not os.environ.get("TEST_DATABASE_URL"):
        os.environ["TEST_DATABASE_URL"] = _server()
    sys.exit(subprocess.run(sys.argv[1:], check=False).returncode)
