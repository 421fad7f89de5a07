"""Many tabs of one browser, which has six connections to a host over HTTP/1.1: nothing hangs."""

import pytest

from server import event, until

SHOWN = "document.querySelector('.timeline')?.textContent.includes(arguments[0])"


# Of the tabs of one window only the last is visible; each window is.
@pytest.mark.parametrize("kind", ["tab", "window"])
@pytest.mark.parametrize("sessions", [1, 7])
def test_seven_tabs(api, app, browser, server, kind, sessions):
    paths = [api.session(app, id=f"s{number}") for number in range(sessions)]
    pages = []
    for number in range(7):
        page = browser.page(server, kind=kind).open(f"#/app/{app}/user/ada/session/s{number % sessions}")
        page.find(".crumbs h1", f"s{number % sessions}")
        pages.append(page)
    for turn in range(2):
        for path in paths:
            api.append(path, event(f"e{turn}", text=f"Turn {turn}", delta={"turn": f"It is {turn}"}))
        for page in pages:
            page.cdp("Page.bringToFront")
            page.wait(SHOWN, f"Turn {turn}")
            page.find(".scope li", f"It is {turn}")
            page.wait_text(".live", "Live")
            assert page.js("return fetch('/v1/info', {cache: 'no-store'}).then((answer) => answer.status)") == 200


def test_at_most_two_streams(api, app, browser, server):
    pages = []
    for number in range(4):
        session = api.session(app, id=f"s{number}")
        page = browser.page(server, kind="window").open(f"#/app/{app}/user/ada/session/s{number}")
        page.find(".crumbs h1", f"s{number}")
        api.append(session, event("e1", text="Hello"))
        page.wait(SHOWN, "Hello")
        pages.append(page)
    held = "return navigator.locks.query().then(({held}) => held.map(({name}) => name).filter((name) => name.startsWith('sessiond stream')).sort())"
    assert pages[3].js(held) == ["sessiond stream 1", "sessiond stream 2"]
    assert "s3/watch" not in pages[3].js("return performance.getEntriesByType('resource').map(({name}) => name).join()")
    # A place that is left is taken.
    pages[0].close()
    pages[1].close()
    api.ask("PATCH", f"/v1/apps/{app}/state", {"stateDelta": {"open": "since noon"}})
    pages[3].find(".scope li", "since noon")
    until("both places are taken", lambda: pages[3].js(held) == ["sessiond stream 1", "sessiond stream 2"])


def test_a_tab_without_a_stream_hears_of_all(api, app, browser, server):
    session = api.session(app)
    page = browser.page(server)
    page.cdp("Page.addScriptToEvaluateOnNewDocument", source="Object.defineProperty(navigator, 'locks', {value: undefined})")
    page.open(f"#/app/{app}/user/ada/session/s1")
    page.find(".crumbs h1", "s1")
    api.append(session, *[event(f"e{number}", text=f"Event {number}") for number in range(250)])
    page.wait(SHOWN, "Event 249")
    api.ask("PATCH", f"/v1/apps/{app}/state", {"stateDelta": {"open": "since noon"}})
    page.find(".scope li", "since noon")
    api.ask("DELETE", session)
    page.wait_text(".live", "Ended")
