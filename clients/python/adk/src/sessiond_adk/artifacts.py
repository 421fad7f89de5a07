"""The artifact service."""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import Any
from urllib.parse import unquote

from google.adk.artifacts import artifact_util
from google.adk.artifacts.base_artifact_service import ArtifactVersion, BaseArtifactService, ensure_part
from google.adk.errors.input_validation_error import InputValidationError
from google.genai import types
from pydantic_core import to_jsonable_python

from sessiond import NotFoundError, SessiondError
from sessiond._paths import segment, session_path, trimmed, user_path
from sessiond._reply import Reply

from ._connect import Connection
from ._errors import check_names, of_adk

_USER = "user:"

_NOTHING = types.Blob(data=b"", mime_type="application/octet-stream")

# Whether what was read is `bytes` or a `text`; and what bytes are called, percent-encoded, if they have a name.
_KIND = "Sessiond-Artifact-Kind"
_NAME = "Sessiond-Artifact-Display-Name"

# How many references a load follows, as ADK's own services do.
_MOST_REFERENCES = 5

_PAGE = "1000"


class SessiondArtifactService(BaseArtifactService):
    """Keeps the files of ADK agents in sessiond, beside their sessions.

    What it guarantees, beyond what ADK asks of an artifact service:

    - When `save_artifact` returns, the whole file is on disk, and every later read through any process shows it. If it
      raises, no part of it is there, or it is unknown whether all of it is; that is in the error's `outcome`.
    - Versions of a file count 0, 1, 2, ... without a gap, whoever saves at the same time, and a version never changes.
    - A file ends with its session, or with its user if its name begins with `user:` or no session is named.

    The session of a file must exist. Names may be any text of up to 256 bytes, also with slashes. Bytes are sent as
    they are, and are in memory as a whole, as in ADK's parts.

    An instance may be used by several event loops and threads; each loop has its own connections.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | Callable[[], str | Awaitable[str]] | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = 15.0,
        retry_for: float = 30.0,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        """Opens no connection yet.

        Args:
          url: Where sessiond is, see `SessiondSessionService`, as for the other arguments.
          token: The credential.
          headers: Sent with every request.
          timeout: Seconds that one attempt of a request may take; with a file in it, that may pass in it without a
            byte that comes or goes.
          retry_for: Seconds in which a request is tried again.
          ssl_context: For `https:`.

        Raises:
          ValueError: As `SessiondSessionService` raises it.
        """
        self._db = Connection(
            url, token=token, headers=headers, timeout=timeout, retry_for=retry_for, ssl_context=ssl_context
        )
        self._http = self._db._http

    async def save_artifact(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        artifact: types.Part | dict[str, Any],
        session_id: str | None = None,
        custom_metadata: dict[str, Any] | None = None,
    ) -> int:
        """Saves a version of a file, once, also if the first answer gets lost; returns its number.

        The log of the session is not changed: ADK's runner appends the event that names the version.

        Args:
          app_name: The app.
          user_id: The user.
          filename: The name.
          artifact: Bytes with their type, a text, or file data; it comes back as that. File data may refer to another
            version (`artifact://...`) of the same user, and if it is one of a session, of this session.
          session_id: The session; None if the file is the user's.
          custom_metadata: An object of up to 8 KiB of JSON.

        Raises:
          SessionNotFoundError: There is no such session.
          InputValidationError: The artifact is none of these, or breaks a rule of sessiond (`SessiondInputError`).
          SessiondError: sessiond cannot be reached, or refuses the file.
        """
        part = ensure_part(artifact)
        _file(app_name, user_id, session_id, filename)
        if session_id is None or filename.startswith(_USER):
            files, event = self._db.user(app_name, user_id).artifacts, None
        else:
            files, event = self._db.session(app_name, user_id, session_id).artifacts, False
        blob = part.inline_data
        if blob is not None and blob.data is None:
            raise InputValidationError("The artifact has inline data without bytes.")
        data = _written(part, app_name, user_id, session_id) if blob is None else blob.data or b""
        with of_adk(session_id or ""):
            saved = await files.save(
                filename,
                data,
                content_type=blob.mime_type or None if blob else None,
                display_name=blob.display_name if blob else None,
                metadata=to_jsonable_python(custom_metadata) if custom_metadata else None,
                event=event,
            )
        return saved.version

    async def load_artifact(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        session_id: str | None = None,
        version: int | None = None,
    ) -> types.Part | None:
        """Returns a version of a file, the latest by default; None if there is none, or a rewind took it away.

        If it refers to another version (`artifact://...`), that one is returned.

        Raises:
          InputValidationError: A reference leads nowhere that it may, or through too many others; or a name breaks a
            rule of sessiond (`SessiondInputError`).
          SessiondError: sessiond cannot be reached.
        """
        for left in range(_MOST_REFERENCES, -1, -1):
            part = await self._load(app_name, user_id, session_id, filename, version)
            if part is None or not artifact_util.is_artifact_ref(part):
                return part
            target = artifact_util.resolve_artifact_reference(
                file_uri=_uri(part),
                app_name=app_name,
                user_id=user_id,
                session_id=_trimmed(session_id),
                remaining_depth=left,
            )
            session_id, filename, version = target.session_id, target.filename, target.version
        raise AssertionError("the last reference that may be followed is refused above")

    async def list_artifact_keys(self, *, app_name: str, user_id: str, session_id: str | None = None) -> list[str]:
        """Returns the names of the files of a session and of its user, or of the user alone, in order.

        Those of the user begin with `user:`. What changes meanwhile may or may not be seen.
        """
        found = None
        if session_id is not None:
            found = await self._all(_place(app_name, user_id, session_id), "artifacts")
        if found is None:
            # Without the session there are still those of the user.
            found = await self._all(_place(app_name, user_id, None), "artifacts")
        return [each["name"] for each in found or ()]

    async def delete_artifact(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> None:
        """Deletes all versions of a file, if there is one; their numbers are not used again."""
        reply = await self._http.send("DELETE", _file(app_name, user_id, session_id, filename))
        if reply.code != "session_not_found":
            reply.success()

    async def list_versions(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> list[int]:
        """Returns the numbers of the versions of a file that there are, ascending."""
        return [each["version"] for each in await self._versions(app_name, user_id, session_id, filename)]

    async def list_artifact_versions(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> list[ArtifactVersion]:
        """Returns what is known of the versions of a file, ascending.

        The `canonical_uri` is `sessiond://` and the path of the version in the API, without its `/v1/`.
        """
        path = _file(app_name, user_id, session_id, filename)
        return [_known(each, path) for each in await self._versions(app_name, user_id, session_id, filename)]

    async def get_artifact_version(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        session_id: str | None = None,
        version: int | None = None,
    ) -> ArtifactVersion | None:
        """Returns what is known of a version of a file, the latest by default; None if there is none."""
        path = _file(app_name, user_id, session_id, filename)
        place, name = _place(app_name, user_id, session_id, filename), _shown(filename, session_id)
        # Of the names that begin with this one, it is the first.
        reply = await self._http.send("GET", place, params={"prefix": name, "pageSize": "1"})
        latest = next(iter((_found(reply) or {}).get("artifacts", ())), None)
        if latest is None or latest["name"] != name:
            return None
        if version is None or latest["version"] == version:
            return _known(latest, path)
        versions = await self._versions(app_name, user_id, session_id, filename)
        return next((_known(each, path) for each in versions if each["version"] == version), None)

    async def close(self) -> None:
        """Closes the connections of the running event loop. The service can be used again."""
        await self._db.close()

    async def __aenter__(self) -> SessiondArtifactService:
        """Returns the service."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the connections."""
        await self.close()

    async def _load(
        self, app_name: str, user_id: str, session_id: str | None, filename: str, version: int | None
    ) -> types.Part | None:
        if version is not None and version < 0:
            return None
        path = _file(app_name, user_id, session_id, filename)
        params = {} if version is None else {"version": str(version)}
        reply = await self._http.send("GET", path, params=params, is_file=True)
        if reply.status == 422:
            # Of file data there are no bytes.
            found = _found(await self._http.send("GET", path, params={**params, "as": "part"}))
            return None if found is None else types.Part.model_validate(found)
        if reply.status != 200:
            _found(reply)
            return None
        said = reply.headers.get(_KIND)
        if said not in ("bytes", "text"):
            raise SessiondError(f"The answer with status 200 is not sessiond's. ({reply.tried})", status=200)
        if said == "text":
            return types.Part(text=reply.content.decode())
        name = reply.headers.get(_NAME)
        blob = types.Blob(
            data=reply.content,
            mime_type=reply.headers.get("Content-Type"),
            display_name=None if name is None else unquote(name),
        )
        # An empty one is how ADK's rewind says that there was none.
        return None if blob == _NOTHING else types.Part(inline_data=blob)

    async def _versions(
        self, app_name: str, user_id: str, session_id: str | None, filename: str
    ) -> list[dict[str, Any]]:
        return await self._all(_file(app_name, user_id, session_id, filename) + "/versions", "versions") or []

    async def _all(self, path: str, field: str) -> list[dict[str, Any]] | None:
        """Returns all of a list; None if there is not what it is of."""
        try:
            return [each async for page in self._http.pages(path, {"pageSize": _PAGE}, {}) for each in page.body[field]]
        except NotFoundError:
            return None


def _trimmed(session_id: str | None) -> str | None:
    return None if session_id is None else trimmed(session_id)


def _shown(filename: str, session_id: str | None) -> str:
    """Returns a name as lists have it."""
    return filename if filename.startswith(_USER) or session_id is not None else _USER + filename


def _place(app_name: str, user_id: str, session_id: str | None, filename: str = "") -> str:
    """Returns the path of the files of a session; of those of the user for a file that is the user's."""
    check_names(app_name=app_name, user_id=user_id)
    if session_id is not None:
        check_names(session_id=session_id)
    if session_id is None or filename.startswith(_USER):
        return user_path(app_name, user_id) + "/artifacts"
    return session_path(app_name, user_id, session_id) + "/artifacts"


def _file(app_name: str, user_id: str, session_id: str | None, filename: str) -> str:
    check_names(filename=filename)
    return _place(app_name, user_id, session_id, filename) + segment(filename, "name of the file")


def _written(part: types.Part, app_name: str, user_id: str, session_id: str | None) -> dict[str, Any]:
    """Returns a part that has no bytes as sessiond takes it."""
    if part.text is not None:
        return {"text": part.text}
    if part.file_data is None or not part.file_data.file_uri:
        raise InputValidationError("An artifact is inline data, a text, or file data with a URI.")
    if artifact_util.is_artifact_ref(part):
        uri = part.file_data.file_uri
        target = artifact_util.parse_artifact_uri(uri)
        if target is None:
            raise InputValidationError(f"The artifact refers to no version of another: {uri}")
        artifact_util.validate_artifact_reference_scope(
            app_name=app_name, user_id=user_id, session_id=_trimmed(session_id), parsed_uri=target
        )
    return {"fileData": part.file_data.model_dump(mode="json", by_alias=True, exclude_none=True)}


def _uri(reference: types.Part) -> str:
    return (reference.file_data and reference.file_data.file_uri) or ""


def _found(reply: Reply) -> dict[str, Any] | None:
    """Returns the body of a success; None if there is no such session or file."""
    if reply.code in ("session_not_found", "artifact_not_found"):
        return None
    body: dict[str, Any] = reply.success()
    return body


def _known(version: dict[str, Any], path: str) -> ArtifactVersion:
    return ArtifactVersion(
        version=version["version"],
        canonical_uri=f"sessiond://{path.removeprefix('/v1/')}/versions/{version['version']}",
        custom_metadata=version.get("metadata") or {},
        create_time=version["createTime"],
        mime_type=version.get("mimeType"),
    )
