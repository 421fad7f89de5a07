"""What an operation costs, however long the thread is."""

from sessiond.langgraph import SessiondSaver

from ..support.wire import Wire
from .conftest import Held
from .puts import Config, child, config

MESSAGES = "m" * 2000


async def test_requests_and_bytes_stay(saver: SessiondSaver, thread: str, wire: Wire, held: Held) -> None:
    at: Config = config(thread)
    parent, first = None, None
    for count in range(1, 1001):
        checkpoint, new = child(saver, parent, {"messages": MESSAGES, "step": count})
        if count not in (10, 100, 1000):
            # As in the log below, but some at a time.
            with held:
                at, parent = await saver.aput(at, checkpoint, {"step": count}, new), checkpoint
                await saver.aput_writes(at, [("step", count)], f"task {count}")
            first = first or at
            continue
        await held.send()
        wire.begin()
        at, parent = await saver.aput(at, checkpoint, {"step": count}, new), checkpoint
        await saver.aput_writes(at, [("step", count)], f"task {count}")
        # The answers do not say again what was stored.
        requests, size = wire.spent
        assert requests == 2 and size <= 512

        latest = await saver.aget_tuple(config(thread))
        requests, size = wire.spent
        assert latest and latest.checkpoint["channel_values"] == {"messages": MESSAGES, "step": count}
        # The messages are in the state, and in the last events that have set them.
        assert requests == 1 and size <= 8192 + 4 * len(MESSAGES)

        assert first
        oldest = await saver.aget_tuple(first)
        requests, size = wire.spent
        assert oldest and oldest.checkpoint["channel_values"]["step"] == 1
        assert requests <= 2 and size <= 8192 + 2 * len(MESSAGES)

        assert len([each async for each in saver.alist(config(thread), limit=5)]) == 5
        requests, size = wire.spent
        assert requests <= 4 and size <= 6 * (4096 + 2 * len(MESSAGES))

        before = [each async for each in saver.alist(config(thread), before=at, limit=5)]
        requests, size = wire.spent
        assert [each.metadata["step"] for each in before] == [*range(count - 1, count - 6, -1)]
        assert requests <= 4 + 5 and size <= 6 * (4096 + 2 * len(MESSAGES))
