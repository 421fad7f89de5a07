"""`SessiondSaver` of `sessiond.langgraph`, where LangGraph's own checkpointers are."""

from sessiond.langgraph import SessiondSaver

__all__ = ["SessiondSaver"]
