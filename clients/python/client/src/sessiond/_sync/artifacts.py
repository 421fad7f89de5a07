# Made by make_sync.py, of _async/artifacts.py.
"""Files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

from .._http1 import TransportError
from .._json import dumps
from .._paths import given, name_of, new_id, params, segment
from .._records import Version
from .._reply import NoAnswer, not_reached, unpacked
from .._times import Limits
from .http import Http

if TYPE_CHECKING:
    from typing_extensions import Unpack

_WHAT = "name of the file"


class File:
    """A version of a file, which is read when it is asked for: the handle itself costs no request.

    `read` returns it whole. Iterated, it comes in pieces, of any size, over a connection of its own; then it is asked
    for once, and a connection that breaks is an error.
    """

    def __init__(self, http: Http, path: str, query: dict[str, str], limits: Limits) -> None:
        """Sends nothing. See `Artifacts.get`."""
        self._http = http
        self._path = path
        self._query = query
        self._limits = limits

    def read(self) -> bytes:
        """Returns its bytes; those of a text are in UTF-8.

        Raises:
          NotFoundError: There is no such file or version.
          InputError: It is a URI, and has no bytes here.
        """
        reply = self._http.send("GET", self._path, params=self._query, is_file=True, **self._limits)
        if reply.status != 200:
            raise reply.error
        return reply.content

    def __iter__(self) -> Iterator[bytes]:
        """Yields its bytes in pieces. Raises as `read` does."""
        try:
            with self._http.stream(self._path, params=self._query, headers={}, silence=0.0) as answer:
                if answer.status != 200:
                    raise (self._http.read(self._path, answer)).error
                unpacked(answer.headers)
                while piece := answer.piece():
                    yield piece
        except NoAnswer as error:
            raise self._http.failed(f"{str(error).capitalize()}. (GET {self._http.url(self._path)})") from None
        except TransportError as error:
            raise self._http.failed(f"{not_reached(error)} (GET {self._http.url(self._path)})") from error


class Artifacts:
    """The files of a session or a user: named bytes, of which each save makes a version.

    A version never changes. Names may be any text of up to 256 bytes, also with slashes; those of the user begin with
    `user:`. A list of a session has its user's, too.
    """

    def __init__(self, http: Http, path: str, fence: Mapping[str, str]) -> None:
        """Sends nothing. See `Session.artifacts`; `fence` is what the writes of a turn carry."""
        self._http = http
        self._path = path
        self._fence = fence

    def save(
        self,
        name: str,
        data: bytes | str | BinaryIO | Mapping[str, Any],
        *,
        content_type: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        display_name: str | None = None,
        event: bool | None = None,
        author: str | None = None,
        invocation_id: str | None = None,
        exist_ok: bool = True,
        **limits: Unpack[Limits],
    ) -> Version:
        """Saves a version, once, also if the first answer gets lost. When it returns, all of it is on disk.

        Args:
          name: The name.
          data: Bytes; or a binary file, from where it is to its end, which must be one that can be read again; or a
            text; or a part as ADK has it, such as `{"fileData": {"fileUri": ...}}` for what is elsewhere.
          content_type: The type of bytes, kept as it is; by default `application/octet-stream`.
          metadata: An object of up to 8 KiB of JSON.
          display_name: What a download is called.
          event: Whether the session gets an event that names the version; by default it does. A file of a user gets
            none.
          author: The author of that event; by default `user`.
          invocation_id: The turn that it is part of.
          exist_ok: False saves only if there is no file of that name.
          **limits: See `Limits`. One attempt may take any time in which bytes come or go.

        Raises:
          StaleError: There is a file of that name, and `exist_ok` is False.
          NotFoundError: There is no such session.
          InputError: It breaks a rule of sessiond, such as its limit of size.
        """
        name_of(name, _WHAT)
        headers = {"Idempotency-Key": new_id(), **self._fence}
        if not exist_ok:
            headers["If-None-Match"] = "*"
        said = None if event is None else "append" if event else "none"
        terms = params(event=said, author=author, invocationId=invocation_id)
        if isinstance(data, str | Mapping):
            part = {"text": data} if isinstance(data, str) else data
            body = {"name": name, "part": part, **terms, **given(metadata=metadata)}
            reply = self._http.send("POST", self._path, body=body, headers=headers, **limits)
        else:
            if content_type is not None:
                if not (content_type.isascii() and content_type.isprintable()):
                    raise self._http.refused("The type of the file has characters that no type has.")
                headers["Content-Type"] = content_type
            written = None if metadata is None else dumps(metadata).decode()
            query = params(**terms, metadata=written, displayName=display_name)
            path = self._path + segment(name, _WHAT)
            reply = self._http.send("PUT", path, content=data, params=query, headers=headers, **limits)
        return Version(reply.success())

    def get(self, name: str, *, version: int | None = None, at: int | None = None, **limits: Unpack[Limits]) -> File:
        """Returns a version, to be read: the latest, or that of a number, or that of a revision of the session.

        It sends no request.
        """
        return File(self._http, self._path + segment(name, _WHAT), params(version=version, atRevision=at), limits)

    def delete(self, name: str, *, version: int | None = None, **limits: Unpack[Limits]) -> None:
        """Deletes a file, or one version of it, if there is one. Numbers are not used again."""
        path, query = self._path + segment(name, _WHAT), params(version=version)
        (self._http.send("DELETE", path, params=query, headers=self._fence, **limits)).success()

    def versions(self, name: str, **limits: Unpack[Limits]) -> Iterator[Version]:
        """Yields the versions of a file, ascending."""
        return self._all(f"{self._path}{segment(name, _WHAT)}/versions", "versions", {}, limits)

    def list(self, *, prefix: str | None = None, at: int | None = None, **limits: Unpack[Limits]) -> Iterator[Version]:
        """Yields the latest version of each file whose name begins so, in the order of names.

        With `at`, those that the session had at that revision.
        """
        return self._all(self._path, "artifacts", params(prefix=prefix, atRevision=at), limits)

    def __iter__(self) -> Iterator[Version]:
        """Yields the latest version of each file, in the order of names."""
        return self.list()

    def __setitem__(self, name: str, data: bytes | str | BinaryIO | Mapping[str, Any]) -> None:
        """Saves a version; see `save`."""
        self.save(name, data)

    def _all(self, path: str, field: str, query: dict[str, str], limits: Limits) -> Iterator[Version]:
        for page in self._http.pages(path, query, limits):
            for each in page.success()[field]:
                yield Version(each)
