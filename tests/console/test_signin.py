"""Signing in: each role sees what it may do, and a credential that is refused leads back to the field for one."""

import pytest

from browser import Keys
from server import event, path, until

pytestmark = pytest.mark.server("--require-auth")

FIELD = "input[type=password]"


def sign_in(page, credential):
    page.fill(FIELD, credential)
    page.press(Keys.ENTER)


def token(server, app, user="ada", **more):
    return server.api.post("/v1/tokens", {"app": app, "user": user, **more}).json["token"]


def buttons(page):
    """Names of the buttons that are there, without those of values and rows."""
    found = page.value("[...document.querySelectorAll('main button:not([hidden], .filters *, th *)')].map((button) => button.textContent)")
    return {name for name in found if not name.startswith(("Copy", "Sessions", "App", "User", "More"))}


def links(page):
    return page.value("[...document.querySelectorAll('#nav a')].map((link) => link.textContent)")


def test_without_a_credential_there_is_a_field_for_one(page):
    page.open("#/server")
    page.find("h1", "Sign in")
    assert page.value("document.activeElement.type") == "password"
    assert page.all("[role=alert]")[0].text == ""
    assert links(page) == ["sessiond"]


def test_it_is_kept_for_this_tab_alone(server, page, browser):
    page.open("#/server")
    sign_in(page, f"  {server.key} ")
    page.find("h1", "Server")
    assert page.address() == "#/server"
    page.reload()
    page.find("h1", "Server")
    assert page.value("localStorage.length") == 0
    assert page.value("document.cookie") == ""
    assert server.key not in page.value("document.documentElement.outerHTML")
    other = browser.page(server, kind="window").open("#/server")
    other.find("h1", "Sign in")


def test_a_curl_command_has_a_variable_in_place_of_the_key(server, app, page):
    page.open(f"#/app/{app}")
    sign_in(page, server.key)
    example = page.text(".sessions .example")
    assert '-H "Authorization: Bearer $SESSIOND_TOKEN"' in example
    assert server.key not in example


@pytest.mark.parametrize("wrong", ["wrong", "sdk_abcdefghijkl_" + "x" * 49, "sdu_e30.e30", "a.b.c"])
def test_a_wrong_credential(server, page, wrong):
    page.open("#/server")
    sign_in(page, wrong)
    page.find("[role=alert]", "does not accept")
    assert page.value("document.activeElement.type") == "password"
    sign_in(page, server.key)
    page.find("h1", "Server")


@pytest.mark.parametrize("text", ["two words", "schlüssel", "sdk_\u200bx"])
def test_what_no_header_takes_is_not_sent(page, text):
    page.open()
    sign_in(page, text)
    page.find("[role=alert]", "This is no credential")


def test_an_expired_key_leads_back_to_the_same_page(server, app, page):
    server.api.session(app, id="s1")
    server.api.session(app, id="s2")
    key = server.new_key("--role=agent")
    page.open(f"#/app/{app}/user/ada?idPrefix=s")
    sign_in(page, key)
    page.find(".sessions a", "s2")
    page.press("n")
    page.find("dialog", "New session")
    server.api.ask("PATCH", path("keys", key.split("_")[1]), {"ttl": 0.001})
    until("the key is expired", lambda: server.as_token(key).send("GET", "/v1/whoami").status == 401)
    page.click("dialog button", "Create")
    page.find("[role=alert]", "expired")
    assert page.all("dialog") == []
    sign_in(page, token(server, app))
    page.find(".sessions a", "s2")
    assert page.address() == f"#/app/{app}/user/ada?idPrefix=s"


def test_a_revoked_key_leads_back_to_the_field(server, app, page):
    key = server.new_key("--role=agent")
    page.open(f"#/app/{app}")
    sign_in(page, key)
    page.find("h1", app)
    id = key.split("_")[1]
    server.api.ask("DELETE", path("keys", id))
    until("the key is refused", lambda: server.as_token(key).send("GET", "/v1/whoami").status == 401)
    page.go("#/server")
    page.find("[role=alert]", "revoked")


def test_signing_out_forgets_all(server, app, page):
    server.api.session(app, id="s1")
    page.open(f"#/app/{app}/user/ada/session/s1")
    sign_in(page, server.key)
    page.find(".crumbs h1", "s1")
    page.click("button", "Sign out")
    page.find("h1", "Sign in")
    assert page.value("sessionStorage.length + localStorage.length") == 0


ROLES = {
    "reader": (["Apps", "Server"], set(), set()),
    "agent": (["Apps", "Keys", "Server"], {"New session", "Edit state…"}, {"New session", "Edit state…", "Delete…", "Upload…"}),
    "operator": (
        ["Apps", "Keys", "Erasures", "Server"],
        {"Change policy…", "New session", "Edit state…"},
        {"New session", "Edit state…", "Delete…", "Upload…", "Erase…", "Export"},
    ),
    "admin": (
        ["Apps", "Keys", "Erasures", "Server"],
        {"Change policy…", "New session", "Edit state…"},
        {"New session", "Edit state…", "Delete…", "Upload…", "Erase…", "Export"},
    ),
}


@pytest.mark.parametrize("role", ROLES)
def test_what_a_key_of_a_role_sees(server, app, page, role):
    names, of_app, of_user = ROLES[role]
    server.api.session(app, id="s1", state={"app:currency": "EUR", "user:name": "Ada"})
    page.open(f"#/app/{app}")
    sign_in(page, server.new_key(f"--role={role}"))
    page.find(".sessions a", "s1")
    page.find(".scope summary", "EUR")
    assert links(page) == ["sessiond", *names]
    page.find(".role", role)
    assert buttons(page) == of_app
    page.go(f"#/app/{app}/user/ada")
    page.find(".scope summary", "Ada")
    assert buttons(page) == of_user
    page.press("n", "e")
    assert bool(page.all("dialog")) == bool(of_user)


def test_what_a_user_sees(server, app, page):
    server.api.session(app, user="ada", id="mine", state={"app:currency": "EUR", "user:name": "Ada"})
    server.api.session(app, user="bob", id="not-mine", state={"user:name": "Bob"})
    page.open(f"#/app/{app}")
    sign_in(page, token(server, app))
    page.find(".sessions a", "mine")
    assert "bob" not in page.text("#main") and "not-mine" not in page.text("#main")
    assert links(page) == ["sessiond", "Apps", "Server"]
    assert buttons(page) == {"New session"}

    page.go(f"#/app/{app}/user/bob")
    page.find("h1", "bob")
    assert buttons(page) == set()
    assert "not-mine" not in page.text("#main") and "Bob" not in page.text("#main")

    page.go(f"#/app/{app}/user/ada")
    page.find(".scope summary", "Ada")
    assert buttons(page) == {"New session", "Edit state…", "Delete…", "Upload…"}

    page.go(f"#/app/{app}")
    page.find("h1", app)
    page.click("button", "New session")
    assert page.find("dialog input").get_attribute("value") == "ada"
    page.click("dialog button", "Create")
    page.wait(f"location.hash.startsWith('#/app/{app}/user/ada/session/')")
    assert len(server.api.get(path("apps", app, "users", "ada", "sessions")).json["sessions"]) == 2

    page.go("#/server")
    page.find("dd", "user token")
    page.go("#/keys")
    page.find("h1", "Keys")
    assert buttons(page) == set()


def test_a_key_for_one_app_is_told_what_it_may_do_elsewhere(server, app, page):
    server.api.session(app, id="s1")
    server.api.session("elsewhere", id="s2")
    page.open("#/app/elsewhere")
    sign_in(page, server.new_key("--role=agent", f"--apps={app}"))
    page.find(".sessions .empty")
    assert buttons(page) == set()
    page.go("#/")
    page.find("a", app)
    assert "elsewhere" not in page.text("#main")


def test_a_refusal_of_the_server_is_said(server, app, page):
    """A user may not change `app:` keys; the console sends what is typed, and says what comes back."""
    page.open(f"#/app/{app}/user/ada")
    sign_in(page, token(server, app))
    page.click("button", "New session")
    page.fill("dialog textarea", '{"app:currency": "EUR"}')
    page.click("dialog button", "Create")
    page.wait_text("dialog .trouble", "agent")
    assert server.api.get(path("apps", app, "sessions")).json == {"sessions": []}


def test_the_server_page_says_who_one_is(server, app, page):
    page.open("#/server")
    sign_in(page, token(server, app, role="reader"))
    page.find("dd", "user token")
    text = page.text("#main")
    assert f"Role\nreader\nApps\n{app}\nUsers\nada\nExpires\nin " in text


def test_an_address_opens_nothing_while_nobody_is_signed_in(server, page):
    page.open("#/")
    page.fill(FIELD, "half a")
    page.go("#/server")
    page.go("#/keys")
    assert page.find(FIELD).get_attribute("value") == "half a"
    assert links(page) == ["sessiond"]
    page.find(FIELD).clear()
    sign_in(page, server.key)
    page.find("h1", "Keys")
