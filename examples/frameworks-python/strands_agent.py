"""An agent of Strands, which goes on where it stopped: `strands_agent.py SESSION MESSAGE`.

The model is a script, so no key is needed.
"""

import sys
from collections.abc import AsyncGenerator
from typing import Any

from strands import Agent
from strands.models import Model
from strands.session.repository_session_manager import RepositorySessionManager

from sessiond.strands import SessiondRepository


class Waiter(Model):
    """Counts what was asked for."""

    stateful = False

    def update_config(self, **config: Any) -> None:
        """Takes none."""

    def get_config(self) -> Any:
        """Has none."""
        return {}

    def structured_output(self, *args: Any, **kwargs: Any) -> Any:
        """Says texts alone."""
        raise NotImplementedError

    async def stream(self, messages: Any, *args: Any, **kwargs: Any) -> AsyncGenerator[Any, None]:
        """Answers."""
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockDelta": {"delta": {"text": f"Here is tea number {len(messages) // 2 + 1}."}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}


def main(session_id: str, message: str) -> None:
    """Says something to the agent."""
    repository = SessiondRepository(app="cafe", user="ada")
    manager = RepositorySessionManager(session_id=session_id, session_repository=repository)
    agent = Agent(model=Waiter(), agent_id="host", session_manager=manager, callback_handler=None)
    print(f"host: {str(agent(message)).strip()}")


main(*sys.argv[1:])
