"""`python -m sessiond_adk_import`: brings the sessions of one of ADK's session services to sessiond.

It reads the databases of ADK's own services in Python, Go and TypeScript as they are, and changes nothing in them. From
any other service it lists and reads the sessions. (A service of ADK may create its tables when it is opened, if it has
none.) A session that changes meanwhile is taken as it was read. The same command again changes nothing: run it again if
it was interrupted.
"""

from ._version import __version__

__all__ = ["__version__"]
