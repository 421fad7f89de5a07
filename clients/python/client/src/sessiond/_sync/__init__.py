"""The synchronous client. `make_sync.py` makes it of the asynchronous one, except for `io.py`."""
