"""What ADK's command line loads from this folder: the import makes it know sessiond:// URIs."""

import sessiond_adk  # noqa: F401
