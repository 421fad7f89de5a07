"""Search over what was said, on the page of a user."""

import pytest

from browser import Keys
from server import event, path

HITS = """[...document.querySelectorAll('.hits li')].map((hit) => ['.author', '.name', '.text'].map((part) => hit.querySelector(part).textContent).join(' | '))"""
MARKS = "[...document.querySelectorAll('.hits mark')].map((mark) => mark.textContent)"


def index(api, app):
    api.ask("PUT", f"{path('apps', app)}/policy", {"search": {"index": True}})


def said(api, app, *texts, user="ada", id="s1", **fields):
    """A session of an app that is searched, with an event for each text."""
    index(api, app)
    session = api.session(app, user, id, **fields)
    api.append(session, *[event(f"e{number}", text=text) for number, text in enumerate(texts, 1)])
    return session


def search(page, words):
    page.fill("[aria-label='Search what was said']", words)
    page.press(Keys.ENTER)


def wait_hits(page, *expected):
    page.wait(f"JSON.stringify({HITS}) === JSON.stringify(arguments[0])", expected)


def wait_marks(page, *expected):
    page.wait(f"JSON.stringify({MARKS}) === JSON.stringify(arguments[0])", expected)


def test_a_search_leads_to_the_event(api, app, page):
    said(api, app, "Where is my coat?", "The coat is on its way.", "Thanks.", displayName="Return of a coat")
    said(api, app, "Another COAT, in red.", id="s2")
    page.open(f"#/app/{app}/user/ada")
    page.find(".sessions a", "s2")
    page.press("/")
    page.press(*"coat way", Keys.ENTER)
    first = "agent | Return of a coat | The coat is on its way."
    rest = ["agent | s2 | Another COAT, in red.", "agent | Return of a coat | Where is my coat?"]
    wait_hits(page, first, *rest)
    assert page.value(MARKS) == ["coat", "way", "COAT", "coat"]
    assert page.text(".found .count") == "3 found" and "complete" not in page.text(".found")
    assert page.value("[...document.querySelectorAll('.hits time')].map((time) => time.textContent)") == ["now"] * 3
    assert page.address() == f"#/app/{app}/user/ada?search=coat+way"
    page.reload()
    wait_hits(page, first, *rest)
    page.click(".hits a", "on its way")
    page.find(".row[aria-current=true]", "The coat is on its way.")
    assert page.address().startswith(f"#/app/{app}/user/ada/session/s1?at=2")
    page.js("history.back()")
    wait_hits(page, first, *rest)
    assert page.value("document.querySelector('[type=search]').value") == "coat way"


def test_keys_go_through_hits_and_sessions(api, app, page):
    said(api, app, "One coat", "Two coats, no: a coat")
    page.open(f"#/app/{app}/user/ada?search=coat")
    wait_marks(page, "coat", "coat")
    focus = "document.activeElement.textContent"
    page.press("/", Keys.ESCAPE, "j")
    assert page.value("document.querySelector('[type=search]').value") == "coat"
    assert "Two coats" in page.value(focus)
    page.press("j")
    assert "One coat" in page.value(focus)
    page.press("j")
    assert page.value(focus) == "s1"
    page.press("k", Keys.ENTER)
    page.find(".row[aria-current=true]", "One coat")


def test_words_are_marked_as_the_server_finds_them(api, app, page):
    texts = {
        "strasse": ("In der STRASSE, Straße, straßenbahn", ["STRASSE", "Straße"]),
        "cafe": ("Café CAFE\u0301 cafés decaf", ["Café", "CAFE\u0301"]),
        "ΟΔΟΣ": ("οδος ὁδός οδοί", ["οδος", "ὁδός"]),
        "file": ("The ﬁle of file_name files", ["ﬁle", "file"]),
        "注文番号": ("あなたの注文番号は7です", ["注文番号"]),
        "文番": ("注文番号 a文 文", ["文番"]),
        "文": ("注文 文 a文b", ["文", "文"]),
        "がいこく": ("外国 か\u3099いこく", ["か\u3099いこく"]),
        "ภาษา": ("ภาษาไทย ก", ["ภาษา"]),
        "istanbul": ("ıstanbul İSTANBUL", ["İSTANBUL"]),
        "a1 b": ("a1-b_c a 1", ["a1", "b"]),
        "한국": ("한국 한국어 \u1112\u1161\u11ab\u1100\u116e\u11a8", ["한국", "\u1112\u1161\u11ab\u1100\u116e\u11a8"]),
        "coat": ("👩‍👩‍👧" * 40 + " coat " + "👩‍👩‍👧" * 40, ["coat"]),
        "\U0001f600 smile": ("😀smile😀", ["smile"]),
    }
    index(api, app)
    for number, (text, _) in enumerate(texts.values()):
        api.append(api.session(app, f"u{number}"), event("e1", text=text))
    for number, (words, (_, marks)) in enumerate(texts.items()):
        page.go(f"#/app/{app}/user/u{number}") if number else page.open(f"#/app/{app}/user/u0")
        page.find(".crumbs h1", f"u{number}")
        search(page, words)
        page.find(".found .count", "1 found")
        assert page.value(MARKS) == marks, words
        assert "\ufffd" not in page.text(".hits .text")


def test_of_a_long_text_it_shows_what_is_around_the_words(api, app, page):
    text = "start " + "lorem ipsum " * 9000 + "the coat is here " + "dolor sit " * 9000 + "and a button end"
    said(api, app, text)
    page.open(f"#/app/{app}/user/ada?search=coat+button+nothing")
    wait_marks(page, "coat", "button")
    shown = page.value("document.querySelector('.hits .text').textContent")
    assert len(shown) < 500
    assert shown.startswith("… ") and "ipsum the coat is here dolor" in shown and shown.endswith("sit and a button end")


def test_thoughts_and_calls_are_not_what_was_said(api, app, page):
    index(api, app)
    parts = [{"text": "the coat, they think", "thought": True}, {"functionCall": {"name": "coat", "args": {}}}, {"text": "A"}, {"text": "coat"}]
    api.append(api.session(app), event("e1", content={"role": "model", "parts": parts}))
    page.open(f"#/app/{app}/user/ada?search=coat")
    wait_hits(page, "agent | s1 | A\ncoat")
    search(page, "think")
    page.find(".found .empty", "No event has one of these words")
    wait_hits(page)


def test_what_is_taken_back_or_redacted_is_not_shown(api, app, page):
    session = said(api, app, "coat one", "coat two", "coat three")
    api.ask("POST", f"{session}/events/e1/redact", {"reason": "a test"})
    api.post(f"{session}/rewind", {"toRevision": 2})
    page.open(f"#/app/{app}/user/ada?search=coat")
    wait_hits(page, "agent | s1 | coat two")


def test_more_of_many_hits(api, app, page):
    said(api, app, *[f"coat {number}" for number in range(130)])
    page.open(f"#/app/{app}/user/ada?search=coat")
    page.find(".found .count", "The best 20")
    assert len(page.value(HITS)) == 20
    page.click(".found button", "More")
    page.find(".found .count", "The best 100")
    assert page.value("document.activeElement.textContent").endswith("coat 109") and len(page.value(HITS)) == 100
    assert page.all(".found button.open") == []
    page.resize(360, 720)
    place = "document.querySelector(arguments[0]).getBoundingClientRect()"
    assert page.value(f"{place}.bottom", ".plain > header > :last-child") <= page.value(f"{place}.top", ".chooser")


def test_an_app_without_the_index_says_how_to_switch_it_on(api, app, page):
    api.append(api.session(app), event("e1", text="Where is my coat?"))
    page.open(f"#/app/{app}/user/ada?search=coat")
    page.find(".found .empty", '"search": {"index": true}')
    assert page.text(".found .empty").startswith("There is no search in this app yet")
    page.click(".found a", "policy")
    page.click("button", "Change policy")
    page.fill("dialog textarea", '{"search":{"index":true}}')
    page.click("dialog button[type=submit]", "Set")
    page.find("section[aria-label=Policy]", '"index": true')
    page.go(f"#/app/{app}/user/ada?search=coat")
    page.find(".found .count", "found")
    while page.value(HITS) == []:  # until it is taken in
        search(page, "coat")
        page.find(".found .count", "found")
    wait_marks(page, "coat")


def test_that_more_may_be_found_is_said(api, app, page):
    said(api, app, "Where is my coat?")
    page.open(f"#/app/{app}/user/ada?search=coat")
    wait_marks(page, "coat")
    assert page.all(".found .hint") == []
    # A real one takes more than 10,000 events.
    page.js("""const real = fetch;
        window.fetch = async (...all) => {
            const answer = await real(...all);
            return new Response((await answer.text()).replace('"complete":true', '"complete":false'), answer);
        }""")
    search(page, "coat")
    page.find(".found .hint", "There may be more")
    wait_marks(page, "coat")


def test_what_the_server_refuses_is_said_and_an_empty_field_leaves_nothing(api, app, page):
    said(api, app, "Where is my coat?")
    page.open(f"#/app/{app}/user/ada")
    search(page, "?!")
    page.find(".found .failure", "must hold a word")
    search(page, "coat")
    wait_marks(page, "coat")
    assert page.all(".found .failure") == []
    page.fill("[aria-label='Search what was said']", Keys.BACKSPACE * 4, append=True)
    wait_hits(page)
    page.wait("location.hash === arguments[0]", f"#/app/{app}/user/ada")
    assert page.value("document.querySelector('.found .count').textContent") == ""


def test_a_search_and_filters_stay_in_one_address(api, app, page):
    said(api, app, "coat one", id="r1", labels={"team": "a"})
    said(api, app, "coat two", id="q2")
    page.open(f"#/app/{app}/user/ada?idPrefix=r&search=coat")
    wait_hits(page, "agent | q2 | coat two", "agent | r1 | coat one")
    assert page.value("document.querySelector('[aria-label=\"Id begins with\"]').value") == "r"
    search(page, "one")
    wait_hits(page, "agent | r1 | coat one")
    page.wait("location.hash === arguments[0]", f"#/app/{app}/user/ada?idPrefix=r&search=one")
    page.click("td a.label", "team=a")
    page.wait("location.hash.includes('label.team=a') && location.hash.includes('search=one')")
    page.fill("[aria-label='Id begins with']", "q")
    page.find(".sessions .empty", "No session fits")
    page.click("a", "Show all")
    page.wait("location.hash === arguments[0]", f"#/app/{app}/user/ada?search=one")
    wait_hits(page, "agent | r1 | coat one")


@pytest.mark.parametrize("width", [1280, 360])
def test_what_was_said_is_text(api, app, page, width):
    name = "\u202e<img src=x onerror=alert(1)>" + "W" * 200
    index(api, app)
    session = api.session(app, "ada", "s1", displayName=name)
    api.append(session, event("e1", author=name, text=f"<svg onload=alert(2)> coat </mark><script>alert(3)</script> {'W' * 500} \u202e\u0000"))
    page.resize(width, 800)
    page.open(f"#/app/{app}/user/ada?search=coat+script+onload")
    wait_marks(page, "onload", "coat", "script", "script")
    assert page.all("img, .hits script, .hits svg") == []
    assert page.overflow() <= 0
    assert page.value("document.querySelector('.plain').scrollWidth <= document.querySelector('.plain').clientWidth")
    assert page.value("document.querySelector('.hits .name').textContent") == name


@pytest.mark.server("--require-auth")
def test_a_reader_searches_and_a_user_alone_what_is_its_own(server, api, app, browser):
    said(api, app, "my coat", user="ada")
    said(api, app, "my coat", user="bob")
    reader = browser.page(server, credential=server.new_key("--role=reader"))
    reader.open(f"#/app/{app}/user/bob?search=coat")
    wait_hits(reader, "agent | s1 | my coat")
    token = api.post("/v1/tokens", {"app": app, "user": "ada"}).json["token"]
    user = browser.page(server, credential=token)
    user.open(f"#/app/{app}/user/ada?search=coat")
    wait_hits(user, "agent | s1 | my coat")
    api.ask("DELETE", f"{path('apps', app)}/policy")
    reader.reload()
    reader.find(".found .empty", "switches it on")
    assert reader.all(".found .empty a") == []
