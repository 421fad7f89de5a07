"""Where sessiond is, and what ADK makes of it."""

import pytest
from google.adk.cli.service_registry import get_service_registry
from google.adk.cli.utils.service_factory import create_session_service_from_options

from sessiond_adk import SessiondSessionService


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
    assert SessiondSessionService(given)._http._url == used


@pytest.mark.parametrize(
    "url", ["", "host:8080", "sessiond:", "sessiond://", "ftp://host", "http://user:secret@host", "http://host?a=b"]
)
def test_what_is_no_such_url_is_refused_without_being_shown(url: str) -> None:
    with pytest.raises(ValueError, match="URL of sessiond") as refused:
        SessiondSessionService(url)
    assert "secret" not in str(refused.value)


def test_the_uri_of_adk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SESSIOND_TOKEN", "secret")
    service = create_session_service_from_options(
        base_dir=".", session_service_uri="sessiond://host:1?strict=true&timeout=2.5&retry_for=0"
    )
    assert isinstance(service, SessiondSessionService)
    assert (service._http._url, service._strict) == ("http://host:1", True)
    assert (service._http._timeout, service._http._retry_for) == (2.5, 0.0)
    assert service._http._headers["Authorization"] == "Bearer secret"

    secure = create_session_service_from_options(
        base_dir=".", session_service_uri="sessiond+https://host", session_db_kwargs={"strict": True, "token": "t"}
    )
    assert isinstance(secure, SessiondSessionService)
    assert (secure._http._url, secure._strict) == ("https://host", True)
    assert secure._http._headers["Authorization"] == "Bearer t"


@pytest.mark.parametrize("query", ["strict=yes", "timeout=soon", "stricter=true", "strict"])
def test_wrong_options_in_the_uri_are_refused(query: str) -> None:
    with pytest.raises(ValueError, match="strict=true"):
        get_service_registry().create_session_service(f"sessiond://host?{query}")
