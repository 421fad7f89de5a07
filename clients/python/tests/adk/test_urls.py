"""Where sessiond is, and what ADK makes of it."""

import pytest
from google.adk.cli.service_registry import get_service_registry
from google.adk.cli.utils.service_factory import (
    create_artifact_service_from_options,
    create_session_service_from_options,
)

from sessiond._async.token import AsyncBearer
from sessiond_adk import SessiondArtifactService, SessiondSessionService


def token(service: SessiondSessionService | SessiondArtifactService) -> str | None:
    shown = service._http._auth
    return shown._token if isinstance(shown, AsyncBearer) else None


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("http://host/", "http://host"),
        ("https://host:8443/prefix/", "https://host:8443/prefix"),
        ("sessiond://host", "http://host:8080"),
        ("sessiond://host:90/", "http://host:90"),
        ("sessiond://[::1]", "http://[::1]:8080"),
        ("sessiond://[::1]:90", "http://[::1]:90"),
        ("sessiond+https://host", "https://host"),
        ("sessiond+https://host/prefix", "https://host/prefix"),
    ],
)
def test_the_url(given: str, used: str) -> None:
    assert SessiondSessionService(given)._http._url == SessiondArtifactService(given)._http._url == used


@pytest.mark.parametrize(
    "url",
    [
        *("", "host:8080", "sessiond:", "sessiond://", "ftp://host", "http://host:secret", "http://[secret"),
        *("http://host\u2100secret", "http://host?a=secret", "http://host#secret"),
    ],
)
def test_what_is_no_such_url_is_refused_without_being_shown(url: str) -> None:
    for make in (SessiondSessionService, SessiondArtifactService):
        with pytest.raises(ValueError, match="URL of sessiond is http://HOST:PORT") as refused:
            make(url)
        assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    "url",
    [
        *("sessiond://secret@host", "sessiond://user:secret@host:1/path", "sessiond+https://:secret@host"),
        *("sessiond://host?token=secret", "sessiond://host?lease_ttl=5&access_token=secret", "sessiond://host?token="),
    ],
)
def test_a_credential_in_the_uri_is_refused_without_being_shown(url: str) -> None:
    registry = get_service_registry()
    services = SessiondSessionService, SessiondArtifactService
    for make in (*services, registry.create_session_service, registry.create_artifact_service):
        with pytest.raises(ValueError, match=r"holds no credential.* SESSIOND_TOKEN\.$") as refused:
            make(url)
        assert "secret" not in str(refused.value)


def test_the_uri_of_adk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SESSIOND_TOKEN", "secret")
    service = create_session_service_from_options(
        base_dir=".",
        session_service_uri="sessiond://host:1?concurrency=lease&history=effective&lease_ttl=5&lease_wait=7"
        "&timeout=2.5&retry_for=0",
    )
    assert isinstance(service, SessiondSessionService)
    assert (service._http._url, service._if_seen) == ("http://host:1", False)
    assert (service._http._timeout, service._http._retry_for) == (2.5, 0.0)
    assert service._effective
    assert service._leases and (service._leases._ttl, service._leases._wait) == (5.0, 7.0)
    assert token(service) == "secret"

    secure = create_session_service_from_options(
        base_dir=".", session_service_uri="sessiond+https://host?concurrency=session", session_db_kwargs={"token": "t"}
    )
    assert isinstance(secure, SessiondSessionService)
    assert (secure._http._url, secure._if_seen) == ("https://host", True)
    assert secure._leases is None and not secure._effective
    assert token(secure) == "t"


def test_the_uri_of_adk_for_artifacts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SESSIOND_TOKEN", "secret")
    service = create_artifact_service_from_options(
        base_dir=".", artifact_service_uri="sessiond://host:1?timeout=2.5&retry_for=0", strict_uri=True
    )
    assert isinstance(service, SessiondArtifactService)
    assert service._http._url == "http://host:1"
    assert (service._http._timeout, service._http._retry_for) == (2.5, 0.0)
    assert token(service) == "secret"
    secure = create_artifact_service_from_options(base_dir=".", artifact_service_uri="sessiond+https://host")
    assert isinstance(secure, SessiondArtifactService)
    assert secure._http._url == "https://host"
    for query in ("concurrency=none", "history=full", "timeout=soon", "strict=true"):
        with pytest.raises(ValueError, match="for artifacts"):
            get_service_registry().create_artifact_service(f"sessiond://host?{query}")


@pytest.mark.parametrize(
    "query",
    ["concurrency=yes", "history=some", "timeout=soon", "strict=true", "concurrency", "lease=wait", "lease_ttl=long"],
)
def test_wrong_options_in_the_uri_are_refused(query: str) -> None:
    with pytest.raises(ValueError, match=r"concurrency=none\|session\|lease"):
        get_service_registry().create_session_service(f"sessiond://host?{query}")
