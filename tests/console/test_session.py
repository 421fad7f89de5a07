"""The session page: timeline, event and state at one place of the log, live, and what is done from there."""

import json
import re
import threading

import pytest

from browser import Keys
from server import event, path, until

NUMBER = "1.10"
LONG = "7" * 300


def address(app, query="", id="s1"):
    return f"#/app/{app}/user/ada/session/{id}{query}"


def filled(api, app, count=5, id="s1", **fields):
    """A session: its event N sets `n` to N, and an invocation has two events."""
    session = api.session(app, id=id, **fields)
    api.append(session, *[event(f"e{n}", text=f"Text {n}", delta={"n": n}, invocationId=f"i{(n + 1) // 2}") for n in range(1, count + 1)])
    return session


def opened(page, app, query="", id="s1"):
    page.open(address(app, query, id))
    page.find(".row[aria-current=true]")
    page.wait_text(".live", "Live")
    return page


def wait_at(page, place, of):
    """Until timeline, slider and state show that place."""
    page.wait_text(".place", f"{place} of {of}")
    page.wait("document.querySelector('.row[aria-current=true] .sequence')?.textContent === arguments[0]", str(place))


def slide(page, revision):
    """Drags the slider."""
    page.js("const range = document.querySelector('.slider input'); range.value = arguments[0]; range.dispatchEvent(new Event('input'))", revision)


def wait_state(page, title, **values):
    """Until these keys, and no others, are on the screen with these texts."""
    page.wait_text(".right h2", title)
    shown = """Object.fromEntries([...document.querySelectorAll('.keys li:not(.removed)')].map((row) =>
        [row.querySelector('.name').textContent, (row.querySelector('ins') ?? row.querySelector('.value')).textContent]))"""
    until(f"state {values}", lambda: page.value(shown) == values)


def patch(api, session, text):
    return api.ask("PATCH", f"{session}/state", text)


def test_the_state_at_the_slider_while_two_write(api, app, page, copied):
    session = filled(api, app, 3, state={"start": 1})
    opened(page, app)
    end = threading.Event()
    failures = []

    def write(writer):
        try:
            number = 0
            while not end.wait(0.05):
                number += 1
                delta = {f"w{writer}": number, f"user:u{writer}": [number] * 3, f"k{number % 7}": writer}
                api.append(session, event(f"w{writer}-{number}", f"writer {writer}", "Hello", delta))
        except Exception as failure:
            failures.append(failure)

    writers = [threading.Thread(target=write, args=[writer]) for writer in (1, 2)]
    for writer in writers:
        writer.start()
    try:
        page.wait("document.querySelector('.slider input').max > 20")
        # The state at the end goes on while they write.
        first = page.wait("document.querySelector('.keys li:nth-child(2) .value')?.textContent")
        page.wait("document.querySelector('.keys li:nth-child(2) .value')?.textContent !== arguments[0]", first)
        for place in [0, 2, 7, 20, 13]:
            slide(page, place)
            page.wait_text(".right h2", f"State at {place}")
            stored = api.get(f"{session}/state?atRevision={place}")
            assert copied(page, lambda: page.click("button", "Copy state as stored")) == stored.text.rstrip()
            assert set(page.value("[...document.querySelectorAll('.keys li:not(.removed) .name')].map((name) => name.textContent)")) == set(stored.json)
    finally:
        end.set()
        for writer in writers:
            writer.join()
    assert failures == []
    page.press("t")
    last = api.get(session).json["revision"]
    wait_at(page, last, last)
    page.wait_text(".right h2", "State now")
    until("the last state", lambda: copied(page, lambda: page.click("button", "Copy state as stored")) == api.get(f"{session}/state").text.rstrip())
    numbers = page.value("[...document.querySelectorAll('.timeline .sequence')].map((cell) => Number(cell.textContent))")
    assert numbers == list(range(numbers[0], last + 1))


def test_fork_from_an_event(api, app, page):
    session = filled(api, app)
    opened(page, app)
    page.click(".timeline .row", "Text 3")
    wait_at(page, 3, 5)
    page.click("button", "Fork here")
    assert '{"atRevision":3}' in page.text("dialog pre")
    assert "Idempotency-Key" in page.text("dialog pre")
    page.click("dialog button[type=submit]", "Fork")
    page.find(".marks a", "fork of s1 at 3")
    wait_at(page, 3, 3)
    wait_state(page, "State now", n="3")
    assert "s1" not in page.address().split("/")[-1]
    assert api.get(session).json["revision"] == 5


def test_rewind_strikes_through_what_it_takes_back(api, app, page):
    session = filled(api, app)
    opened(page, app, "?at=2")
    wait_at(page, 2, 5)
    page.click("button", "Rewind to here")
    assert "If-Match: \"5\"" in page.text("dialog pre")
    page.click("dialog button[type=submit]", "Rewind")
    wait_at(page, 6, 6)
    wait_state(page, "State now", n="2")
    rewound = "[...document.querySelectorAll('.timeline .rewound')].map((row) => row.querySelector('.sequence').textContent).join()"
    page.wait(f"{rewound} === '3,4,5'")
    style = "getComputedStyle(document.querySelector('.timeline .rewound .line')).textDecorationLine"
    assert page.value(style) == "line-through"
    assert page.value("document.querySelector('.timeline .rewound .row').getAttribute('aria-description')") == "rewound"
    assert "rewind to event 2" in page.text(".row[aria-current=true]")
    assert api.get(f"{session}/state").json == {"n": 2}


def test_a_rewind_of_events_that_were_not_seen_is_refused(api, app, page):
    session = filled(api, app)
    opened(page, app, "?at=2")
    wait_at(page, 2, 5)
    page.click("button", "Rewind to here")
    page.find("dialog")
    api.append(session, event("late", "agent", "Late", {"n": 6}), event("later", "agent", "Later", {"n": 7}))
    page.click("dialog button[type=submit]", "Rewind")
    page.wait_text("dialog .trouble", "Nothing was rewound: events 6 to 7 came meanwhile")
    assert api.get(session).json["revision"] == 7
    assert "If-Match: \"7\"" in page.text("dialog pre")
    page.click("dialog button[type=submit]", "Rewind")
    wait_at(page, 8, 8)
    assert api.get(f"{session}/state").json == {"n": 2}


def test_the_timeline_shows_what_the_model_reads(api, app, page):
    session = filled(api, app)
    summary = {"startTimestamp": 0, "endTimestamp": 4e10, "compactedContent": {"role": "model", "parts": [{"text": "sum"}]}}
    api.append(session, {"id": "c", "author": "user", "actions": {"compaction": summary}})
    opened(page, app)
    shown = "[...document.querySelectorAll('.timeline .row:not(.start) .sequence')].map((one) => one.textContent).join()"
    page.wait(f"{shown} === '1,2,3,4,5,6'")
    page.click(".left .check input")
    page.wait(f"{shown} === '6'")
    # What comes is covered as it comes, and is not the model's.
    api.append(session, event("e7", text="Covered"))
    page.wait_text(".place", "7 of 7")
    page.wait(f"{shown} === '6,7'")
    page.press("k")
    page.wait(f"{shown} === '6'")
    page.click(".left .check input")
    page.wait(f"{shown} === '1,2,3,4,5,6,7'")


def test_an_event_is_redacted(api, app, page):
    session = filled(api, app)
    fork = api.post(f"{session}/fork", {"sessionId": "copy"}).json
    opened(page, app, "?at=2")
    wait_at(page, 2, 5)
    page.click("button", "Redact")
    assert "Text 2" in page.text("dialog .facts") and "State" in page.text("dialog .facts")
    page.fill("dialog input", "e2")
    page.fill("dialog input[maxlength]", "a password")
    page.choose("dialog select", "remove")
    assert '{"reason":"a password","state":"remove"}' in page.text("dialog pre")
    page.click("dialog button[type=submit]", "Redact")
    page.wait_text(".row[aria-current=true]", "redacted: a password")
    page.wait_text(".middle .facts", "a password")
    assert "Text 2" not in page.text()
    wait_state(page, "State at 2")
    assert api.get(f"{session}/state?atRevision=2").json == {}
    found = api.get(path("apps", app, "users", "ada", "sessions", fork["id"], "events", "e2")).json
    assert found["redacted"]["reason"] == "a password" and "content" not in found
    # Another one that looks at the same is told.
    api.post(f"{session}/events/e3/redact", {})
    page.wait("document.querySelectorAll('.timeline .row')[3].textContent.includes('redacted')")


def fill_edit(page, key, operator, value):
    page.fill("dialog input", key)
    page.choose("dialog select", operator)
    if value is not None:
        page.fill("dialog textarea", value)


def test_edit_state_by_operators(api, app, page):
    session = filled(api, app, state={"price": 1})
    patch(api, session, f'{{"stateDelta":{{"price":{NUMBER},"big":{LONG}}}}}')
    tag = api.get(f"{session}/state").tag
    opened(page, app)
    page.press("e")
    fill_edit(page, "price", "increment", "0.20")
    page.wait_text("dialog .preview", NUMBER)
    shown = page.text("dialog pre")
    assert f"If-Match: {tag}" in shown
    key = re.search(r"Idempotency-Key: (\S+)'", shown)[1]
    assert '{"stateOps":[{"op":"increment","key":"price","value":0.20}]}' in shown
    page.click("dialog button[type=submit]", "Apply")
    page.wait("!document.querySelector('dialog')")
    wait_state(page, "State now", n="5", price="1.30", big=f"{LONG[:200]}…")
    assert api.get(f"{session}/events/{key}").json["actions"]["stateDelta"]
    page.press("e")
    fill_edit(page, "big", "increment", "1")
    page.wait_text("dialog .preview", LONG[:200])
    fill_edit(page, "missing", "set", "1")
    page.wait_text("dialog .preview", "not set")
    fill_edit(page, "n", "remove", None)
    page.click("dialog button[type=submit]", "Apply")
    wait_state(page, "State now", price="1.30", big=f"{LONG[:200]}…")


def test_an_edit_whose_answer_was_lost_is_sent_again(api, app, page):
    session = filled(api, app)
    opened(page, app)
    page.press("e")
    fill_edit(page, "n", "increment", "10")
    page.js("""const real = fetch;
        window.fetch = async (address, options) => {
            const answer = await real(address, options);
            if (options?.method !== 'PATCH') return answer;
            window.fetch = real;
            throw new TypeError('lost');
        };""")
    page.click("dialog button[type=submit]", "Apply")
    page.wait_text("dialog .trouble", "The server does not answer")
    page.click("dialog button[type=submit]", "Apply")
    page.wait("!document.querySelector('dialog')")
    assert api.get(f"{session}/state").json == {"n": 15}
    assert api.get(session).json["revision"] == 6


def test_an_edit_of_a_state_that_was_changed_meanwhile(api, app, page):
    session = filled(api, app)
    opened(page, app)
    page.press("e")
    fill_edit(page, "n", "increment", "10")
    page.wait_text("dialog .preview", "5")
    api.append(session, event("late", "agent", "Late", {"n": 6, "other": NUMBER}))
    page.click("dialog button[type=submit]", "Apply")
    page.wait_text("dialog .meanwhile", "Nothing of yours was written")
    page.find("dialog .meanwhile li.changed", "5 → 6")
    page.find("dialog .meanwhile li.added", "other")
    page.wait_text("dialog .preview", "6")
    assert api.get(f"{session}/state").json["n"] == 6
    page.click("dialog button[type=submit]", "Apply")
    page.wait("!document.querySelector('dialog')")
    assert api.get(f"{session}/state").json["n"] == 16


TAIL = "(() => { const s = document.querySelector('.left .scroller'); return s.scrollHeight - s.scrollTop - s.clientHeight; })()"


def test_new_events_are_followed_at_the_end_only(api, app, page):
    session = filled(api, app, 80)
    opened(page, app)
    wait_at(page, 80, 80)
    page.wait(f"{TAIL} < 2")
    api.append(session, *[event(f"n{n}", "agent", f"New {n}", {"n": n}) for n in range(30)])
    wait_at(page, 110, 110)
    page.wait(f"{TAIL} < 2")
    wait_state(page, "State now", n="29")
    # Whoever scrolls up is left alone.
    def top(text):
        """Where the row is, as soon as it moves no more."""
        row = page.find(".timeline .row", text)
        tops = []

        def is_still():
            tops.append(page.value("new Promise((done) => requestAnimationFrame(() => done(arguments[0].getBoundingClientRect().top)))", row))
            return len(tops) > 5 and len(set(tops[-5:])) == 1

        until("the rows are still", is_still)
        return tops[-1]

    page.js("document.querySelector('.left .scroller').scrollTop = 300")
    page.js("arguments[0].scrollIntoView()", page.find(".timeline .row", "Text 29"))
    before = top("Text 30")
    api.append(session, event("up", "agent", "Up", {"n": 111}))
    wait_at(page, 111, 111)
    assert abs(top("Text 30") - before) < 2
    page.click(".timeline .row", "Text 7")
    wait_at(page, 7, 111)
    before = top("Text 7")
    page.js("document.querySelector('.middle h3, .middle dl').dataset.seen = 'yes'")
    api.append(session, event("more", "agent", "More", {"n": 112}))
    wait_at(page, 7, 112)
    wait_state(page, "State at 7", n="7")
    assert abs(top("Text 7") - before) < 2
    assert page.address().endswith("?at=7")
    assert page.value("document.querySelector('[data-seen]') !== null"), "the event is drawn anew"
    page.press("t")
    wait_at(page, 112, 112)
    page.wait(f"{TAIL} < 2")
    assert "?at" not in page.address()


@pytest.mark.server()
def test_the_stream_goes_on_after_a_restart(server, api, app, page):
    session = filled(api, app)
    opened(page, app)
    page.wait("document.querySelector('.live').dataset.status === 'live'")
    server.stop()
    page.wait_text(".live", "Connecting")
    server.start()
    api.append(session, event("after", "agent", "After the restart", {"n": 6}))
    wait_at(page, 6, 6)
    page.wait_text(".live", "Live")
    wait_state(page, "State now", n="6")
    assert [row.text for row in page.all(".timeline .row .sequence")] == [str(n) for n in range(7)]


def test_a_session_that_is_deleted_while_open(api, app, page):
    session = filled(api, app)
    opened(page, app, "?at=3")
    wait_at(page, 3, 5)
    page.wait("document.querySelector('.live').dataset.status === 'live'")
    api.ask("DELETE", session)
    page.wait_text("[role=alert].gone", "This session was deleted")
    page.wait_text(".live", "Ended: deleted")
    assert not page.find(".buttons button", "Fork here").is_enabled()
    page.press("f")
    assert page.all("dialog") == []
    page.find(".timeline .row", "Text 5")


def test_what_is_looked_for_is_no_command(api, app, page):
    session = filled(api, app)
    opened(page, app, "?at=3")
    wait_at(page, 3, 5)
    for word in ["measures", "refund", "fork", "edit", "rewind", "trim", "take back", "undo", "new", "delete me"]:
        page.press("/", *word, Keys.ENTER, Keys.ENTER)
        assert page.value("document.activeElement.value") == word
        assert page.all("dialog") == []
        page.fill(".find input", "")
        page.press(Keys.ESCAPE)
    # Nor where the letters are keys, as nothing has the focus.
    page.js("document.activeElement.blur()")
    for key in "abdhilmnopqrsuvwxz":
        page.press(key, Keys.ENTER)
        assert page.all("dialog .danger") == [], key
    now = api.get(session).json
    assert (now["revision"], now.get("baseRevision", 0)) == (5, 0)
    assert len(api.get(path("apps", app, "sessions")).json["sessions"]) == 1


def shown_events(page):
    return page.value("[...document.querySelectorAll('.timeline .row:not(.start) .sequence')].map((cell) => Number(cell.textContent))")


def test_one_field_finds_and_filters(api, app, page):
    session = filled(api, app, 12)
    call = {"functionCall": {"id": "c", "name": "look_up", "args": {"order": "A-1093"}}}
    api.append(session, {"id": "call", "author": "Helper", "content": {"parts": [call]}, "actions": {"stateDelta": {"price": 1}}})
    opened(page, app, "?at=1")
    wait_at(page, 1, 13)
    assert len(page.all(".left input:not([type=checkbox])")) == 1
    page.fill(".find input", "helper")
    page.wait("[...document.querySelectorAll('.hit .sequence')].map((one) => one.textContent).join() === '13'")
    assert len(shown_events(page)) == 13
    page.press(Keys.ENTER)
    wait_at(page, 13, 13)
    page.wait_text(".find .count", "1 of 1")
    page.click(".timeline .row", "Text 1")
    page.click(".find .check input")
    for text, expected in [("text 1", [1, 10, 11, 12]), ("a-1093", [1, 13]), ("HELPER", [1, 13]), ("price", [1, 13]), ("i6", [1, 11, 12])]:
        page.fill(".find input", text)
        page.wait("document.querySelectorAll('.timeline .row:not(.start)').length === arguments[0]", len(expected))
        assert shown_events(page) == expected, text
    assert page.address().endswith("?at=1&find=i6&only=true")
    page.js("document.activeElement.blur()")
    page.press("j")
    wait_at(page, 11, 13)
    page.press("j", "j")
    wait_at(page, 12, 13)
    page.press("k", "k")
    wait_at(page, 11, 13)
    page.press("k")
    wait_at(page, 11, 13)
    page.fill(".find input", "nothing has this")
    page.wait("document.querySelectorAll('.timeline .row:not(.start)').length === 1")
    page.js("const filter = document.querySelector('.find input'); filter.value = ''; filter.dispatchEvent(new Event('input'))")
    page.wait("document.querySelectorAll('.timeline .row:not(.start)').length === 13")
    page.wait("location.hash.endsWith('?at=11&only=true')")
    page.open(address(app, "?at=1&find=price&only=true"))
    page.wait("document.querySelectorAll('.timeline .row:not(.start)').length === 2")


def test_a_content_of_another_shape_is_shown(api, app, page):
    session = api.session(app)
    for content in ("said as a text", {"parts": ["said in a part"]}, [1, {"a": 2}], {"role": "user"}, None):
        api.append(session, {"author": "a", "content": content})
    opened(page, app, "?at=1")
    wait_at(page, 1, 5)
    lines = page.value("[...document.querySelectorAll('.timeline .row:not(.start) .line')].map(one => one.textContent)")
    assert {"said as a text", "said in a part", "no content"} <= set(lines) and lines.count("no content") == 2
    page.find("#event-body p.text", "said as a text")
    page.open(address(app, "?at=2"))
    page.find("#event-body p.text", "said in a part")
    page.open(address(app, "?at=3"))
    page.find("#event-body .part.other", "2")
    page.open(address(app, "?at=4"))
    page.find("#event-body p.empty", "This event has no content.")


@pytest.mark.page(width=390, height=844)
def test_on_a_small_screen_the_content_has_the_room_and_the_buttons_are_a_menu(api, app, page):
    filled(api, app)
    opened(page, app, "?at=3")
    wait_at(page, 3, 5)
    assert page.value("document.querySelector('.left .scroller').clientHeight > innerHeight / 2")
    assert not any(button.is_displayed() for button in page.all(".buttons button"))
    page.click(".menu")
    page.click(".buttons button", "Fork here")
    page.find("dialog h2", "Fork at event 3")
    page.press(Keys.ESCAPE)
    page.wait("document.activeElement.matches('.menu')")
    assert not any(button.is_displayed() for button in page.all(".buttons button"))


@pytest.mark.page(width=390, height=800)
def test_the_filter_is_found_on_a_small_screen(api, app, page):
    session = filled(api, app)
    opened(page, app)
    page.click(".chooser button", "Event")
    page.press("/", *"edit", Keys.ENTER)
    assert page.find(".find input").get_attribute("value") == "edit"
    assert page.all("dialog") == [] and api.get(session).json["revision"] == 5


def test_a_dialog_closes_when_the_address_changes(api, app, page):
    filled(api, app)
    filled(api, app, id="s2")
    opened(page, app)
    for open, next in [("Trim to here", address(app, "?at=2")), ("Rewind to here", address(app, id="s2")), ("Fork here", "#/server")]:
        page.click("button", open)
        page.find("dialog")
        page.go(next)
        page.wait("!document.querySelector('dialog')")
    page.js("history.back()")
    page.find(".row[aria-current=true]")
    # One that is on its way is not opened for another session.
    page.js("""const real = fetch;
        window.fetch = async (address, options) => {
            if (!address.endsWith('/state')) return real(address, options);
            const answer = await real(address);
            await new Promise((done) => { window.release = done; });
            return answer;
        };""")
    page.press("e")
    page.wait("window.release !== undefined")
    page.go("#/server")
    page.find(".ready")
    page.js("release()")
    page.find(".ready")
    assert page.all("dialog") == []


@pytest.mark.parametrize("key", ["f", "e"])
def test_two_keys_in_a_row_open_one_dialog(api, app, page, key):
    filled(api, app)
    opened(page, app, "?at=3")
    wait_at(page, 3, 5)
    wait_state(page, "State at 3", n="3")
    page.js("""const real = fetch;
        window.fetch = async (address, options) => {
            if (!address.endsWith('/state')) return real(address, options);
            await new Promise((done) => { (window.held ??= []).push(done); });
            const answer = await real(address, options);
            window.answered = (window.answered ?? 0) + 1;
            return answer;
        };""")
    page.press("e", key)
    asked = {"f": 1, "e": 2}[key]
    page.wait("window.held?.length === arguments[0]", asked)
    page.js("held.forEach((done) => done())")
    page.wait("window.answered === arguments[0]", asked)
    page.find("dialog h2", {"f": "Fork", "e": "Edit state"}[key])
    page.js("return new Promise((done) => setTimeout(done, 100))")
    assert len(page.all("dialog")) == 1


FOCUS = "document.activeElement.textContent"
OUTLINE = "getComputedStyle(document.activeElement).outlineStyle"


def test_keyboard_alone(api, app, page, copied):
    filled(api, app, 6)
    page.open(f"#/app/{app}")
    page.find(".sessions td a")
    page.press("j")
    page.press(Keys.ENTER)
    wait_at(page, 6, 6)
    for key, place in [("k", 5), ("k", 4), ("j", 5), ("[", 4), ("[", 3), ("]", 4), ("{", 3), ("{", 1), ("}", 3), ("}", 5)]:
        page.press(key)
        wait_at(page, place, 6)
    assert "Text 5" in page.value(FOCUS)
    assert page.value(OUTLINE) != "none"
    assert re.fullmatch(r"event 5 of 6, agent, \d\d:\d\d:\d\d", page.value("document.querySelector('.slider input').getAttribute('aria-valuetext')"))
    for key, title in [("e", "Edit state"), ("f", "Fork at event 5"), ("?", "Keys")]:
        page.press(key)
        page.find("dialog h2", title)
        assert page.value("document.querySelector('dialog').contains(document.activeElement)")
        page.press(Keys.ESCAPE)
        page.wait("!document.querySelector('dialog')")
        assert "Text 5" in page.value(FOCUS)
        assert page.value(OUTLINE) != "none"
    assert "/state?atRevision=5" in copied(page, lambda: page.press("y"))
    page.press("t")
    wait_at(page, 6, 6)
    page.js("document.querySelector('.slider input').focus()")
    page.press(Keys.ARROW_LEFT)
    wait_at(page, 5, 6)
    page.press(Keys.HOME)
    wait_at(page, 0, 6)
    assert page.value("document.querySelector('.slider input').getAttribute('aria-valuetext')") == "revision 0 of 6"


def test_focus_stays_while_events_arrive(api, app, page):
    session = filled(api, app, 6)
    opened(page, app)
    wait_state(page, "State now", n="6")
    for number, selector in enumerate([".timeline .row[aria-current=true]", ".keys .key", ".middle .facts button"], 7):
        page.js("document.querySelector(arguments[0]).focus({preventScroll: true})", selector)
        api.append(session, event(f"e{number}", "agent", "More", {"n": number}))
        wait_at(page, number, number)
        wait_state(page, "State now", n=str(number))
        if ".middle" not in selector:
            assert page.value("document.activeElement !== document.body"), selector


def test_ticks_of_many_turns_are_a_density(page):
    page.open("#/server")
    page.find(".ready")
    ticks = """return import('./slider.js').then(({Slider}) => {
        const slider = new Slider(() => {});
        slider.draw({base: 0, revision: arguments[0], at: 0, text: '', starts: arguments[1]});
        return slider.path.getAttribute('d');
    })"""
    assert page.js(ticks, 10, [1, 5]) == "M1 1V0M5 1V0"
    # Of the first half each event is a turn, of the second half every fifth.
    drawn = re.findall(r"M(\d+) 1V([\d.]+)", page.js(ticks, 1000, [*range(500), *range(500, 1000, 5)]))
    assert len(drawn) == 100 and {height for _, height in drawn[:50]} == {"0"} and {height for _, height in drawn[50:]} == {"0.8"}


def test_copy_as_curl(server, api, app, page, copied):
    filled(api, app)
    opened(page, app, "?at=3")
    wait_at(page, 3, 5)
    session = f"{server.url}{path('apps', app, 'users', 'ada', 'sessions', 's1')}"
    text = copied(page, lambda: page.click(".buttons button", "Copy as curl"))
    assert text == f"curl '{session}/state?atRevision=3'\ncurl {session}/events/e3"


def test_values_are_shown_and_copied_as_they_were_written(api, app, page, copied):
    session = api.session(app)
    state = f'{{"z":1,"a":{{"z":{NUMBER},"b":{LONG},"a":1e2,"10":0,"2":-0.0}}}}'
    api.post(f"{session}/events", f'{{"id":"e1","author":"agent","actions":{{"stateDelta":{state}}}}}')
    opened(page, app)
    inside = f'{{"z":{NUMBER},"b":{LONG},"a":1e2,"10":0,"2":-0.0}}'
    assert inside in api.get(f"{session}/state").text
    row = page.find(".keys li", '"z": 1.10')
    row.find_element("css selector", "button").click()
    text = page.value("document.querySelector('.keys .opened').innerText")
    places = [text.index(part) for part in [f'"z": {NUMBER}', f'"b": {LONG}', '"a": 1e2', '"10": 0', '"2": -0.0']]
    assert places == sorted(places)
    assert copied(page, lambda: page.click(".opened button", "Copy value")) == inside
    assert copied(page, lambda: page.click("button", "Copy state as stored")) == api.get(f"{session}/state").text.rstrip()
    page.click("[role=tab]", "Raw")
    stored = api.get(f"{session}/events/e1").text.rstrip()
    assert page.value("document.querySelector('pre.raw').textContent") == stored
    assert copied(page, lambda: page.click("button", "Copy as stored")) == stored
