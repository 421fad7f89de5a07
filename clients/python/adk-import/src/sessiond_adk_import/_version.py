"""The version of this package, also for its metadata."""

__version__ = "0.1.0"
