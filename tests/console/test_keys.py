"""Keys and tokens: secrets are shown once, and what the page says it does is done."""

import pytest

from browser import Keys
from readable import faults
from server import until

pytestmark = pytest.mark.server("--require-auth")


@pytest.fixture
def keys_page(server, browser):
    page = browser.page(server, credential=server.key).open("#/keys")
    page.find("table[aria-label=Keys] .you")
    return page


def keys(server):
    return {key["name"]: key for key in server.api.get("/v1/keys").json["keys"]}


def row(page, name):
    page.find("tbody tr", name)
    return next(line for line in page.all("tbody tr") if line.find_element("css selector", ".open").text == name)


def press_in_row(page, name, label):
    page.js("arguments[0].click()", row(page, name).find_element("css selector", f"button[aria-label^={label}]"))


def secret(page):
    text = page.text("dialog .secret")
    page.click("dialog button", "I have it")
    page.wait("!document.querySelector('dialog')")
    assert text not in page.value("document.documentElement.outerHTML")
    return text


def test_create_a_key(server, app, keys_page):
    page = keys_page
    page.press("n")
    page.wait_text("dialog .request", "Name the key")
    page.fill("dialog input", "shop <b>agent</b>")
    page.choose("dialog select", "agent")
    page.wait_text("dialog .request", "Name the apps")
    assert page.all("dialog textarea")[0].get_attribute("value") == ""
    page.all("dialog textarea")[0].send_keys(f"{app}\n{app}-*")
    assert '"ttl":7776000' in page.text("dialog .request")
    page.js("arguments[0].value = '3600'; arguments[0].dispatchEvent(new Event('change', {bubbles: true}))", page.all("dialog select")[1])
    assert '"ttl":3600' in page.text("dialog .request")
    page.click("dialog button", "Create")
    made = secret(page)
    line = row(page, "shop <b>agent</b>")
    assert [cell.text for cell in line.find_elements("css selector", "td")][1:6] == ["agent", f"{app}, {app}-*", "*", "never", "in 59m"]
    whoami = server.as_token(made).get("/v1/whoami").json
    assert (whoami["role"], whoami["apps"], whoami["users"]) == ("agent", [app, f"{app}-*"], ["*"])


def test_a_key_that_the_server_refuses(server, keys_page):
    page = keys_page
    page.click("button", "New key")
    page.fill("dialog input", "one user")
    page.all("dialog textarea")[0].send_keys("shop")
    page.choose("dialog select", "user")
    page.click("dialog button", "Create")
    page.wait_text("dialog .trouble", "user")
    assert "one user" not in keys(server)


def test_change_sends_only_what_was_changed(server, keys_page):
    page = keys_page
    server.new_key("--role=agent", "--apps=shop", "--name=shop agent", "--ttl=1h")
    page.reload()
    page.click("button.open", "shop agent")
    page.wait_text("dialog .request", "Nothing is changed yet")
    page.choose("dialog select", "reader")
    assert """ '{"role":"reader"}' """ in page.text("dialog .request")
    page.js("arguments[0].value = 'null'; arguments[0].dispatchEvent(new Event('change', {bubbles: true}))", page.all("dialog select")[1])
    page.click("dialog button", "Change")
    page.wait("!document.querySelector('dialog')")
    until("the row is new", lambda: "reader" in row(page, "shop agent").text)
    key = keys(server)["shop agent"]
    assert key["role"] == "reader" and key["apps"] == ["shop"] and "expireTime" not in key


def test_rotate(server, keys_page):
    page = keys_page
    old = server.as_key("--role=agent", "--apps=shop", "--name=shop agent")
    page.reload()
    press_in_row(page, "shop agent", "Rotate")
    page.fill("dialog input", "shop agent 2")
    page.click("dialog button", "Create")
    made = page.text("dialog .secret")
    page.click("dialog button", "Let the old key expire")
    assert '"ttl":86400' in page.text("dialog .request")
    page.click("dialog button", "Change")
    page.wait("!document.querySelector('dialog')")
    listed = keys(server)
    assert "expireTime" in listed["shop agent"] and "expireTime" not in listed["shop agent 2"]
    for client in (old, server.as_token(made)):
        whoami = client.get("/v1/whoami").json
        assert (whoami["role"], whoami["apps"]) == ("agent", ["shop"])


def test_revoke_takes_the_id(server, keys_page):
    page = keys_page
    key = server.as_key("--role=agent", "--name=shop agent")
    id = keys(server)["shop agent"]["id"]
    page.reload()
    press_in_row(page, "shop agent", "Revoke")
    page.fill("dialog input", "shop agent")
    assert not page.find("dialog button", "Revoke").is_enabled()
    page.fill("dialog input", id)
    page.click("dialog button", "Revoke")
    page.wait("!document.querySelector('main').textContent.includes('shop agent')")
    until("the key is refused", lambda: key.send("GET", "/v1/whoami").status == 401)


def test_tokens(server, app, keys_page):
    page = keys_page
    page.click("button", "Issue a token")
    page.wait_text("dialog .request", "Name the app and the user")
    for field, text in zip(page.all("dialog input"), [app, "ada"]):
        field.send_keys(text)
    page.click("dialog button", "Issue")
    page.find("dialog h2", "Token, until 20")
    user = server.as_token(secret(page))
    whoami = user.get("/v1/whoami").json
    assert (whoami["kind"], whoami["role"], whoami["apps"], whoami["users"]) == ("token", "user", [app], ["ada"])

    page.click("button", "Revoke tokens")
    assert page.value("document.activeElement.textContent") == "Cancel"
    for field, text in zip(page.all("dialog input"), [app, "ada"]):
        field.send_keys(text)
    page.click("dialog button", "Revoke")
    page.find(".toast", "Tokens revoked")
    until("the token is refused", lambda: user.send("GET", "/v1/whoami").status == 401)


def test_a_key_cannot_be_worth_more_than_its_maker(server, app, browser):
    page = browser.page(server, credential=server.new_key("--role=agent", f"--apps={app}")).open("#/keys")
    page.find("p", "the role admin sees and makes keys")
    assert page.all("table") == []
    page.click("button", "Issue a token")
    assert page.value("[...document.querySelectorAll('dialog select')[0].options].map((option) => option.value)") == ["reader", "user", "agent"]


def test_keyboard(server, keys_page):
    page = keys_page
    server.new_key("--role=agent", "--name=other")
    page.reload()
    page.find("tbody tr", "other")
    page.press("j", "j", "k", "j", Keys.ENTER)
    second = page.all("tbody .open")[1].text
    assert page.find("dialog input").get_attribute("value") == second


def test_the_secret_is_copied(browser, keys_page):
    page = keys_page
    browser.driver.execute_cdp_cmd("Browser.grantPermissions", {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]})
    page.click("button", "New key")
    page.fill("dialog input", "copied")
    page.all("dialog textarea")[0].send_keys("*")
    page.click("dialog button", "Create")
    shown = page.text("dialog .secret")
    page.click("dialog button", "Copy")
    page.find(".toast", "Copied")
    assert page.value("navigator.clipboard.readText()") == shown


def test_a_server_that_asks_for_no_credential(shared_server, browser):
    page = browser.page(shared_server).open("#/keys")
    page.find(".example", "sessiond keys create --name me --role admin --apps '*'")


@pytest.mark.parametrize("dark", [False, True])
def test_all_can_be_read_and_has_a_name(server, browser, dark):
    page = browser.page(server, dark=dark).open("#/keys")
    page.find("h1", "Sign in")
    assert faults(page) == []
    page.fill("input", server.key)
    page.press(Keys.ENTER)
    page.find(".you")
    assert faults(page) == []
    page.press("n")
    page.fill("dialog input", "shop agent")
    assert faults(page) == []
