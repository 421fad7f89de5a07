"""Names and texts that try to be something else: on each page they are shown, and nothing runs, breaks or widens it."""

import json

import pytest

from server import event

NAMES = {
    "markup": "<img src=x onerror=alert(1)><script>alert(2)</script>",
    "handler": "\" onfocus=alert(1) autofocus x='`${alert(2)}",
    "scheme": "javascript:alert(1)",
    "bidi": "\u202eevil\u2066 \u200frtl",
    "invisible": "a\u200b\u200d\ufeffb\u00ad",
    "combining": "Z" + "\u0301\u0321\u0335" * 40,
    "emoji": "👩‍👩‍👧‍👦🏴‍☠️",
    "prototype": "__proto__",
    "constructor": "constructor",
    "slashes": "a/b//../c\\d",
    "percent": "100%25 %2F %",
    "address": "a#b?c&d=e;f+g h",
    "dots": "...",
    "wide": "W" * 256,
}
TEXT = "{0}\n\r\n\t\u2028\u0000{0} <svg onload=alert(3)> " + "long" * 2000


@pytest.fixture(scope="module", params=NAMES)
def name(request):
    return NAMES[request.param]


@pytest.fixture(scope="module")
def filled(shared_server, name):
    """A session in which everything that can be chosen is the name."""
    api, text = shared_server.api, TEXT.format(name)
    labels = {f"label-{number}": name for number in range(4)}
    state = {name: name, f"app:{name}": {name: [name]}, f"user:{name}": name, "long": text}
    session = api.session(name, name, name, displayName=name, labels=labels, state=state)
    parts = [
        [{"text": text}],
        [{"functionCall": {"name": name, "args": {name: text}}}],
        [{"functionResponse": {"name": name, "response": {name: {name: name}}}}],
        [{"text": text, "thought": True}],
        [{name: {name: name}}],
    ]
    for number, part in enumerate(parts):
        api.append(session, event(f"{name[:240]}{number}", author=name, invocationId=name, branch=name, content={"role": name, "parts": part}, delta={name: f"{name}{number}"}))
    api.append(session, event("failure", author=name, errorCode=name, errorMessage=text, customMetadata={name: name}))
    type = f"text/html; {name}" if name.isascii() and name.strip() == name else "text/html"
    api.save(session, name, text.encode(), type, metadata=json.dumps({name: name}), displayName=name, invocationId=name)
    return session


# One script, as it is asked some sixty times a test.
CHECK = """(({scrollWidth, clientWidth}) => ({
    wide: scrollWidth <= clientWidth ? [] : [...document.querySelectorAll('body *')]
        .filter((one) => one.getBoundingClientRect().right > clientWidth).map((one) => `${one.tagName}.${one.className}`),
    foreign: [...document.querySelectorAll("img, svg:not([aria-hidden]), script:not([src='main.js']), [onerror], [onload], [onfocus], [autofocus]")]
        .map((one) => one.outerHTML),
    protocols: [...new Set([...document.querySelectorAll('a[href]')].map((link) => link.protocol))].filter((protocol) => protocol !== 'http:'),
    alerted: window.alerted ?? null,
}))(document.scrollingElement)"""


def check(page):
    assert page.value(CHECK) == {"wide": [], "foreign": [], "protocols": [], "alerted": None}


@pytest.mark.parametrize("width", [1280, 360])
def test_hostile(filled, name, page, width):
    page.resize(width, 800)
    page.cdp("Page.addScriptToEvaluateOnNewDocument", source="window.alert = (text) => { window.alerted = text; }; addEventListener('securitypolicyviolation', (report) => { window.alerted = report.violatedDirective; });")
    page.open("#/")
    # The list of apps, down to the session.
    page.wait("[...document.querySelectorAll('tbody a')].some((link) => link.textContent === arguments[0])", name)
    check(page)
    follow(page, "tbody a", name)
    page.wait("document.querySelector('.sessions tbody a') && document.querySelector('h1').textContent === arguments[0]", name)
    check(page)
    if width == 360:
        page.click(".chooser button", "App")
        page.find(".scope summary")
        check(page)
        page.click(".chooser button", "Sessions")
    page.js("document.querySelector('.sessions tbody a').click()")
    page.find(".timeline .row .line")
    assert page.value("document.querySelector('h1').textContent") == name
    assert [page.value("decodeURIComponent(arguments[0])", part) for part in page.address().split("?")[0].split("/")[2::2]] == [name] * 3
    for number in range(1, 8):
        page.go(page.address().split("?")[0] + f"?at={number}")
        page.wait(f"document.querySelector('.row[aria-current=true] .sequence')?.textContent === '{number}'")
        for pane in (["Timeline", "Event", "State"]):
            if width == 360:
                page.click(".chooser button", pane)
            check(page)
        if width == 360:
            page.click(".chooser button", "Event")
        for tab in ("Actions", "Raw", "Content"):
            page.click("[role=tab]", tab)
            page.wait("[...document.querySelectorAll('[role=tab]')].find((tab) => tab.textContent === arguments[0]).ariaSelected === 'true'", tab)
            check(page)
    if width == 360:
        page.click(".chooser button", "State")
    page.wait("document.querySelectorAll('.right .scope li').length >= 4")
    for index in range(page.value("document.querySelectorAll('.right button.key').length")):
        page.js("document.querySelectorAll('.right button.key')[arguments[0]].click()", index)
    names = page.value("[...document.querySelectorAll('.right button.key .name')].map((one) => one.textContent)")
    assert {name, f"app:{name}", f"user:{name}"} <= set(names)
    check(page)
    page.js("document.querySelector('.right td button').click()")
    page.find("dialog .raw")
    assert page.value("document.querySelector('dialog h2').textContent") == name
    check(page)
    page.js("document.querySelector('dialog').close()")
    follow(page, ".crumbs a:last-of-type", name)
    page.wait("document.querySelector('.sessions tbody a') && document.querySelector('h1').textContent === arguments[0]", name)
    check(page)


def follow(page, selector, text):
    page.js("[...document.querySelectorAll(arguments[0])].find((link) => link.textContent === arguments[1]).click()", selector, text)
