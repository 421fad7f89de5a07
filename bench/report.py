"""Writes docs/benchmarks.md and its plots from the raw results. Every figure in it is computed here; so is every
sentence that says whether a target is met."""

from __future__ import annotations

import json
import statistics
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import svg

MIB = 2**20
# How many times as many connections as at the peak are an overload.
OVERLOAD = 10
MET, NOT_MET, NO_RESULT, NOT_MEASURED = "met", "**not met**", "**no result**", "not measured"


class Cell:
    """The rounds of one measurement."""

    def __init__(self, entries: list[dict]):
        self.entries = entries
        self.errors = sum(entry["errors"] for entry in entries)
        self.by: dict[str, int] = {}
        for entry in entries:
            for what, count in entry.get("errors_by", {}).items():
                self.by[what] = self.by.get(what, 0) + count

    @property
    def good(self) -> bool:
        """Whether it is a result: it was measured, nothing went wrong in any round, and something was answered."""
        return bool(self.entries) and not self.errors and all(entry.get("requests", 1) for entry in self.entries)

    def __call__(self, name: str) -> float | None:
        """The median over the rounds, of a result."""
        return statistics.median(entry[name] for entry in self.entries) if self.good else None

    def known(self, name: str) -> float | None:
        """The same, of what not every measurement has."""
        return self(name) if all(name in entry for entry in self.entries) else None

    def range(self, name: str) -> tuple[float, float]:
        values = [entry[name] for entry in self.entries]
        return min(values), max(values)


def find(results: list[dict], **what) -> Cell:
    return Cell([entry for entry in results if all(entry.get(name) == value for name, value in what.items())])


def values(results: list[dict], name: str, **what) -> list:
    """The different values of a field, in the order in which they come."""
    return list(dict.fromkeys(entry[name] for entry in find(results, **what).entries))


def peak(results: list[dict], scenario: str) -> float:
    """The best median rate of sessiond over the numbers of connections; 0 if there is none without errors."""
    what = {"block": "grid", "scenario": scenario}
    rates = [find(results, **what, connections=count)("rate") for count in values(results, "connections", **what)]
    return max((rate for rate in rates if rate), default=0.0)


# ---- forms -----------------------------------------------------------------------------------------------------------


def whole(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


def figure(value: float | None) -> str:
    """Three digits, or all that are before the point."""
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def millis(micros: float | None) -> str:
    return "" if micros is None else figure(micros / 1000)


def mib(size: float | None) -> str:
    return "" if size is None else f"{size / MIB:,.1f}"


def prose(text: str, first: str = "") -> list[str]:
    """A paragraph in lines of the documents' width and the empty line after it; `first` begins it, as a dash does."""
    return [*textwrap.wrap(" ".join(text.split()), 120, initial_indent=first, subsequent_indent=" " * len(first)), ""]


def bullets(*items: str) -> list[str]:
    return [line for item in items for line in prose(item, "- ")[:-1]] + [""]


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    """A Markdown table; the first column is text, the others are figures."""
    line = lambda row: "| " + " | ".join(row) + " |"  # noqa: E731
    return [line(head), "|---|" + "---:|" * (len(head) - 1), *map(line, rows), ""]


def errors(cell: Cell) -> str:
    if not cell.errors:
        return "0" if cell.good else f"no answer in time: {NO_RESULT}" if cell.entries else ""
    return f"{cell.errors:,} ({', '.join(f'{what}: {count:,}' for what, count in cell.by.items())}): {NO_RESULT}"


# Processor time per request: what holds on any machine.
COSTS = {"server_us": "CPU µs of sessiond", "database_us": "of PostgreSQL"}
LATENCIES = ["p50", "p95", "p99", "p99.9"]


def rate(cell: Cell) -> str:
    """The median and the range over the rounds."""
    if not cell.good:
        return "" if cell.entries else NOT_MEASURED
    low, high = cell.range("rate")
    return f"{whole(cell('rate'))} ({whole(low)} to {whole(high)})"


def load_table(first: str, rows: list[tuple[str, Cell]]) -> list[str]:
    head = [first, "per second (range)", *(f"{name} ms" for name in LATENCIES), *COSTS.values(), "errors"]
    lines = [
        [
            name,
            rate(cell),
            *(millis(cell(each)) for each in LATENCIES),
            *(figure(cell.known(each)) for each in COSTS),
            errors(cell),
        ]
        for name, cell in rows
    ]
    return table(head, lines)


# ---- the document ----------------------------------------------------------------------------------------------------


class Figure(NamedTuple):
    """A figure, if there is one, and whether it was tried to get it."""

    value: float | None
    measured: bool

    @staticmethod
    def of(cell: Cell, name: str) -> Figure:
        return Figure(cell(name), bool(cell.entries))


@dataclass
class Target:
    """Two figures and what their ratio should be."""

    measure: str
    first: Figure
    second: Figure
    at_least: float | None = None
    at_most: float | None = None
    form: Callable[[float], str] = lambda value: f"{whole(value)}/s"

    def row(self) -> list[str]:
        target = f"≥ {self.at_least:g}" if self.at_least is not None else f"≤ {self.at_most:g}"
        first, second = self.first.value, self.second.value
        if not first or not second:
            sides = {"first": self.first, "second": self.second}
            if any(not side.measured for side in sides.values()):
                return [self.measure, "", "", target, NOT_MEASURED]
            missing = " and ".join(side for side, each in sides.items() if not each.value)
            return [self.measure, f"none for the {missing}", "", target, NO_RESULT]
        ratio = first / second
        met = ratio >= self.at_least if self.at_least is not None else ratio <= self.at_most
        figures = f"{self.form(first)} : {self.form(second)}"
        return [self.measure, figures, figure(ratio), target, MET if met else NOT_MET]


class Report:
    def __init__(self, data: dict, size: dict | None, files: dict | None, effective: dict | None, search: dict | None, frameworks: dict | None):  # fmt: skip
        """What bench/size.py, artifacts.py, effective.py, search.py and frameworks.py found, if they were run."""
        self.facts, self.results = data["facts"], data["results"]
        self.size, self.files, self.effective, self.search, self.frameworks = size, files, effective, search, frameworks
        effort = self.facts["effort"]
        self.histories, self.states, self.lists = effort["histories"], effort["states"], effort["lists"]

    def find(self, **what) -> Cell:
        return find(self.results, **what)

    def over(self, **what) -> dict[int, Cell]:
        """The results of something by the number of connections, clients or tasks."""
        return {n: self.find(**what, connections=n) for n in values(self.results, "connections", **what)}

    def grid(self, scenario: str, connections: int) -> Cell:
        return self.find(block="grid", scenario=scenario, connections=connections)

    def growth(self, grows: str, size: int, scenario: str) -> Cell:
        return self.find(block="growth", grows=grows, size=size, scenario=scenario)

    def pgbench(self, kind: str) -> dict[str, dict[int, Cell]]:
        """All that pgbench measured of appends, or of reads: by script, by clients."""
        scripts = [script for script in values(self.results, "scenario", block="pgbench") if script.startswith(kind)]
        return {script: self.over(block="pgbench", scenario=script) for script in scripts}

    def best(self, kind: str, clients: int | None = None, of: str = "rate") -> Figure:
        """The best that pgbench did, with any script: the greatest rate, or the least of another figure."""
        cells = [(n, cell) for cells in self.pgbench(kind).values() for n, cell in cells.items()]
        found = [cell(of) for n, cell in cells if clients in (None, n) and cell.good]
        return Figure((max if of == "rate" else min)(found, default=None), any(clients in (None, n) for n, _ in cells))

    def yardstick(self, system: str) -> Figure:
        """The best median rate of one of the others, whatever the number of tasks."""
        rates = [cell("rate") for cell in self.over(block="yardsticks", system=system).values()]
        return Figure(max((rate for rate in rates if rate), default=None), bool(rates))

    def targets(self) -> list[list[str]]:
        def grown(measure: str, grows: str, scenario: str, small: int, large: int, at_most: float) -> Target:
            first, second = (Figure.of(self.growth(grows, size, scenario), "p50") for size in (large, small))
            return Target(measure, first, second, at_most=at_most, form=lambda value: f"{millis(value)} ms")

        at_1, at_64, at_256 = (Figure.of(self.grid("append", count), "rate") for count in (1, 64, 256))
        best = self.best("append")
        contention = {
            name: Figure.of(self.find(block="contention", scenario=name), "rate")
            for name in ("append", "append-one-session")
        }
        events, keys, lists = (self.histories[0], self.histories[-1]), (self.states[0], self.states[-1]), self.lists
        lists = (lists[0], 100_000 if 100_000 in lists else lists[-1])
        sqlite = Figure.of(self.find(block="sqlite", scenario="append", connections=64), "rate")
        targets = [
            Target("appends at 64 connections : pgbench at its best", at_64, best, at_least=2.1),
            Target("appends at 256 connections : pgbench at its best", at_256, best, at_least=2.2),
            Target("appends at 1 connection : pgbench at 1 client", at_1, self.best("append", 1), at_least=0.7),
            Target(
                "p99 of appends at 64 connections : mean of pgbench at 64 clients",
                Figure.of(self.grid("append", 64), "p99"),
                self.best("append", 64, of="mean"),
                at_most=2,
                form=lambda value: f"{millis(value)} ms",
            ),
            Target(
                "appends at 64 connections : google-adk behind its server, at its best",
                at_64,
                self.yardstick("google-adk server"),
                at_least=100,
            ),
            Target(
                "appends at 64 connections : adk-rust as a library, at its best",
                at_64,
                self.yardstick("adk-rust library"),
                at_least=12,
            ),
            Target(
                "gets with 10 events at 32 connections : pgbench reading at its best",
                Figure.of(self.grid("get-events", 32), "rate"),
                self.best("read"),
                at_least=0.85,
            ),
            Target(
                "appends at 64 connections, all on one session : spread over many",
                contention["append-one-session"],
                contention["append"],
                at_least=1,
            ),
            grown(
                "p50 of an append, history of {1:,} events : {0:,}".format(*events), "history", "append", *events, 1.2
            ),
            grown(
                "p50 of get state, history of {1:,} events : {0:,}".format(*events),
                "history",
                "get-state",
                *events,
                1.2,
            ),
            grown(
                "p50 of an append of one key, state of {1:,} keys : {0:,}".format(*keys), "state", "append", *keys, 1.2
            ),
            grown("p50 of the first page of {1:,} sessions : {0:,}".format(*lists), "sessions", "list", *lists, 1.5),
        ]
        for database in ("PostgreSQL", "SQLite"):
            cell = self.find(block="overload", database=database)
            measure = f"{database}: appends at {OVERLOAD} times as many connections as at the peak : at the peak"
            goodput, peak = Figure.of(cell, "rate"), Figure.of(cell, "peak")
            targets.append(Target(measure, goodput, peak, at_least=0.9))
        rows = [target.row() for target in targets]

        stream = self.find(block="streaming")
        measure = f"resident memory above idle while {events[-1]:,} events are streamed"
        row = [measure, "", "", "< 64 MiB", NO_RESULT if stream.entries else NOT_MEASURED]
        if stream.good:
            above = max(entry["peak"] - entry["idle"] for entry in stream.entries)
            row[1], row[4] = f"{mib(above)} MiB", MET if above < 64 * MIB else NOT_MET
        rows.append(row)

        measure = "SQLite: appends at 64 connections : google-adk's SqliteSessionService, at its best"
        rows.append(Target(measure, sqlite, self.yardstick("google-adk SqliteSessionService"), at_least=25).row())
        return rows

    # ---- sections ----

    def intro(self) -> list[str]:
        facts, targets = self.facts, self.targets()
        count = {word: sum(row[-1] == word for row in targets) for word in (MET, NOT_MET, NO_RESULT, NOT_MEASURED)}
        unmeasured = f" {count[NOT_MEASURED]} were not measured." if count[NOT_MEASURED] else ""
        return [
            "# Benchmarks",
            "",
            *prose(
                f"""Written by `scripts/bench` on {facts["date"]}, from commit {facts["commit"]}, in
                {facts["minutes"]:g} minutes. Nothing in it is edited by hand. The figures of every round are in
                [results.json](benchmarks/results.json)."""
            ),
            *(prose("**A quick run, to see whether it runs. Its figures mean nothing.**") if facts["quick"] else []),
            *([] if facts["complete"] else prose("The run was ended before all was measured.")),
            "## Targets",
            "",
            *prose(
                f"""Of {len(targets)} targets, {count[MET]} are met, {count[NOT_MET]} are not, and {count[NO_RESULT]}
                have no result.{unmeasured}"""
            ),
            *table(["measure", "medians", "ratio", "target", ""], targets),
        ]

    def method(self) -> list[str]:
        facts, effort = self.facts, self.facts["effort"]
        return [
            "## How it was measured",
            "",
            *prose(
                f"""Client, service and database share the machine, so what one of them takes the others lack. The
                service runs with its default settings, and logs a line for every request to a file. PostgreSQL is a
                fresh cluster with the settings below. An append is a POST over HTTP of an event of 1,024 bytes, to a
                random session among {facts["app_sessions"]:,} of {facts["app_users"]} users, each with
                {facts["events_before"]} events at the beginning. It sets one session key, in every 4th request also a
                `user:` key, and in every 16th also an `app:` key. It counts once its answer says that it is stored."""
            ),
            *prose(
                f"""Each figure is the median over rounds, and the range is that of the rounds: {effort["rounds"]} for
                what the targets speak of, then {effort["other_rounds"]} for the rest. In a round sessiond and its
                yardsticks take turns, in alternating order, each on a new copy of the same database or, where the
                tables differ, on a new one with as many sessions (reads: on one copy that nobody writes to); they never
                run at the same time. Each measurement begins with a checkpoint and a pause; after a database was
                copied, all that is left to be written to the disk is written first. It lasts {effort["seconds"]:g} s
                after {effort["warmup"]:g} s that are not counted, for what the targets speak of, and
                {effort["other_seconds"]:g} s after {effort["other_warmup"]:g} s for the rest; for what grows,
                {2 * effort["growth_seconds"]:g} s and {effort["growth_seconds"]:g} s after
                {effort["growth_warmup"]:g} s. Of pgbench, the first second is not counted."""
            ),
            *prose(
                """Latencies are those of the client, to 1 %. Unless said otherwise each connection sends its next
                request when it has the last answer. Any answer other than the expected one is an error, and a row with
                errors is no result."""
            ),
            *prose("The yardsticks, in [bench/yardsticks](../bench/yardsticks):"),
            *bullets(
                """**pgbench**: the same append, or the same read, as one statement and one transaction, prepared,
                without HTTP. The append exists as one statement (`append.sql`) and as a function in the database
                (`append_function.sql`); the targets take whichever was better, at whatever number of clients. Its
                connections have the settings for plans that sessiond's have.""",
                """**google-adk**: `DatabaseSessionService` on the same PostgreSQL and `SqliteSessionService`, as
                libraries, and `adk api_server`.""",
                "**adk-rust**: its PostgreSQL session service, as a library."
                + ("" if facts["adk_rust"] else " (Not run.)"),
            ),
        ]

    def machine(self) -> list[str]:
        facts = self.facts
        sync = ", ".join(f"{method} {micros:g} µs" for method, micros in facts["sync_microseconds"].items())
        settings = ", ".join(f"`{name}={value}`" for name, value in facts["settings"].items())
        rows = {
            "processor": f"{facts['cpu']}, {facts['cores']} cores",
            "memory": f"{facts['memory_bytes'] / 2**30:.1f} GiB",
            "8 kB written and synchronised (pg_test_fsync)": sync,
            "kernel, file system": f"{facts['kernel']}, {facts['filesystem']}",
            "PostgreSQL": f"{facts['postgresql']}, {settings}, `wal_sync_method={facts['sync_method']}`",
            "sessiond": f"{facts['sessiond']}, profile `dist`, {facts['rustc']}",
            "google-adk, adk-rust": f"{facts['google_adk'] or 'not there'}, {facts['adk_rust'] or 'not there'}",
            "load average just before": f"{facts['load_average']:.2f}",
        }
        return ["## The machine", "", "| | |", "|---|---|", *(f"| {k} | {v} |" for k, v in rows.items()), ""]

    def throughput(self) -> list[str]:
        out = ["## Throughput and latency", ""]
        titles = {
            "append": "Append",
            "get-state": "Get state",
            "get-events": "Get a session with its state and 10 events",
            "create": "Create a session",
            "list": "List: the first page of 100 sessions",
            "mix": "90 % get with 10 events, 10 % append",
        }
        plots = {"append": ["throughput", "latency"], "get-events": ["throughput-read"]}
        for scenario, title in titles.items():
            out += [f"### {title}", ""]
            for plot in plots.get(scenario, []):
                out += [f"![{plot} by connections](benchmarks/{plot}.svg)", ""]
            cells = {count: self.grid(scenario, count) for count in self.facts["effort"]["connections"]}
            out += load_table("connections", [(str(count), cell) for count, cell in cells.items()])
            if kind := {"append": "append", "get-events": "read"}.get(scenario):
                rows = [
                    [f"{script}, {clients}", rate(cell), millis(cell("mean")), errors(cell)]
                    for script, cells in self.pgbench(kind).items()
                    for clients, cell in cells.items()
                ]
                out += table(["pgbench, clients", "per second (range)", "mean ms", "errors"], rows)
            if scenario == "append":
                systems = ("google-adk library", "google-adk server", "adk-rust library")
                out += load_table("others on the same PostgreSQL", self.at_once(*systems))
        return out

    def at_once(self, *systems: str) -> list[tuple[str, Cell]]:
        return [
            (f"{system}, {count} at once", cell)
            for system in systems
            for count, cell in self.over(block="yardsticks", system=system).items()
        ]

    def open_loop(self) -> list[str]:
        cells = {
            name: self.find(block="open", scenario=name) for name in values(self.results, "scenario", block="open")
        }
        rows = [(f"{name}, {whole(cell.entries[0].get('open_loop_rate'))}/s", cell) for name, cell in cells.items()]
        return [
            "## At half of the peak",
            "",
            *prose(
                """Requests are due at fixed times, at half of the best rate above, over 64 connections. Latency counts
                from the time when a request was due, also if no connection was free to send it."""
            ),
            *load_table("due", rows),
        ]

    def growth_section(self) -> list[str]:
        def head(first: str, *names: str) -> list[str]:
            return [first, *(f"{name} {quantile} ms" for name in names for quantile in ("p50", "p99")), "errors"]

        def row(name: str, grows: str, size: int, *scenarios: str) -> list[str]:
            cells = [self.growth(grows, size, scenario) for scenario in scenarios]
            trouble = sum(cell.errors for cell in cells)
            figures = [millis(cell(quantile)) for cell in cells for quantile in ("p50", "p99")]
            measured = "0" if all(cell.entries for cell in cells) else f"{NOT_MEASURED} where empty"
            return [name, *figures, f"{trouble:,}: {NO_RESULT} where empty" if trouble else measured]

        facts, far = self.facts, self.facts["effort"]["far_page"]
        lists = [row(f"{size:,}", "sessions", size, "list") for size in self.lists]
        lists.append(row(f"{self.lists[-1]:,}, page {far:,}", "far page", self.lists[-1], "list"))
        return [
            "## As things grow",
            "",
            *prose(
                f"""One connection. Histories were filled with events of {facts["filled_event_bytes"]} bytes. (Those of
                up to 10,000 events are new in each round, and grow by what is appended while that is measured.)"""
            ),
            "![latency by length of the history](benchmarks/growth-history.svg)",
            "",
            *table(
                head("events of the session", "append", "get state", "with 10 events"),
                [row(f"{size:,}", "history", size, "append", "get-state", "get-events") for size in self.histories],
            ),
            "![latency by size of the state](benchmarks/growth-state.svg)",
            "",
            *table(
                head("keys of the session's state", "append of one key", "get state"),
                [row(f"{size:,}", "state", size, "append", "get-state") for size in self.states],
            ),
            "![latency by number of sessions](benchmarks/growth-sessions.svg)",
            "",
            *table(head("sessions of the app", "first page"), lists),
        ]

    def size_section(self) -> list[str]:
        if not self.size:
            return []
        memory, results = self.size["memory"], self.size["results"]
        limit = f"{memory // MIB:,} MiB for its processes and its cache of files" if memory else "all of the machine's memory"
        titles = {"append": "appends", "get-events": "gets with 10 events", "list": "first pages of 100"}
        sizes = {int(events): facts for events, facts in self.size["sizes"].items()}
        kinds = list(dict.fromkeys((entry["scenario"], entry["connections"]) for entry in results))
        rows = []
        for scenario, connections in kinds:
            for events in sizes:
                cell = find(results, scenario=scenario, connections=connections, events=events)
                figures = [rate(cell), millis(cell("p50")), millis(cell("p99")), *(figure(cell.known(each)) for each in COSTS)]
                read = cell.known("read_bytes")
                read = "" if read is None else figure(read / 1024)
                rows.append([f"{titles[scenario]} at {connections}, {events:,} events", *figures, read, errors(cell)])
        databases = ", ".join(f"{whole(facts['bytes'] / MIB)} MiB ({events:,} events)" for events, facts in sizes.items())
        return [
            "### A database larger than memory",
            "",
            *prose(
                f"""Events of some 250 bytes, 100 in each session, written in turns, so that those of one session lie apart. Requests
                go to sessions at random: no part of the database is hotter than another, which is the worst case. PostgreSQL has
                `shared_buffers={self.size["settings"]["shared_buffers"]}` and {limit}. The databases: {databases}. Read: from the
                disk, by PostgreSQL, per request."""
            ),
            *table(["", "per second (range)", "p50 ms", "p99 ms", *COSTS.values(), "KiB read", "errors"], rows),
        ]

    def files_section(self) -> list[str]:
        if not self.files:
            return []
        titles = {"sqlite": "SQLite", "postgres": "PostgreSQL", "folder": "PostgreSQL and a folder"}
        rows = []
        for name, found in self.files.items():
            disk = statistics.median(found["dd"])
            for way, title in (("up", "64 MiB up : `dd` with fsync"), ("down", "64 MiB down : the same")):
                speed = statistics.median(found[way]["mib_per_second"])
                ratio = found[way]["ratio"]
                rows.append([f"{titles[name]}: {title}", f"{whole(speed)} : {whole(disk)} MiB/s", ratio, ratio >= 0.5, "≥ 0.5"])
            for what, title, unit, of in (
                ("save", "saves of 4 KiB at 64 connections : appends", "/s", 1),
                ("list", "p50 of the first page of 10,000 files : 10", " ms", 1000),
            ):
                measured, yardstick = (statistics.median(found[what][each]) / of for each in ("measured", "yardstick"))
                ratio = found[what]["ratio"]
                is_met = ratio >= 0.5 if what == "save" else ratio <= 1.2
                medians = f"{figure(measured)} : {figure(yardstick)}{unit}"
                rows.append([f"{titles[name]}: {title}", medians, ratio, is_met, "≥ 0.5" if what == "save" else "≤ 1.2"])
            if removal := found.get("removal"):
                figures = f"{whole(removal['files_per_second'])}/s, {figure(removal['erasure_seconds'])} s"
                is_met = removal["erasure_seconds"] <= 5
                rows.append([f"{titles[name]}: deleted files removed, an erasure meanwhile", figures, None, is_met, "≤ 5 s"])
            memory = found["memory"] / MIB
            title = "resident memory above idle with 64 uploads of 64 MiB at once"
            rows.append([f"{titles[name]}: {title}", f"{memory:.1f} MiB", None, memory <= 64, "≤ 64 MiB"])
        missed = sum(not is_met for *_, is_met, _ in rows)
        return [
            "## Files",
            "",
            *prose(
                f"""Of {len(rows)} targets, {len(rows) - missed} are met and {missed} are not. `dd` writes the same 64 MiB to the
                same disk, in turns with the service; what is read comes from the cache of files. A save has an event. The figures
                of every round are in [artifacts.json](benchmarks/artifacts.json), of `scripts/bench --artifacts`."""
            ),
            *table(
                ["measure", "medians", "ratio", "target", ""],
                [
                    [measure, medians, "" if ratio is None else f"{ratio:.2f}", target, MET if is_met else NOT_MET]
                    for measure, medians, ratio, is_met, target in rows
                ],
            ),
        ]

    def effective_section(self) -> list[str]:
        if not self.effective:
            return []
        titles = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}
        rows = []
        for name, found in self.effective.items():
            for events, median in found["effective"].items():
                all_of_it = found["whole"].get(events)
                searched = [figure(found["search"][of][events]) for of in ("hit", "miss")]
                cells = [f"{median:.2f}", "" if all_of_it is None else figure(all_of_it), *searched]
                rows.append([titles[name], f"{int(events):,}", *cells])
        grows = [f"{titles[name]} {found['growth']:.2f}" for name, found in self.effective.items()]
        is_met = all(found["growth"] <= 1.2 for found in self.effective.values())
        is_found = all(hit <= 50 for found in self.effective.values() for hit in found["search"]["hit"].values())
        memory = [f"{titles[name]} {max(0, found['search']['memory']) / 1024:.0f} MiB" for name, found in self.effective.items()]
        return [
            "## What a model reads",
            "",
            *prose(
                f"""Sessions with a compaction every 100 events, each of all that was before, and 10 events after the last one. A read of
                the session with `history=effective` gets these 11; one connection. The longest log takes so many times as long
                as the shortest (target: at most 1.2, {MET if is_met else NOT_MET}): {", ".join(grows)}. The hit is the first of a
                search from the end (target: at most 50 ms, {MET if is_found else NOT_MET}), the miss a page of a search that finds
                nothing: with `text=`, a request looks through up to 10,000 events. Meanwhile the memory of the server grew by
                {", ".join(memory)}. Of `scripts/bench --effective`; raw figures in [effective.json](benchmarks/effective.json)."""
            ),
            *table(
                ["median ms", "events of the session", "effective", "the whole log", "a hit from the end", "a page without a hit"], rows
            ),
        ]

    def search_section(self) -> list[str]:
        if not self.search:
            return []
        titles = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}
        results = self.search["results"]
        rows = [
            [titles[name], *(figure(found["many"][of]) for of in ("none", "rare", "common", "three")), figure(found["one"]),
             figure(found["event"]), figure(found["indexed"]), figure(found["complete"]), f"{max(0, found['memory']) / 1024:.0f}"]
            for name, found in results.items()
        ]  # fmt: skip
        is_met = all(found["many"][of] <= 50 for found in results.values() for of in ("none", "rare", "common"))
        return [
            "## Search",
            "",
            *prose(
                f"""One user has {self.search["events"]:,} events in 100 sessions, and {self.search["others"]:,} others have 1,000 each: texts of 12
                words. Medians in ms of a search of the first user for a word that nobody said, a rare one, the most common one, and the
                three most common ones (target for one word: at most 50 ms, {MET if is_met else NOT_MET}); and of another user for the most
                common one; one connection. Then the processor time in µs of service and database for an event in a batch of 500, and for
                its index; after how many seconds all was indexed; and by how many MiB the memory of the server grew with the searches. Of
                `scripts/bench --search`; raw figures in [search.json](benchmarks/search.json)."""
            ),
            *table(
                ["", "none", "rare", "common", "three", "of another user", "an event", "its index", "all indexed", "memory"], rows
            ),
        ]

    def frameworks_section(self) -> list[str]:
        if not self.frameworks:
            return []
        known, results = self.frameworks["facts"], self.frameworks["results"]
        measures: dict[tuple, dict[str, list[tuple[float, float]]]] = {}
        for each in results:
            measure = measures.setdefault((each["operation"], each["database"], each["size"]), {})
            measure.setdefault(each["store"], []).append((each["p50"], each["cpu"]))
        rows, ratios = [], []
        for (operation, database, size), measure in sorted(measures.items()):
            # The adapters' names begin with Sessiond.
            (ours, one), (theirs, other) = sorted(measure.items(), key=lambda store: not store[0].startswith("Sessiond"))
            (one, own), (other, others) = zip(*one), zip(*other)
            ratios.append(statistics.median(one) / statistics.median(other))
            ranges = [f"{millis(statistics.median(p50))} ({millis(min(p50))} to {millis(max(p50))})" for p50 in (one, other)]
            title = f"{operation} on {database}, {size:,}: {ours} : {theirs}"
            cpu = statistics.median(own) / statistics.median(others)
            rows.append([title, *ranges, f"{ratios[-1]:.2f}", "faster" if ratios[-1] < 1 else "**slower**", f"{cpu:.2f}"])
        slower = sum(ratio >= 1 for ratio in ratios)
        packages = ", ".join(f"{name} {number}" for name, number in known["packages"].items())
        files = "; ".join(f"{name}: {said}" for name, said in known["durability"].items())
        return [
            "## Stores of other frameworks",
            "",
            *prose(
                f"""The adapters of the Python client beside the stores that their frameworks ship, in one run, in turns; one caller.
                The number is that of the checkpoints of a thread, or of the items of a session, at the beginning; a round adds a
                twentieth. A checkpoint changes ten messages of 200 characters and a number, and leaves 2,000 characters as they are;
                a turn is four items. The adapters ask a server over HTTP, the stores of the frameworks are in the process of the
                caller. A ratio below 1 means that the adapter takes less time: of {len(ratios)} measures, sessiond is faster in
                {len(ratios) - slower}, and slower in {slower}. The processor time is that of the caller, of sessiond and of
                PostgreSQL together."""
            ),
            *table(["median ms (range over rounds)", "sessiond", "the framework's store", "ratio", "", "ratio of processor time"], rows),
            *prose(
                f"""{known["sessiond"]}; {packages}; PostgreSQL {known["postgresql"]} with fsync, SQLite {known["sqlite"]}. The files of the frameworks have {files} (2 is
                FULL). {known["rounds"]} rounds; the load average just before was {known["load"]:.2f}. Of `scripts/bench --frameworks`; raw
                figures in [frameworks.json](benchmarks/frameworks.json)."""
            ),
        ]

    def contention(self) -> list[str]:
        names = {
            "append": "sessions at random",
            "append-own": "each connection on sessions of its own",
            "append-one-session": "all on one session",
            "append-one-app-key": "sessions at random, each event sets the same `app:` key",
            "append-app-keys": "sessions at random, each event sets an `app:` key of its connection",
        }
        rows = [(name, self.find(block="contention", scenario=scenario)) for scenario, name in names.items()]
        return ["## Contention", "", "Appends over 64 connections.", "", *load_table("", rows)]

    def overload(self) -> list[str]:
        rows = []
        for database in values(self.results, "database", block="overload"):
            cell = self.find(block="overload", database=database)
            ratios = [f"{entry['rate'] / entry['peak']:.2f}" for entry in cell.entries if entry["peak"]]
            figures = [whole(cell("peak")), rate(cell), ", ".join(ratios), whole(cell("refused"))]
            connections = f"{cell.entries[0]['connections']:,} connections"
            rows.append([f"{database}, {connections}", *figures, millis(cell("p99")), errors(cell)])
        return [
            "## Overload",
            "",
            *prose(
                f"""Appends at {OVERLOAD} times as many connections as the most at which the peak was sought, more than the
                service has places for. A client that is refused sends its next request at once. Refusals (503) are no
                errors here; the ratios are those of each round, in which peak and overload are measured one after the
                other on the same server."""
            ),
            *table(
                ["", "at the peak", "answered per second (range)", "of the peak", "refused per second", "p99 ms", "errors"],
                rows,
            ),
        ]

    def costs(self) -> list[str]:
        rows = []
        for system in ("sessiond", "pgbench"):
            cell = self.find(block="costs", system=system)
            if not cell.good:
                rows.append([system, rate(cell), *[""] * 4, errors(cell)])
                continue
            each = {
                name: statistics.median(entry[name] / entry["requests"] for entry in cell.entries)
                for name in ("server_cpu", "postgresql_cpu", "cpu_seconds", "wal_bytes")
            }
            cpu = [f"{each[name] * 1000:.3f}" for name in ("server_cpu", "postgresql_cpu", "cpu_seconds")]
            if system == "pgbench":
                cpu[0] = ""
            rows.append([system, whole(cell("rate")), *cpu, whole(each["wal_bytes"]), "0"])
        return [
            "## What it costs",
            "",
            *prose(
                """Appends at 64 connections or clients, after a time of the same length that is not counted. CPU
                seconds are per 1,000 appends; those of PostgreSQL are of all its processes, and with pgbench include
                that its clients connect and prepare. WAL is what PostgreSQL wrote to its log meanwhile."""
            ),
            *table(
                [
                    "",
                    "appends/s",
                    "CPU s of sessiond",
                    "of PostgreSQL",
                    "of the client",
                    "bytes of WAL per append",
                    "errors",
                ],
                rows,
            ),
            *self.memory(),
        ]

    def memory(self) -> list[str]:
        load, stream = self.find(block="memory"), self.find(block="streaming")
        costs = self.find(block="costs", system="sessiond")
        rows, more = [], []
        if load.good:
            most = self.facts["effort"]["connections"][-1]
            peak = max(entry["peak"] for entry in load.entries)
            rows.append(["sessiond, idle", mib(load("idle"))])
            rows.append([f"sessiond, peak under appends of up to {most} connections", mib(peak)])
        if stream.good:
            events = f"{stream.entries[0]['size']:,} events"
            peak = max(entry["peak"] for entry in stream.entries)
            rows.append([f"sessiond, peak while {events} are streamed", mib(peak)])
            more = prose(
                f"""The stream of {events} is {mib(stream("bytes_received"))} MiB and takes {stream("seconds"):.1f} s
                (median of {len(stream.entries)} runs)."""
            )
        else:
            more = prose(f"Streaming a long history: {errors(stream) or NOT_MEASURED}.")
        if costs.good:
            name = "PostgreSQL, after appends at 64 connections: all processes, shared pages counted once"
            rows.append([name, mib(costs("postgresql_memory"))])
        return ["### Memory", "", *table(["", "resident MiB"], rows), *more]

    def sqlite(self) -> list[str]:
        out = ["## SQLite", "", "The same, on a file of SQLite, with `synchronous=FULL`.", ""]
        for scenario in values(self.results, "scenario", block="sqlite"):
            cells = self.over(block="sqlite", scenario=scenario)
            out += [f"### {scenario}", "", *load_table("connections", [(str(n), cell) for n, cell in cells.items()])]
        system = "google-adk SqliteSessionService"
        out += [f"### append, with {system} as a library", ""]
        durability = [entry["durability"] for entry in self.find(system=system).entries if "durability" in entry]
        if durability:
            settings = ", ".join(f"`{name}={value}`" for name, value in durability[0].items())
            out += prose(f"Its database has {settings} (2 is FULL).")
        return out + load_table("", self.at_once(system))

    # ---- plots ----

    def plots(self) -> dict[str, str]:
        def points(cells: dict[int, Cell], name: str, scale: float = 1) -> svg.Points:
            return [(n, cell(name) / scale) for n, cell in cells.items() if cell.good]

        def throughput(title: str, scenario: str, kind: str) -> str:
            series = {"sessiond over HTTP": points(self.over(block="grid", scenario=scenario), "rate")}
            series |= {f"pgbench, {script}": points(cells, "rate") for script, cells in self.pgbench(kind).items()}
            return svg.chart(title, "connections (pgbench: clients)", "per second", series)

        def growth(title: str, x_title: str, grows: str, sizes: list[int], scenarios: dict[str, str]) -> str:
            series = {}
            for scenario, name in scenarios.items():
                cells = {size: self.growth(grows, size, scenario) for size in sizes}
                series |= {f"{name}, {quantile}": points(cells, quantile, 1000) for quantile in ("p50", "p99")}
            return svg.chart(title, x_title, "milliseconds", series, log_y=True)

        append = self.over(block="grid", scenario="append")
        latencies = {name: points(append, name, 1000) for name in LATENCIES}
        history = {"append": "append", "get-state": "get state", "get-events": "with 10 events"}
        state = {"append": "append of one key", "get-state": "get state"}
        return {
            "throughput": throughput("Durable appends per second", "append", "append"),
            "throughput-read": throughput("Gets with state and 10 events per second", "get-events", "read"),
            "latency": svg.chart("Latency of an append", "connections", "milliseconds", latencies, log_y=True),
            "growth-history": growth(
                "Latency by length of the history", "events of the session", "history", self.histories, history
            ),
            "growth-state": growth(
                "Latency by size of the state", "keys of the session's state", "state", self.states, state
            ),
            "growth-sessions": growth(
                "Latency of a list", "sessions of the app", "sessions", self.lists, {"list": "first page"}
            ),
        }

    def text(self) -> str:
        sections = [
            self.intro(),
            self.method(),
            self.machine(),
            self.throughput(),
            self.open_loop(),
            self.growth_section(),
            self.size_section(),
            self.contention(),
            self.overload(),
            self.costs(),
            self.sqlite(),
            self.files_section(),
            self.effective_section(),
            self.search_section(),
            self.frameworks_section(),
        ]
        return "\n".join(line for section in sections for line in section).rstrip() + "\n"


def write(data: dict, folder: Path) -> None:
    plots = folder / "benchmarks"
    others = [plots / f"{name}.json" for name in ("size", "artifacts", "effective", "search", "frameworks")]
    report = Report(data, *(json.loads(other.read_text()) if other.is_file() else None for other in others))
    plots.mkdir(parents=True, exist_ok=True)
    for name, text in report.plots().items():
        (plots / f"{name}.svg").write_text(text)
    (folder / "benchmarks.md").write_text(report.text())
