"""Apps, the sessions of an app and of a user, their shared state, and the palette."""

import csv
import io
import re
import subprocess

import pytest

from browser import Keys
from readable import faults
from server import event, path, until

HOSTILE = ["<img src=x onerror=alert(1)>", "a/b?c#d&e", "\u202edlrow", "100% + 1", "'\"`", "x" * 256]


def ids(page):
    return page.value("[...document.querySelectorAll('.sessions tbody tr')].map((row) => row.querySelector('a').href.split('/').at(-1))")


def wait_ids(page, *expected):
    page.wait("""[...document.querySelectorAll('.sessions table:not([hidden]) tbody tr')]
        .map((row) => decodeURIComponent(row.querySelector('a').href.split('/').at(-1))).join() === arguments[0]""", ",".join(expected))


def made(api, app, *rows):
    """Sessions, the last of them with the newest event: (user, id, fields)."""
    for number, (user, id, fields) in enumerate(rows):
        session = api.session(app, user, id, **fields)
        api.append(session, event("e1", text="Hello", timestamp=1_700_000_000 + number))


@pytest.mark.server()
def test_without_apps_the_next_command_is_shown_and_runs_as_it_is_copied(server, page, copied):
    page.open()
    page.wait_text(".empty .example", f"{server.url}/v1/apps/shop/users/ada/sessions")
    command = copied(page, lambda: page.click(".example + button", "Copy"))
    subprocess.run(["bash", "-c", command], check=True, capture_output=True)
    page.reload()
    page.find("td a", "shop")


def test_apps_with_their_last_session(api, app, page):
    made(api, app, ("ada", "older", {}), ("bob", "newest", {"displayName": "Return of a coat"}))
    api.append(path("apps", app, "users", "bob", "sessions", "newest"), event("e2", timestamp=1_700_000_001, errorCode="QUOTA"))
    page.open("#/")
    page.find("tbody tr", app)
    row = next(line for line in page.all("tbody tr") if line.find_element("css selector", ".open").text == app)
    page.js("arguments[0].scrollIntoView()", row)
    until("its last session", lambda: "Return of a coat" in row.text)
    until("its numbers", lambda: "QUOTA" in row.text)
    assert [cell.text for cell in row.find_elements("css selector", "td")][1:4] == ["2", "3", "QUOTA"]
    assert re.fullmatch(r"\d+y ago", row.find_element("css selector", "time").text)
    assert re.fullmatch(r"2023-11-1[45] \d\d:\d\d:\d\d\.000", row.find_element("css selector", "time").get_attribute("title"))


def test_what_was_opened_is_listed_until_it_is_forgotten(api, app, page):
    api.session(app, id="s1", displayName="Return of a coat")
    page.open(f"#/app/{app}/user/ada/session/s1")
    page.find(".crumbs h1", "Return of a coat")
    page.go("#/")
    page.find(".links a", "Return of a coat")
    page.click("button", "Forget these")
    page.find("p.empty", "Sessions that you open")
    page.reload()
    page.find("p.empty", "Sessions that you open")


def test_sessions_newest_first_with_titles_and_labels(api, app, page):
    made(api, app, ("ada", "s1", {"displayName": "Return of a coat", "labels": {"team": "returns"}}), ("bob", "s2", {}))
    page.open(f"#/app/{app}")
    wait_ids(page, "s2", "s1")
    row = page.all(".sessions tbody tr")[1]
    assert [cell.text for cell in row.find_elements("css selector", "td")][:4] == ["Return of a coat s1", "ada", "team=returns", "1"]


def test_another_order_is_in_the_address(api, app, page):
    made(api, app, ("ada", "second", {}), ("ada", "third", {}))
    api.append(api.session(app, id="first"), event("e1", timestamp=1_600_000_000), event("e2", timestamp=4_000_000_000))
    page.open(f"#/app/{app}")
    wait_ids(page, "first", "third", "second")
    assert page.text("th[aria-sort=descending]") == "Updated"
    assert re.fullmatch(r"\d+d", page.all(".sessions td.span")[0].text)
    page.click("th button", "Created")
    wait_ids(page, "first", "third", "second")
    page.click("th button", "Created")
    wait_ids(page, "second", "third", "first")
    assert page.address() == f"#/app/{app}?orderBy=createTime&order=asc" and page.text("th[aria-sort=ascending]") == "Created"
    page.click("th button", "Updated")
    wait_ids(page, "first", "third", "second")
    assert page.address() == f"#/app/{app}"


def test_sessions_are_found_by_title_and_id(api, app, page):
    made(api, app, ("ada", "r1", {"displayName": "Rückgabe eines Mantels"}), ("bob", "mantel-2", {}), ("ada", "r3", {"displayName": "A shirt"}))
    page.open(f"#/app/{app}")
    wait_ids(page, "r3", "mantel-2", "r1")
    page.press("/")
    page.press("MANTEL")
    wait_ids(page, "mantel-2", "r1")
    page.fill("[aria-label='Title or id has']", "ruck mantel")
    wait_ids(page, "r1")
    assert page.address() == f"#/app/{app}?title=ruck+mantel"


def test_a_list_is_saved_as_csv(api, app, page, browser, tmp_path):
    browser.save_to(tmp_path)
    titles = ["=HYPERLINK(1)", "+1", "-1", "@SUM(1)", "\t=1", "say \"a,b\"\nc", "café", "-",
              "x;=cmd|'/C calc'!A1", "x\t=1+1", "x =1"]
    for n, title in enumerate(titles):
        api.session(app, user=f"u{n}", id=f"s{n}", displayName=title, labels={"n": f"{n},"})
    api.session(app, user="other", id="other")
    page.open(f"#/app/{app}?userPrefix=u&orderBy=createTime&order=asc")
    page.find(".sessions td a", "=HYPERLINK")
    page.js("const real = fetch; window.fetch = (url, rest) => real(url.replace('pageSize=1000', 'pageSize=3'), rest)")
    page.click("button", "Save as CSV")
    file = tmp_path / f"{app}-sessions.csv"
    until("the file", file.exists)
    text = file.read_bytes().decode()
    assert text.startswith("\ufeffid,userId,displayName,labels,revision,createTime,") and text.endswith("\r\n")
    rows = list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline="")))
    behind = {"\t=1": "'\t'=1", "x;=cmd|'/C calc'!A1": "x;'=cmd|'/C calc'!A1", "x\t=1+1": "x\t'=1+1"}
    expected = [behind.get(title, title if title[0] in "scx" else f"'{title}") for title in titles]
    assert [row["displayName"] for row in rows] == expected
    # Nor is there a formula for who takes a semicolon or a tab for the end of a cell.
    for delimiter in ";\t":
        cells = [cell for row in csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), delimiter=delimiter, strict=False) for cell in row]
        assert not [cell for cell in cells if cell.lstrip(" \t\r\n\"")[:1] in ("=", "+", "-", "@")]
    listed = api.get(f"{path('apps', app, 'sessions')}?userPrefix=u&orderBy=createTime").text
    assert all(row["id"] == f"s{n}" and row["labels"] == f'{{"n": "{n},"}}' and f'"createTime":{row["createTime"]},' in listed for n, row in enumerate(rows))


def test_filters_are_in_the_address(api, app, page, browser, server):
    made(api, app, ("ada", "r1", {"labels": {"team": "a"}}), ("adam", "r2", {"labels": {"team": "a", "x": "1=2 &"}}),
         ("bob", "r3", {"labels": {"team": "a"}}), ("ada", "q4", {}))
    page.open(f"#/app/{app}")
    wait_ids(page, "q4", "r3", "r2", "r1")
    page.fill("[aria-label='User begins with']", "ada")
    wait_ids(page, "q4", "r2", "r1")
    page.fill("[aria-label='Id begins with']", "r")
    wait_ids(page, "r2", "r1")
    page.fill("[aria-label^=Label]", "x=1=2 &")
    page.press(Keys.ENTER)
    wait_ids(page, "r2")
    page.find(".chip", "x=1=2 &")
    assert page.address() == f"#/app/{app}?userPrefix=ada&idPrefix=r&label.x=1%3D2+%26"

    other = browser.page(server).open(page.address())
    wait_ids(other, "r2")
    assert other.value("document.querySelector('[aria-label=\"Id begins with\"]').value") == "r"
    other.click(".chip")
    wait_ids(other, "r2", "r1")
    other.click("td a.label", "team=a")
    wait_ids(other, "r2", "r1")
    assert other.address().endswith("label.team=a")
    other.js("history.back()")
    other.wait("!location.hash.includes('label')")
    other.wait("document.querySelector('.chip') === null")


def test_filters_that_are_typed_at_once(api, app, page):
    made(api, app, ("ada", "r1", {}), ("bob", "r2", {}), ("ada", "q3", {}))
    page.open(f"#/app/{app}")
    wait_ids(page, "q3", "r2", "r1")
    page.js("""for (const [name, text] of [['User begins with', 'a'], ['Id begins with', 'r']]) {
        const input = document.querySelector(`[aria-label="${name}"]`);
        input.value = text;
        input.dispatchEvent(new Event('input'));
    }""")
    wait_ids(page, "r1")
    assert page.address() == f"#/app/{app}?userPrefix=a&idPrefix=r"


def test_a_filter_that_fits_nothing_shows_its_request(api, app, page):
    api.session(app)
    page.open(f"#/app/{app}?idPrefix=nothing")
    page.find(".empty", "No session fits")
    assert "idPrefix=nothing" in page.text(".example")
    page.click("a", "Show all")
    wait_ids(page, "s1")
    assert page.address() == f"#/app/{app}"


def test_a_filter_that_the_server_refuses_can_be_mended(api, app, page):
    api.session(app)
    page.open(f"#/app/{app}?label.UPPER=1")
    page.find(".failure", "label")
    page.click(".chip")
    wait_ids(page, "s1")


def test_more_pages(api, app, page):
    made(api, app, *[("ada", f"s{number:03}", {}) for number in range(120)])
    newest = [f"s{number:03}" for number in reversed(range(120))]
    page.open(f"#/app/{app}")
    wait_ids(page, *newest[:50])
    api.session(app, id="arrived-meanwhile")
    page.click("button", "More")
    wait_ids(page, *newest[:100])
    assert page.value("document.activeElement.textContent") == newest[50]
    page.click("button", "More")
    wait_ids(page, *newest)
    assert page.all(".sessions button.open:not([hidden])") == []


def test_keyboard(api, app, page):
    made(api, app, ("ada", "s1", {}), ("ada", "s2", {}), ("ada", "s3", {}))
    page.open(f"#/app/{app}")
    wait_ids(page, "s3", "s2", "s1")
    focus = "document.activeElement.textContent"
    page.press("j")
    assert page.value(focus) == "s3"
    page.press("j", "j", "j", "k")
    assert page.value(focus) == "s2"
    page.press(Keys.ENTER)
    page.wait(f"location.hash.startsWith('#/app/{app}/user/ada/session/s2')")
    page.press("g", "u")
    page.find("h1", "ada")
    page.press("g", "l")
    page.find("h1", app)
    page.press("n")
    page.find("dialog", "New session")
    page.press(Keys.ESCAPE)
    page.wait("!document.querySelector('dialog')")
    page.press("g", "a")
    page.find("h1", "Apps")
    page.press("g", "s")
    page.find("h1", "Server")
    page.press("?")
    help = page.text("dialog")
    assert all(word in help for word in ("Ctrl", "next, previous row", "new session", "copy as curl"))


def test_the_keyboard_map_answers_on_every_page(api, app, page):
    api.append(api.session(app), event("e1", text="One"))
    user = f"#/app/{app}/user/ada"
    page.open("#/")
    for route in ["#/", f"#/app/{app}", user, f"{user}/session/s1", f"{user}/session/s1/compare", "#/feed", "#/keys", "#/erasures", "#/server", "#/nowhere", f"{user}/session/none"]:
        page.go(route)
        page.find("#main h1")
        page.press("?")
        page.find("dialog h2", "Keys")
        page.press(Keys.ESCAPE)
        page.wait("!document.querySelector('dialog')")


def test_create_a_session(api, app, page):
    page.open(f"#/app/{app}")
    assert "sessiond" not in page.text(".empty .example")
    page.click("button", "New session")
    fields = page.all("dialog input, dialog textarea")
    state = '{"big": 123456789012345678901234567890, "price": 1.10, "app:currency": "EUR"}'
    for field, text in zip(fields, ["ada l/ove", "s 1", "Return of a coat", state, "team=returns\nx=a=b"]):
        field.send_keys(text)
    shown = page.text("dialog .request")
    assert "/users/ada%20l%2Fove/sessions" in shown and '"price": 1.10' in shown
    page.click("dialog button", "Create")
    page.find(".crumbs h1", "Return of a coat")
    stored = api.get(path("apps", app, "users", "ada l/ove", "sessions", "s 1"))
    assert stored.json["labels"] == {"team": "returns", "x": "a=b"}
    assert '"big":123456789012345678901234567890' in stored.text and '"price":1.10' in stored.text
    assert api.get(path("apps", app, "state")).json == {"currency": "EUR"}


def test_what_is_wrong_with_a_new_session_is_said(api, app, page):
    api.session(app)
    page.open(f"#/app/{app}/user/ada")
    page.click("button", "New session")
    id, title = page.all("dialog input")
    state = page.find("dialog textarea")
    state.send_keys("[1]")
    page.wait_text("dialog .request", "The state is an object")
    state.clear()
    state.send_keys('{"a": tru}')
    page.wait_text("dialog .request", "no JSON at character 7")
    assert not page.find("dialog button", "Create").is_enabled()
    state.clear()
    id.send_keys("s1")
    page.click("dialog button", "Create")
    page.wait_text("dialog .trouble", "exists")


def test_deleting_takes_the_id(api, app, page):
    made(api, app, ("ada", "s1", {}), ("ada", "s2", {}))
    page.open(f"#/app/{app}/user/ada")
    wait_ids(page, "s2", "s1")
    page.press("j", Keys.TAB)
    assert page.value("document.activeElement.getAttribute('aria-label')") == "Delete s2"
    page.press(Keys.ENTER)
    page.fill("dialog input", "s1")
    assert not page.find("dialog button", "Delete").is_enabled()
    page.fill("dialog input", "s2")
    assert f"-X DELETE" in page.text("dialog .request")
    page.click("dialog button", "Delete")
    wait_ids(page, "s1")
    assert api.send("GET", path("apps", app, "users", "ada", "sessions", "s2")).status == 404


def test_app_state_as_it_is_stored(api, app, page):
    text = '{"stateDelta":{"z":1.10,"a":{"n":123456789012345678901234567890,"list":[1E2,"\\u00e9"]},"<b>":"<img src=x onerror=alert(1)>"}}'
    api.ask("PATCH", path("apps", app, "state"), text)
    page.open(f"#/app/{app}")
    page.find(".scope summary", "1.10")
    page.click(".scope summary", "list")
    tree = page.text(".opened")
    assert "123456789012345678901234567890" in tree and "1E2" in tree and '"\\u00e9"' in tree
    page.find(".scope summary", '<b>"<img src=x onerror=alert(1)>"')
    assert page.all("img, b > bdi + *") == []


@pytest.mark.parametrize("owner", ["app", "user"])
def test_shared_state_is_edited_with_what_is_on_screen(api, app, page, owner):
    scope = path("apps", app, "state") if owner == "app" else path("apps", app, "users", "ada", "state")
    api.ask("PATCH", scope, {"stateDelta": {"count": 1, "other": 1}})
    page.open(f"#/app/{app}" + ("" if owner == "app" else "/user/ada"))
    page.click(".scope summary", "count")
    page.click(".opened button", "Edit")
    page.choose("dialog select", "increment")
    page.fill("dialog textarea", "41")
    assert 'If-Match: "1"' in page.text("dialog .request")
    api.ask("PATCH", scope, {"stateDelta": {"other": 2}})
    page.click("dialog button", "Apply")
    page.wait_text("dialog .trouble", "Somebody changed it meanwhile")
    assert page.text("dialog .meanwhile li").split() == ["~", "other", "1", "→", "2"]
    assert api.get(scope).json == {"count": 1, "other": 2}
    page.click("dialog button", "Apply")
    page.find(".scope summary", "count42")
    page.find(".scope h3", "revision 3")
    assert api.get(scope).json == {"count": 42, "other": 2}


def test_a_user_without_anything(app, page):
    page.open(f"#/app/{app}/user/nobody")
    assert "/users/nobody/sessions" in page.text(".sessions .example")
    assert "/users/nobody/state" in page.text(".scope .example")


def overflow(page):
    return page.overflow() + page.value("(({scrollWidth, clientWidth}) => scrollWidth - clientWidth)(document.querySelector('.plain'))")


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_text(api, app, page, name):
    state = {name: name, f"app:{name}": name, f"user:{name}": name}
    api.session(app, user=name, id=name, displayName=name, labels={"x": name}, state=state)
    for width in (1280, 360):
        page.resize(width, 800)
        page.open(f"#/app/{app}")
        link = page.find(".sessions tbody a")
        assert link.text.startswith(name[:4].strip())
        assert overflow(page) <= 0
        link.click()
        page.wait("document.querySelector('.crumbs h1')")
        page.press("g", "u")
        page.wait("document.querySelector('.crumbs h1')?.textContent === arguments[0] && document.querySelector('.sessions')", name)
        assert overflow(page) <= 0
        page.go("#/")
        if width == 360:
            page.click(".chooser button", "Recent")
        page.find(".links a")
        assert overflow(page) <= 0
    assert page.all("img, script:not([src='main.js'])") == []


@pytest.mark.page(width=360, height=720)
def test_narrow_pages_show_one_part(api, app, page):
    api.session(app, state={"app:currency": "EUR"})
    page.open(f"#/app/{app}")
    wait_ids(page, "s1")
    assert not page.all(".scope")[0].is_displayed()
    page.click(".chooser button", "App")
    page.find(".scope summary", "EUR")
    assert not page.all(".sessions")[0].is_displayed()
    assert overflow(page) <= 0


def places(page):
    return page.value("[...document.querySelectorAll('.places [role=option]')].map((line) => [...line.children].slice(0, 2).map((one) => one.textContent).join(' '))")


def test_palette(api, app, page):
    session = api.session(app, user="ada", id="return-1", displayName="A coat")
    api.append(session, event("e1", text="One"), event("e2", text="Two"))
    api.session(app, user="adam", id="return-2")
    page.open()
    page.find("h1", "Apps")
    page.chord(Keys.CONTROL, "k")
    page.fill(".palette input", f"{app}/ad")
    page.wait("document.querySelectorAll('.places [role=option]').length === 3")
    assert places(page) == ["user ada", "user adam", "user ad"]
    page.fill(".palette input", f"{app}/ada/ret")
    page.find(".places li", "A coat")
    page.press(Keys.ENTER)
    page.find(".crumbs h1", "A coat")

    page.chord(Keys.CONTROL, "k")
    page.fill(".palette input", "return-")
    page.wait("document.querySelectorAll('.places [role=option]').length === 2")
    page.press(Keys.ARROW_DOWN)
    page.wait("document.querySelector('.places [aria-selected=true]').textContent.includes('return-2')")
    page.press(Keys.ENTER)
    page.wait(f"location.hash.startsWith('#/app/{app}/user/adam/session/return-2')")

    page.chord(Keys.CONTROL, "k")
    page.fill(".palette input", app)
    page.press(Keys.ENTER)
    page.find("h1", app)
    assert page.address() == f"#/app/{app}"


@pytest.mark.server()
def test_palette_finds_everywhere_from_every_page(api, page):
    api.session("shop", user="ada", id="s-1", displayName="A coat to return")
    api.session("bank", user="returning", id="s1")
    for number in range(11):
        api.session(f"returns-{number:02}", id="one")
    for route in ["#/", "#/app/bank", "#/server"]:
        page.open(route)
        page.find("h1")
        page.chord(Keys.CONTROL, "k")
        page.fill(".palette input", "return")
        page.wait("document.querySelectorAll('.places [role=option]').length >= 7")
        assert {"user returning", "app returns-00"} <= set(places(page)), route
        assert page.text(".palette .hint") == "Apps that were not searched: 1. Name one, and a slash."
    page.go("#/app/shop")
    page.find("h1", "shop")
    page.chord(Keys.CONTROL, "k")
    page.fill(".palette input", "100% no")
    page.find(".palette .hint", "Nothing has this")
    page.fill(".palette input", "coat return")
    page.find(".places li", "A coat to return")
    page.press(Keys.ENTER)
    page.find(".crumbs h1", "A coat to return")


def test_the_server_page(api, page):
    info = api.get("/v1/info").json
    page.open("#/server")
    page.find("dd", "Ready")
    text = page.text("#main")
    assert info["version"] in text and "SQLite" in text
    assert all(feature in text for feature in info["features"])
    assert "requestSeconds\n10 s" in text and "bodyBytes\n8 MiB" in text and "batchEvents\n1,000" in text
    assert "none is asked for" in text
    page.wait("[...document.querySelectorAll('.requests tbody tr')].some((row) => /^GET .v1.whoami\\t200\\t/.test(row.innerText))")


def test_readiness_is_asked_for_again(server, page):
    page.open("#/server")
    page.find("dd", "Ready")
    page.js("window.fetch = () => Promise.reject(new TypeError('gone'))")
    page.click("button", "Check again")
    page.find("dd .failure", "The server does not answer")


@pytest.mark.parametrize("dark", [False, True])
def test_all_can_be_read_and_has_a_name(api, app, browser, server, dark):
    api.session(app, displayName="A coat", labels={"team": "returns"}, state={"app:currency": "EUR"})
    page = browser.page(server, dark=dark)
    places = [(f"#/app/{app}?label.team=returns", ".scope summary"), (f"#/app/{app}/user/ada", ".act button"), ("#/", "td.last a"), ("#/server", ".ready")]
    for route, there in places:
        page.open(route)
        page.find(there)
        assert faults(page) == [], route
