"""The feed, what is around a session, the description of the API at /docs, and whether the pictures of the docs show the pages."""

import json

import pytest

import screenshots
from browser import Keys
from server import event, path

ROWS = """[...document.querySelectorAll('.feed tbody tr')].map((row) => [...row.cells].slice(1).map((cell) => cell.innerText.trim()).join(' '))"""


@pytest.mark.server("--feed-retention=1h")
def test_the_feed_shows_changes_as_they_happen(server, api, page, app):
    api.append(api.session(app, state={"k": 1}), event("e1", text="One"), event("e2", delta={"user:k": 1}))
    page.open(f"#/feed?app={app}")
    page.wait(f"{ROWS}.length === 3")
    assert page.value(ROWS) == [f"user.state {app} ada revision 1", f"events {app} ada s1 events 1–2", f"session.created {app} ada s1"]
    api.session("other")
    api.append(path("apps", app, "users", "ada", "sessions", "s1"), event("e3", text="Three"))
    page.wait(f"{ROWS}[0] === arguments[0]", f"events {app} ada s1 event 3")
    page.click("button", "Live")
    page.find("button.live", "Paused")
    api.session(app, user="bob", id="s2")
    page.choose("[aria-label=Kind]", "session.created")
    page.wait(f"{ROWS}.length === 2")
    assert page.address() == f"#/feed?app={app}&kinds=session.created"
    page.fill("[aria-label=User]", "bob")
    page.wait(f"{ROWS}.join() === arguments[0]", f"session.created {app} bob s2")
    page.press(Keys.ESCAPE, "j", Keys.ENTER)
    page.find(".crumbs h1", "s2")


@pytest.mark.server("--console-link=Trace=https://t.example/{app}/{session}?u={user},Turn=https://t.example/{invocation}")
def test_who_holds_a_session_who_watches_it_and_where_else_it_is(api, page):
    session = api.session("a&b", user="ada/x", id="s 1")
    api.append(session, event("e1", text="Hi", invocationId="turn/1"))
    page.open("#/app/a&b/user/ada%2Fx/session/s%201")
    page.find(".marks .label", "watching")
    assert page.find(".marks a", "Trace").get_attribute("href") == "https://t.example/a%26b/s%201?u=ada%2Fx"
    assert page.value("[...document.querySelectorAll('.marks a')].map((link) => link.rel).join()") == "noreferrer"
    assert page.find(".middle .facts a", "Turn").get_attribute("href") == "https://t.example/turn%2F1"
    api.post(f"{session}/lease", {"owner": "pod-7"})
    page.find(".marks .label", "pod-7")


@pytest.mark.server("--require-auth")
def test_docs_are_filtered_and_tried(server, api, browser):
    api.session("shop")
    page = browser.page(server, credential=server.key)
    page.driver.get(f"{server.url}/docs")
    page.fill("nav input", "trim keepLast")
    page.wait("document.querySelector('#getSession').hidden && !document.querySelector('#trimSession').hidden")
    page.fill("nav input", "numRecentEvents")
    page.wait("!document.querySelector('#getSession').hidden")
    assert page.value("document.querySelector('#getSession .anchor').hash") == "#getSession"
    page.click("#getSession button", "Try it")
    for field, text in zip(page.all("#getSession .try input"), ["shop", "ada", "s1", "numRecentEvents=0"]):
        field.send_keys(text)
    page.click("#getSession button", "Send")
    page.wait_text("#getSession .try pre", '"id":"s1","appName":"shop"')
    assert page.value("[...document.querySelectorAll('#createSession button')].map((button) => button.textContent).join()") == "Copy"


def test_the_pictures_of_the_docs_show_the_pages(browser, shop):
    page = browser.page(shop, credential=shop.key)
    page.open()
    page.find("#nav [aria-current]")
    then = json.loads(screenshots.SHOWN.read_text())
    now = {name: screenshots.shown(page) for name in screenshots.pages(page)}
    assert now == then, "tests/console/run-tests screenshots.py makes the pictures anew"
