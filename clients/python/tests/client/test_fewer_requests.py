"""What the server does in one request, where there were several."""

import pytest

from sessiond import AsyncClient, AsyncSession, StaleError


async def test_a_session_is_made_with_its_first_events(s: AsyncSession, db: AsyncClient, app: str) -> None:
    first, _ = await s.append([{"author": "a"}, {"author": "b"}], create=True, if_revision=s.revision)
    assert (first.sequence, s.revision) == (1, 2)
    assert (await s.append(author="c", create=True)).sequence == 3
    with pytest.raises(StaleError):
        await db.session(app, "ada", s.id).append(author="d", create=True, if_revision=0)
    with pytest.raises(StaleError):
        await db.session(app, "ada", "other").append(author="d", create=True, if_revision=1)
    assert [found.id async for found in db.sessions(app)] == [s.id]
