#!/usr/bin/env python3
"""How many instructions PostgreSQL executes for an append and for a read, compared with bench/instructions.json.

Times differ from machine to machine and from minute to minute; instructions do not, so a check can hold them. They are counted
by valgrind (callgrind) in a single-user backend, within the functions that append and within EXECUTE of the statements that read.
The functions are those of migrations/postgres, the statements those of docs/sql/postgres.sql, the rows those of
yardsticks/setup.sql. Run by scripts/instructions.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from lab import PLANS, PostgreSQL, dies_with_us, settings_removed

TREE = Path(__file__).parent.parent
FIGURES = TREE / "bench/instructions.json"
# A figure may differ by so much from the one in the file.
TOLERANCE = 0.05
DATABASE = "instructions"
SESSIONS, USERS, BATCH = 256, 64, 32
# A function of PostgreSQL that nothing else calls: callgrind writes down what it has counted when it is entered.
MARK = "pg_backend_pid"

# What is measured: its calls before, which fill caches and pages, and its counted calls, each of so many appends or reads. The
# batches leave ten events in each session.
MEASURED = {
    "sessiond_write, an append of 32": (24, 56, BATCH),
    "sessiond_append, a lone append": (40, 160, 1),
    "read_session, with 10 events": (10, 100, 1),
    "read_session_state": (10, 100, 1),
}
BATCHES, LONE = (sum(MEASURED[name][:2]) for name in list(MEASURED)[:2])

# Appends by number: to which session, which of its events it is, which keys it sets. 37 and SESSIONS have no common divisor, so
# each session has its turn, and neighbours are of different users. As bench/load: every fourth append has a user key, every
# sixteenth an app key. Times are close together, as those of busy sessions are.
APPENDS = f"""
create table appends as
select a, 'u' || x % {USERS} as usr, 's' || x as id, a / {SESSIONS} as was, 'k' || a % 10 as k, a::text as value,
    case when a % 4 = 0 then 'u' end as uk, case a % 32 when 0 then 'a' when 16 then 'b' end as ak,
    1760000000000000 + a * 100 as time, 'event-' || a || '-' || md5(a::text) as eid, repeat('What was said. ', 58) as text
from (select a, a * 37 % {SESSIONS} as x from generate_series(0::bigint, {BATCHES * BATCH + LONE - 1}) a) t;
create table numbered as
select n.*, case when was_time / 10000000 <> time / 10000000 then time / 10000000 end as place
from (select t.*, s.incarnation as inc, lag(t.time, 1, s.update_time) over (partition by t.id order by a) as was_time,
    case when uk is not null then count(uk) over (partition by usr order by a) + 1 end as urev,
    case when ak is not null then count(ak) over (order by a) + 1 end as arev,
    '{{"id":"' || eid || '","timestamp":' || t.time / 1000000 || ',"invocationId":"i' || a || '","author":"agent","content":'
        || '{{"role":"model","parts":[{{"text":"' || text || '"}}]}}}}' as body
from appends t join sessions s on s.app_name = 'bench' and s.user_id = t.usr and s.id = t.id) n;
insert into app_state (app_name, key, value, revision) values ('bench', 'b', '0', 1);
insert into app_log (app_name, key, revision, value) values ('bench', 'b', 1, '0');
"""

# The types with which the service asks for a session.
READ_TYPES = "text, text, text, bigint, bigint, bigint, bigint, bigint, bigint"

# The arguments by the names of the parameters. Of `sessiond_append`, from one row of `numbered`.
OF_ONE = {
    "p_app": "'bench'", "p_user": "usr", "p_session": "id", "p_incarnation": "inc", "p_feed": "false",
    "h_was": "was", "h_metadata": "0", "h_rough": "case when place is not null then true end", "h_place": "place", "h_revision": "was + 1", "h_time": "time",
    "h_time_number": "time", "h_lease": "null", "h_side": "true",
    "u_was": "urev - 1", "u_revision": "urev", "a_was": "arev - 1", "a_revision": "arev",
    "e_id": "eid", "e_time": "time", "e_author": "'agent'", "e_invocation": "'i' || a", "e_branch": "null",
    "e_user_revision": "urev", "e_app_revision": "arev", "e_effect": "null", "e_digest": "sha256(eid::bytea)",
    "e_body": "body", "s_key": "array[k]", "s_value": "array[value]",
    "v_key": "array_remove(array[uk], null)", "v_value": "case when uk is null then '{}' else array[value] end",
    "w_key": "array_remove(array[ak], null)", "w_value": "case when ak is null then '{}' else array[value] end",
}  # fmt: skip
# Of `sessiond_write`, from the rows of a batch: columns of arrays by the first letter of the parameter, which says of what.
OF_BATCH = {
    "p_app": "'bench'", "p_feed": "false", "a_was": "min(arev) - 1", "a_revision": "max(arev)",
    # Null for the whole arrays: all stay.
    "h_rough": "case when count(place) > 0 then array_agg(case when place is not null then true end order by usr, id) end",
    "h_place": "case when count(place) > 0 then array_agg(place order by usr, id) end",
    "h_lease": "null", "h_side": "null", "s_until": "null", "s_removed": "null", "v_until": "null", "w_until": "null",
}  # fmt: skip
ROWS = {
    "h": ("order by usr, id", {
        "user": "usr", "session": "id", "incarnation": "inc", "was": "was", "metadata": "0",
        "revision": "was + 1", "time": "time", "time_number": "time",
    }),
    "u": ("order by usr) filter (where uk is not null", {"user": "usr", "was": "urev - 1", "first": "urev", "revision": "urev"}),
    "e": ("order by a", {
        "user": "usr", "session": "id", "incarnation": "inc", "sequence": "was + 1", "id": "eid", "time": "time",
        "author": "'agent'", "invocation": "'i' || a", "branch": "null", "user_revision": "urev", "app_revision": "arev",
        "effect": "null", "digest": "sha256(eid::bytea)", "body": "body",
    }),
    "s": ("order by a", {
        "user": "usr", "session": "id", "incarnation": "inc", "key": "k", "value": "value", "first": "was + 1",
        "revision": "was + 1",
    }),
    "v": ("order by usr) filter (where uk is not null", {
        "user": "usr", "key": "uk", "value": "value", "first": "urev", "revision": "urev", "incarnation": "inc", "sequence": "was + 1",
    }),
    "w": ("order by ak) filter (where ak is not null", {
        "key": "ak", "value": "value", "first": "arev", "revision": "arev", "incarnation": "inc", "sequence": "was + 1",
    }),
}  # fmt: skip


def of_batch(parameter: str, type: str) -> str | None:
    if parameter in OF_BATCH:
        return OF_BATCH[parameter]
    letter, _, column = parameter.partition("_")
    order, columns = ROWS.get(letter, ("", {}))
    element = type.removesuffix("[]")
    return f"coalesce(array_agg(({columns[column]})::{element} {order}), '{{}}')" if column in columns else None


def parameters(server: PostgreSQL, function: str) -> list[tuple[str, str]]:
    """Names and types of what a function takes."""
    rows = server.sql(
        DATABASE,
        "select p.proargnames[n] || ' ' || format_type(t, null) from pg_proc p, "
        f"unnest(p.proargtypes::oid[]) with ordinality as a(t, n) where p.proname = '{function}' order by n",
    )
    return [tuple(row.split(" ", 1)) for row in rows.splitlines()]


def prepare(server: PostgreSQL, function: str, arguments, calls: str) -> str:
    """Makes the table of a function's arguments, a row for each call: `arguments` gives that for a name and a type, and `calls` says
    which rows are of which call. Returns the call with the arguments of row `%d`."""
    columns = []
    for name, type in parameters(server, function):
        argument = arguments(name, type)
        if argument is None:
            raise SystemExit(f"{function} has a parameter {name}, of which bench/instructions.py does not know what to give")
        columns.append((name, f"({argument})::{type} as {name}"))
    server.sql(
        DATABASE,
        f"create table of_{function} as select {', '.join(column for _, column in columns)}, {calls}",
        f"create unique index on of_{function} (call)",
    )
    given = ", ".join(f"{name} => a.{name}" for name, _ in columns)
    return f"select verdict from of_{function} a, {function}({given}) where a.call = %d"


def statement(name: str) -> str:
    """One that the service sends, in a line."""
    found = re.search(rf"^-- {name}\n(.*?);\n", (TREE / "docs/sql/postgres.sql").read_text(), re.M | re.S)
    if not found:
        raise SystemExit(f"docs/sql/postgres.sql has no statement {name}")
    return " ".join(found[1].split())


def script(server: PostgreSQL) -> tuple[list[str], int]:
    """What the single-user backend is to execute, and how many answers are to come."""
    for file in sorted((TREE / "migrations/postgres").glob("*.sql")):
        server.sql(DATABASE, file=file)
    variables = {"sessions": SESSIONS, "users": USERS, "app": "bench"}
    server.sql(DATABASE, file=TREE / "bench/yardsticks/setup.sql", variables=variables)
    server.sql(DATABASE, APPENDS)
    first = BATCHES * BATCH
    batches = f"a / {BATCH} as call from numbered where a < {first} group by a / {BATCH}"
    write = prepare(server, "sessiond_write", of_batch, batches)
    lone = f"a - {first} as call from numbered where a >= {first}"
    append = prepare(server, "sessiond_append", lambda name, _: OF_ONE.get(name), lone)
    server.sql(DATABASE, "vacuum (freeze, analyze)", "checkpoint")
    reads = [
        f"execute {name} ('bench', 'u%d', 's%d', null, 0, 9223372036854775807, 10, 256, 104857)"
        for name in ("read_session", "read_session_state")
    ]
    lines = [f"set {name} = {value}" for name, value in PLANS.items()]
    lines += [f"prepare {name} ({READ_TYPES}) as {statement(name)}" for name in ("read_session", "read_session_state")]
    answers = 0
    for (before, counted, _), call in zip(MEASURED.values(), [write, append, *reads]):
        for n in range(before + counted):
            if n == before:
                lines.append(f"select {MARK}()")
            session = n * 37 % SESSIONS
            lines.append(call % n if call.startswith("select") else call % (session % USERS, session))
        lines.append(f"select {MARK}()")
        answers += before + counted
    return lines, answers


def count(server: PostgreSQL, lines: list[str], answers: int) -> dict[str, int]:
    """The instructions for each append and each read."""
    command = [
        "valgrind", "--tool=callgrind", "--callgrind-out-file=counted", "--combine-dumps=no", f"--dump-before={MARK}",
        "--toggle-collect=plpgsql_call_handler", "--toggle-collect=ExecuteQuery",
        server.programs / "postgres", "--single", "-D", "data", "-c", "fsync=off", "-c", "shared_buffers=128MB", DATABASE,
    ]  # fmt: skip
    done = subprocess.run(
        command, cwd=server.folder, input="".join(f"{line};\n" for line in lines), capture_output=True, text=True,
        env=settings_removed(), preexec_fn=dies_with_us(signal.SIGKILL), **server.user,
    )  # fmt: skip
    found = len(re.findall(r'^\t 1: (?:verdict = "ok"|app_name = "bench")', done.stdout, re.M))
    if done.returncode != 0 or found != answers:
        raise SystemExit(f"{found} calls of {answers} did what they are for:\n{done.stderr[-3000:]}")
    counted = []
    for n in range(1, 2 * len(MEASURED) + 1):
        text = (server.folder / f"counted.{n}").read_text()
        counted.append(int(re.search(r"^(?:totals|summary): (\d+)", text, re.M)[1]))
    # What was counted before each first mark is the calls before.
    of_each = zip(MEASURED.items(), counted[1::2])
    return {name: round(total / (calls * each)) for (name, (_, calls, each)), total in of_each}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--update", action="store_true", help="write the figures into the file")
    arguments = parser.parse_args()
    committed = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    with tempfile.TemporaryDirectory(prefix="sd-", dir=os.environ.get("TMPDIR")) as folder:
        server = PostgreSQL(Path(folder))
        on = f"PostgreSQL {server.version.split('.')[0]}, {platform.machine()}"
        try:
            if not arguments.update and committed.get("on") != on:
                print(f"NOT CHECKED: instructions, which are known of {committed.get('on')}, and this is {on}", file=sys.stderr)
                return
            server.sql("postgres", f"create database {DATABASE}")
            lines, answers = script(server)
        finally:
            server.stop()
        figures = count(server, lines, answers)
    if arguments.update:
        FIGURES.write_text(json.dumps({"on": on, "instructions": figures}, indent=2) + "\n")
    known = figures if arguments.update else committed["instructions"]
    changed = False
    for name, figure in figures.items():
        change = figure / known[name] - 1 if name in known else float("inf")
        changed |= abs(change) > TOLERANCE
        print(f"{name:32} {figure:9,} {change:+7.1%}")
    if changed or known.keys() != figures.keys():
        raise SystemExit(
            f"error: a figure is more than {TOLERANCE:.0%} from that in bench/instructions.json. If that is meant, "
            "`scripts/instructions --update` writes the new ones"
        )


main()
