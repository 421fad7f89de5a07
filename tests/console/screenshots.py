"""The pictures of docs/console.md: `tests/console/run-tests screenshots.py`. They are made smaller by pngquant. Beside them is what
their pages have of headings and controls, by which test_pages.py tells that the pictures are not older than the pages."""

import json
import os
import subprocess

import pytest

from demo import ROOT
from test_accessibility import REFUND
from test_turns import FRAMEWORKS

PICTURES = ROOT / "docs/console"
SHOWN = PICTURES / "shown.json"
KEYS = [
    ("dashboard", "--role=reader", "--apps=shop"),
    ("support desk", "--role=operator", "--apps=shop,warehouse"),
    ("shop agents", "--role=agent", "--apps=shop"),
    ("stock agents", "--role=agent", "--apps=warehouse"),
    ("zoe on her phone", "--role=user", "--apps=shop", "--users=zoe", "--ttl=30d"),
]


def pages(page):
    """The pages of the pictures, in an order in which each has something to show."""
    for session in ["soren/session/card-812", "lukasz/session/return-1088", "ada/session/parcel-1090", "zoe/session/voucher-1093"]:
        page.go(f"#/app/shop/user/{session}")
        page.find(".place", "of")
    page.go(f"{REFUND}?at=9")
    page.find(".live[data-status=live]")
    page.find(".right .changed")
    page.find(".marks .label", "watching")
    yield "session"
    page.resize(390, 800)
    page.click(".chooser button", "State")
    page.find(".right .changed")
    yield "phone"
    page.resize(1280, 800)
    page.go("#/")
    page.wait("document.querySelectorAll('td.last a').length === 2 && document.querySelectorAll('td.sum:not(:empty)').length === 2")
    yield "apps"
    page.go("#/app/shop")
    page.find(".sessions td a")
    yield "app"
    page.go("#/feed")
    page.find(".feed td a")
    yield "feed"
    page.go("#/keys")
    page.find(".keyring td")
    yield "keys"


def shown(page):
    """The headings and controls of a page, without those of what is stored."""
    return page.value(
        """[...document.querySelectorAll(':is(#nav a, h1, h2, th, button, select, input):not(td *, li *)')].filter((one) => one.checkVisibility())
            .map((one) => one.ariaLabel || one.placeholder || (one.matches('select, input') ? one.parentElement : one).textContent.trim())"""
    )


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_pictures(browser, shop, dark):
    for name, *flags in KEYS if not dark else []:
        shop.new_key("--name", name, *flags)
    page = browser.page(shop, dark=dark, credential=shop.key)
    page.open()
    page.find("#nav [aria-current]")
    PICTURES.mkdir(exist_ok=True)
    all = {}
    for name in pages(page):
        all[name] = shown(page)
        save(page, name, dark)
    SHOWN.write_text(json.dumps(all, indent=1, ensure_ascii=False) + "\n")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_picture_of_frameworks(browser, server, api, app, dark):
    api.append(api.session("cafe", id=app), *FRAMEWORKS)
    page = browser.page(server, dark=dark)
    page.open(f"#/app/cafe/user/ada/session/{app}?at=8")
    page.find(".row[aria-current=true]", "a green tea")
    page.find(".live[data-status=live]")
    page.find(".right .keys")
    save(page, "frameworks", dark)


def save(page, name, dark):
    page.js("document.activeElement.blur()")
    file = PICTURES / f"{name}-{'dark' if dark else 'light'}.png"
    page.screenshot(file)
    subprocess.run(["pngquant", "40", "--force", "--skip-if-larger", "--speed=1", "--strip", f"--output={file}", file], check=False)
    assert os.path.getsize(file) < 64 << 10
