"""The asynchronous client. `make_sync.py` makes the synchronous one of it, except for `io.py`."""
