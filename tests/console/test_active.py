"""Files that want to run, stored under every type: opened by their address nothing in them does, and the console shows their text."""

import http.server
import itertools
import threading
from urllib.parse import quote

import pytest

from server import path, until

TYPES = [
    "text/html", "TEXT/HTML", "Text/Html; charset=utf-8", "text/html;charset=utf-7", "image/svg+xml", "Image/SVG+XML; charset=utf-8",
    "application/xhtml+xml", "application/xml", "text/xml", "text/xsl", "application/mathml+xml", "application/rss+xml", "application/pdf",
    "text/plain", "text/css", "text/javascript", "application/javascript", "application/json", "application/octet-stream",
    "application/wasm", "application/x-shockwave-flash", "message/rfc822", "multipart/related", "multipart/x-mixed-replace; boundary=b",
    "text/calendar", "text/event-stream", "image/png", "image/x-unknown", "x", "*/*", "unknown/unknown", None,
]  # fmt: skip
SCRIPT = "fetch('{0}script'); new Image().src = '{0}image'; localStorage.setItem('ran', 1); document.cookie = 'ran=1'; alert('ran');"
HTML = f"""<!doctype html><html><head><base href="{{0}}base/"><meta http-equiv="refresh" content="0;url={{0}}refresh"><link rel="stylesheet" href="{{0}}style">
<script src="{{0}}source"></script><script>{SCRIPT}</script></head><body onload="{SCRIPT}"><img src="{{0}}img" onerror="alert('ran')">
<iframe src="{{0}}frame"></iframe><object data="{{0}}object"></object><form action="{{0}}form"><button autofocus onfocus="this.form.submit()">x</button></form></body></html>"""
SVG = f"""<?xml version="1.0"?><?xml-stylesheet href="{{0}}css" type="text/css"?>
<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" onload="{SCRIPT}"><script>{SCRIPT}</script><image xlink:href="{{0}}image"/>
<foreignObject><iframe xmlns="http://www.w3.org/1999/xhtml" src="{{0}}frame"/></foreignObject><animate onbegin="alert('ran')" attributeName="x" dur="1s"/></svg>"""
PAYLOADS = {"html": HTML, "svg": SVG}


class Beacon:
    """A server that notes what it is asked for. What it serves itself runs."""

    def __init__(self):
        asked = self.asked = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                asked.append(self.path)
                kind = self.path.split(".")[-1]
                self.send_response(200)
                self.send_header("content-type", {"html": "text/html", "svg": "image/svg+xml"}.get(kind, "text/plain"))
                self.end_headers()
                self.wfile.write(PAYLOADS.get(kind, "").format(f"/{kind}-").encode())

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture(scope="module")
def beacon():
    beacon = Beacon()
    yield beacon
    beacon.server.shutdown()


@pytest.fixture(scope="module")
def stored(shared_server, beacon):
    """The addresses of files of both kinds and all types, of a session and of a user, in all ways in which they are read."""
    api, app = shared_server.api, "active"
    session = api.session(app)
    addresses = []
    for (kind, text), (number, type) in itertools.product(PAYLOADS.items(), enumerate(TYPES)):
        for of, prefix in [(session, ""), (session, "user:")]:
            name = f"{prefix}{number}.{kind}"
            api.save(of, name, text.format(f"{beacon.url}{number}-").encode(), type)
            file = f"{of}/artifacts/{quote(name, safe='')}"
            addresses += [file, f"{file}?as=part"]
        addresses.append(f"{path('apps', app, 'users', 'ada')}/artifacts/{number}.{kind}")
        adk = f"/apps/{app}/users/ada/sessions/s1/artifacts/{number}.{kind}"
        addresses += [adk, f"{adk}/versions/0", f"{adk}/versions/0/metadata"]
    for kind, text in PAYLOADS.items():
        part = {"name": f"text.{kind}", "part": {"text": text.format(f"{beacon.url}text-")}}
        api.post(f"{session}/artifacts", part)
        addresses += [f"{session}/artifacts/text.{kind}", f"{session}/artifacts/0.{kind}?version=0", f"{session}/artifacts/0.{kind}/versions"]
    return addresses


def alerts(page):
    page.cdp("Page.addScriptToEvaluateOnNewDocument", source="window.alert = (text) => { document.title = `ran: ${text}`; };")


def traces(page, server):
    """What something that ran has left in the origin of the server."""
    page.driver.get(f"{server.url}/healthz")
    return page.value("[localStorage.getItem('ran'), document.cookie]")


@pytest.mark.parametrize("kind", PAYLOADS)
def test_what_runs_is_noticed(beacon, browser, server, page, kind):
    alerts(page)
    page.driver.get(f"{beacon.url}any.{kind}")
    until("it ran", lambda: f"/{kind}-script" in beacon.asked and f"/{kind}-image" in beacon.asked)
    assert page.value("localStorage.getItem('ran')") == "1"
    page.js("localStorage.clear()")
    browser.new_faults()


def test_nothing_runs_that_is_opened_by_its_address(beacon, browser, server, page, stored, tmp_path):
    browser.save_to(tmp_path)
    alerts(page)
    beacon.asked.clear()
    opened = 0
    for address in stored:
        answer = server.api.send("GET", address)
        if answer.status == 404 and address.startswith("/apps/"):
            continue  # a path of ADK that this version has not
        assert answer.status == 200, address
        opened += 1
        page.driver.get("about:blank")
        page.driver.get(server.url + address)
        shown = page.js("return {url: location.href, title: document.title, elements: document.querySelectorAll('script, img, svg, iframe, object, form').length}")
        assert not shown["title"].startswith("ran") and shown["elements"] == 0, (address, shown)
        if "json" not in answer.headers["content-type"] or "content-disposition" in answer.headers:
            assert shown["url"] == "about:blank", address
    assert opened >= 2 * len(TYPES) * 5
    # By a link of a page of the origin, here and in another tab.
    page.open()
    page.find("h1")
    for address in stored[::7]:
        for target in ["_self", "_blank"]:
            page.js("Object.assign(document.createElement('a'), {href: arguments[0], target: arguments[1]}).click()", address, target)
    assert page.value("document.title.startsWith('ran')") is False
    assert beacon.asked == []
    assert traces(page, server) == [None, ""]
    # Chromium writes that it saves a file in place of a page.
    browser.new_faults()


@pytest.mark.parametrize("kind", PAYLOADS)
def test_the_console_shows_it_as_text(beacon, server, page, stored, kind):
    alerts(page)
    beacon.asked.clear()
    page.open("#/app/active/user/ada/session/s1")
    for number, type in enumerate(TYPES):
        page.find("section[aria-label=Files] td button", f"{number}.{kind}")
        page.js("""[...document.querySelectorAll('section[aria-label=Files] td button')]
            .find((one) => one.textContent === arguments[0]).click()""", f"{number}.{kind}")
        page.wait("document.querySelector('dialog .raw, dialog img')")
        if type == "image/png":
            page.wait("document.querySelector('dialog img').complete")
            assert page.value("document.querySelector('dialog img').naturalWidth") == 0
        else:
            text = PAYLOADS[kind].format(f"{beacon.url}{number}-")
            assert page.value("document.querySelector('dialog .raw').firstChild.data") == text
            assert page.value("document.querySelectorAll('dialog :is(svg, img, iframe, object, form, script)').length") == 0, type
        page.js("document.querySelector('dialog').close()")
        page.wait("!document.querySelector('dialog')")
    assert page.value("document.title.startsWith('ran')") is False
    assert beacon.asked == []
    assert traces(page, server) == [None, ""]
