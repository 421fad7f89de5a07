"""What adk_library.py and adk_server.py have in common: a closed loop of tasks, and its figures."""

import argparse
import asyncio
import collections
import json
import math
import random
import time
from collections.abc import Awaitable, Callable

APP = "bench"
EVENT_BYTES = 1024


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--concurrency", type=int, default=1, help="how many ask at the same time")
    parser.add_argument("--seconds", type=float, default=5, help="how long is measured")
    parser.add_argument("--warmup", type=float, default=1, help="how many seconds before that do not count")
    parser.add_argument("--sessions", type=int, default=1024)
    parser.add_argument("--users", type=int, default=256)


def user_of(session: int, options: argparse.Namespace) -> str:
    return f"u{session % options.users}"


def sessions_of(task: int, options: argparse.Namespace) -> list[int]:
    """The sessions that one task, and no other one, writes to."""
    return list(range(task, options.sessions, options.concurrency)) or [task % options.sessions]


def state_delta(random_numbers: random.Random) -> dict:
    """One of ten session keys, a `user:` key every 4th time, an `app:` key every 16th: as in append.sql."""
    value = random_numbers.randint(1, 10**9)
    shared = random_numbers.randint(1, 16)
    delta = {f"k{random_numbers.randint(0, 9)}": value}
    if shared <= 4:
        delta["user:u"] = value
    if shared == 1:
        delta["app:a"] = value
    return delta


class Tally:
    def __init__(self) -> None:
        self.latencies: list[float] = []
        self.errors: collections.Counter[str] = collections.Counter()
        self.retries = 0

    def report(self, seconds: float, cpu_seconds: float, **facts) -> dict:
        """Latencies are those of successes, in microseconds; the rate is that of successes, too."""
        times = sorted(self.latencies)

        def quantile(q: float) -> float:
            return times[max(math.ceil(q * len(times)), 1) - 1] * 1e6 if times else 0.0

        errors = sum(self.errors.values())
        figures = {
            "p50": quantile(0.5),
            "p95": quantile(0.95),
            "p99": quantile(0.99),
            "p99.9": quantile(0.999),
            "max": quantile(1),
            "mean": sum(times) / len(times) * 1e6 if times else 0.0,
        }
        return {
            **facts,
            "seconds": seconds,
            "requests": len(times) + errors,
            "errors": errors,
            "errors_by": dict(self.errors),
            "retries": self.retries,
            "rate": round(len(times) / seconds, 1),
            **{name: round(value, 1) for name, value in figures.items()},
            "cpu_seconds": round(cpu_seconds, 3),
        }


async def closed_loop(options: argparse.Namespace, one: Callable[[int, Tally], Awaitable[None]]) -> tuple[Tally, float]:
    """Each of `concurrency` tasks calls `one(task, tally)` again and again, as soon as the last call is over. An
    exception is an error, counted by its type. Counts what ends within the measured seconds; also gives the CPU
    seconds that this process took for them."""
    tally, ignored = Tally(), Tally()
    start = time.perf_counter() + options.warmup
    end = start + options.seconds

    async def loop(task: int) -> None:
        while (began := time.perf_counter()) < end:
            attempt = Tally()
            try:
                await one(task, attempt)
                failure = None
            except Exception as error:  # Whatever it is, it is a result, and it is shown.
                failure = type(error).__name__
            done = time.perf_counter()
            counted = tally if start <= done <= end else ignored
            counted.retries += attempt.retries
            if failure:
                counted.errors[failure] += 1
                # One that fails at once would otherwise leave no processor to the others.
                await asyncio.sleep(0.001)
            else:
                counted.latencies.append(done - began)

    async def cpu() -> float:
        await asyncio.sleep(start - time.perf_counter())
        before = time.process_time()
        await asyncio.sleep(end - time.perf_counter())
        return time.process_time() - before

    used, *_ = await asyncio.gather(cpu(), *(loop(task) for task in range(options.concurrency)))
    return tally, used


def print_result(result: dict) -> None:
    print(json.dumps(result), flush=True)
