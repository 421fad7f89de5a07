"""What a token may consist of."""

from __future__ import annotations

import re

# What RFC 6750, section 2.1, lets a token consist of. Everything else would end as an error of the HTTP library, which
# shows the header.
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")


def checked(token: str) -> str:
    """Returns the token without white space around it, which a file may have. The errors do not show it."""
    if not isinstance(token, str):
        raise TypeError("The token is not a string.")
    token = token.strip()
    if token.lower().startswith("bearer "):
        raise ValueError("The token is given without the word `Bearer`, which the client puts in front of it.")
    if not _TOKEN.fullmatch(token):
        raise ValueError("The token is empty, or has characters that no token has.")
    return token
