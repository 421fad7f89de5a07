"""`SessiondStore` of `sessiond.langgraph`, where LangGraph's own stores are."""

from sessiond.langgraph import SessiondStore

__all__ = ["SessiondStore"]
