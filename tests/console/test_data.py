"""What removes data, and what takes it elsewhere: policies, trim, erasures, exports."""

import json

import pytest

from browser import Keys
from server import event, path, until

NUMBER = "1.10"


def opened(page, app, *rest):
    page.open(f"#/app/{app}" + "".join(f"/{part}" for part in rest))


def lines(file):
    until("the download", file.exists)
    return file.read_bytes().decode().removesuffix("\n").split("\n")


def test_a_policy_is_tried_then_set(api, app, page):
    session = api.session(app)
    api.append(session, *[event(f"e{n}", text=f"Text {n}") for n in range(5)])
    opened(page, app)
    page.find(".scope", "Nothing is removed unless asked")
    page.click("button", "Change policy")
    page.fill("dialog textarea", '{"sessions":{"idleTtl":"2d"}')
    page.wait("document.querySelector('dialog button[type=submit]').disabled")
    page.fill("dialog textarea", '{"sessions":{"idleTtl":"2d"}}')
    assert "/policy" in page.text("dialog .request") and "PUT" in page.text("dialog .request")
    page.click("dialog button", "Dry run")
    page.wait_text("dialog [role=status]", "It would remove 0 sessions, 0 events of 0 others.")
    for n in range(3):
        api.save(session, "notes", f"text {n}".encode(), event="none")
    page.fill("dialog textarea", '{"sessions":{"idleTtl":"2d"},"artifacts":{"keepVersions":1}}')
    page.click("dialog button", "Dry run")
    page.wait_text("dialog [role=status]", "of 0 others, 2 versions of files.")
    page.fill("dialog textarea", '{"sessions":{"idleTtl":"2d"}}')
    assert api.get(f"{path('apps', app)}/policy").json == {}
    page.click("dialog button[type=submit]", "Set")
    page.wait("!document.querySelector('dialog')")
    page.find("section[aria-label=Policy]", "idleTtl")
    assert api.get(f"{path('apps', app)}/policy").json == {"sessions": {"idleTtl": "2d"}}


def test_a_policy_that_the_server_refuses(api, app, page):
    api.session(app)
    opened(page, app)
    page.click("button", "Change policy")
    page.fill("dialog textarea", '{"sessions":{"idleTtl":"1h"}}')
    page.click("dialog button", "Dry run")
    page.wait_text("dialog [role=status]", "idleTtl")
    page.click("dialog button[type=submit]", "Set")
    page.wait_text("dialog .trouble", "idleTtl")
    assert api.get(f"{path('apps', app)}/policy").json == {}


def test_trim_to_here(api, app, page):
    session = api.session(app)
    api.append(session, *[event(f"e{n}", text=f"Text {n}", delta={"n": n}) for n in range(1, 7)])
    page.open(f"#/app/{app}/user/ada/session/s1?at=4")
    page.find(".row[aria-current=true]", "Text 4")
    page.click("button", "Trim to here")
    assert page.value("document.activeElement.textContent") == "Cancel"
    page.wait_text("dialog .request", "The id is not typed yet")
    page.fill("dialog input", "s1")
    assert '{"beforeSequence":5}' in page.text("dialog .request") and 'If-Match: "6"' in page.text("dialog .request")
    api.append(session, event("late", text="Late"))
    page.click("dialog button[type=submit]", "Trim")
    page.wait_text("dialog .trouble", "Nothing was trimmed: event 7 came meanwhile")
    assert api.get(session).json.get("baseRevision", 0) == 0
    page.click("dialog button[type=submit]", "Trim")
    page.wait("!document.querySelector('dialog')")
    page.find(".timeline .start", "Events 1–4 were trimmed")
    page.wait("!document.querySelector('.timeline').textContent.includes('Text 3')")
    assert api.get(session).json["baseRevision"] == 4
    page.find(".timeline", "Text 6")


def test_cancel_has_the_focus_in_every_dangerous_dialog(api, app, page):
    session = api.session(app)
    api.append(session, event("e1", text="One"), event("e2", text="Two"))
    for address, words in [
        (f"#/app/{app}", ["Change policy"]),
        (f"#/app/{app}/user/ada", ["Erase", "Delete"]),
        (f"#/app/{app}/user/ada/session/s1?at=1", ["Trim to here", "Rewind to here"]),
    ]:
        page.open(address)
        page.find("h1")
        for word in words:
            page.js("arguments[0].click()", until(word, lambda word=word: page.js(
                "return [...document.querySelectorAll('#main button')].find((one) => one.textContent.startsWith(arguments[0]))", word)))
            page.find("dialog .danger")
            assert page.value("document.activeElement.textContent") == "Cancel", word
            page.press(Keys.ENTER)
            page.wait("!document.querySelector('dialog')")
    assert api.get(session).json["revision"] == 2


def test_an_export_is_what_the_server_gives(api, app, page, browser, tmp_path):
    session = api.session(app)
    api.post(f"{session}/events", f'{{"id":"odd","author":"user","z":{NUMBER},"Z":1E+2}}')
    api.append(session, *[event(f"e{n}", text=f"Text {n}", delta={"n": n}) for n in range(1200)])
    browser.save_to(tmp_path)
    page.open(f"#/app/{app}/user/ada/session/s1")
    page.click("button", "Export")
    whole = lines(tmp_path / "s1.ndjson")
    assert f'"z":{NUMBER},"Z":1E+2' in whole[2]
    assert [json.loads(line)["type"] for line in whole].count("event") == 1201
    assert json.loads(whole[-1]) == {"type": "end", "sessions": 1, "events": 1201}
    opened(page, app, "user", "ada")
    page.click("button", "Export")
    assert json.loads(lines(tmp_path / "ada.ndjson")[0])["scope"] == "user"


def test_erase_a_user(api, app, page):
    session = api.session(app)
    opened(page, app, "user", "ada")
    page.click("button", "Erase…")
    page.wait_text("dialog .request", "The id is not typed yet")
    page.fill("dialog input", "ada")
    page.all("dialog input")[1].send_keys("ticket 12")
    assert '"reference":"ticket 12"' in page.text("dialog .request")
    page.click("dialog button[type=submit]", "Erase")
    page.find("h1", "Erasures")
    page.find("table[aria-label=Erasures] tr", "ticket 12")
    assert api.send("GET", session).status == 404

    def receipt():
        page.click("button", "Check again")
        return page.js("return [...document.querySelectorAll('td button')].some((one) => one.textContent === 'Copy receipt')")

    until("the receipt", receipt)
    [erasure] = [one for one in api.get("/v1/erasures").json["erasures"] if one["appName"] == app]
    assert erasure["state"] == "done"


@pytest.mark.server("--require-auth")
@pytest.mark.parametrize("role", ["reader", "agent"])
def test_who_may_not_sees_no_button(server, browser, app, role):
    server.api.append(server.api.session(app), event("e1", text="One"))
    page = browser.page(server, credential=server.new_key(f"--role={role}", f"--apps={app}"))
    for address, words in [
        (f"#/app/{app}", ["Change policy", "Export"]),
        (f"#/app/{app}/user/ada", ["Erase", "Export"]),
        (f"#/app/{app}/user/ada/session/s1", ["Trim", "Export"]),
    ]:
        page.open(address)
        page.find("h1")
        shown = page.js("return [...document.querySelectorAll('button')].map((one) => one.textContent)")
        assert not [text for text in shown for word in words if text.startswith(word)]
    assert "Erasures" not in page.text("#nav")
