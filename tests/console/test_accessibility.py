"""Accessibility: axe-core's rules of WCAG A and AA on every page and dialog, light and dark, wide and narrow; focus, motion, colours."""

import os
import pathlib

import pytest

from browser import Keys

AXE = pathlib.Path(os.environ["AXE"]).read_text()
WIDTHS = {1280: 800, 360: 720}
REFUND = "#/app/shop/user/zoe/session/refund-1093"
VOUCHER = "#/app/shop/user/zoe/session/voucher-1093"
FOUND = "#/app/warehouse/user/night?search=aisle+report"


def scenes(page):
    """Everything that a person may have on the screen: goes there, and gives its name."""
    page.open("#/")
    page.find("td.last a")
    yield "apps"
    page.go("#/app/shop")
    page.find(".sessions td a")
    yield "app"
    page.press("n")
    page.find("dialog[open]")
    yield "new session"
    page.press(Keys.ESCAPE)
    page.go("#/app/shop?userPrefix=nobody&label.topic=refund")
    page.find(".empty .example")
    yield "app, no session fits"
    page.go("#/app/shop/user/zoe")
    page.find("h1", "zoe")
    page.find(".sessions td a")
    yield "user"
    page.press("e")
    page.find("dialog[open]")
    yield "edit user state"
    page.press(Keys.ESCAPE)
    page.go("#/app/shop/user/zoe?search=refund")
    page.find(".found .empty", "switches it on")
    yield "user, no search"
    page.go(FOUND)
    page.find(".hits mark")
    yield "user, found"
    page.go(f"{REFUND}?at=9")
    page.find(".row[aria-current=true]", "refund")
    page.wait("document.querySelectorAll('.right .changes').length > 0")
    yield "session, timeline"
    for pane in ["Event", "State"]:
        if page.value("innerWidth < 900"):
            page.click(".chooser button", pane)
        yield f"session, {pane}"
        if pane == "Event":
            for tab in ["Actions", "Raw"]:
                page.click("[role=tab]", tab)
                yield f"session, {tab}"
    page.click(".keys .key", "step")
    page.find(".pasts a")
    yield "session, the past of a key"
    if page.value("innerWidth < 900"):
        page.click(".chooser button", "Timeline")
    page.press("/", *"refund", Keys.ENTER)
    page.find(".find .count", " of ")
    page.js("document.activeElement.blur()")
    yield "session, found"
    page.go(f"{REFUND}?at=16")
    page.find(".row[aria-current=true]", "Once more")
    for key, name in [("e", "edit"), ("f", "fork"), ("Rewind", "rewind"), ("Trim", "trim"), (".turn.chosen .back", "take back"), (".cost", "cost"), ("?", "help")]:
        if len(key) == 1:
            page.press(key)
        elif key.startswith("."):
            page.click(key)
        else:
            if page.value("innerWidth < 900"):
                page.click(".menu")
            page.click(".buttons button", key)
        page.find("dialog[open]")
        yield f"session, {name}"
        page.press(Keys.ESCAPE)
        page.wait("!document.querySelector('dialog')")
    page.chord(Keys.CONTROL, "k")
    page.find("dialog[open] [role=option]")
    yield "palette"
    page.press(Keys.ESCAPE)
    page.go(VOUCHER)
    page.find("h1", "What if")
    page.find(".live[data-status=live]")
    yield "session, fork, live"
    if page.value("innerWidth < 900"):
        page.click(".chooser button", "State")
    page.click("section[aria-label=Files] td button", "voucher.txt")
    page.find("dialog .raw", "A voucher")
    yield "session, file"
    page.press(Keys.ESCAPE)
    page.wait("!document.querySelector('dialog')")
    page.click("section[aria-label=Files] button", "Upload")
    page.find("dialog[open]")
    yield "session, upload"
    page.press(Keys.ESCAPE)
    page.wait("!document.querySelector('dialog')")
    page.press("c")
    page.find(".pairs .pair")
    page.find(".twins a")
    page.click(".pair")
    yield "compare"
    page.go("#/feed")
    page.find(".feed td a")
    yield "feed"
    page.go("#/keys")
    page.find(".keyring td")
    yield "keys"
    page.press("n")
    page.find("dialog[open]")
    yield "new key"
    page.press(Keys.ESCAPE)
    page.go("#/server")
    page.find(".ready")
    yield "server"
    page.go("#/nowhere")
    page.find("h1", "no such page")
    yield "no such page"
    page.go("#/app/shop/user/zoe/session/nothing")
    page.find("h1", "not here")
    yield "not found"


WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


def violations(page, *rules):
    """What axe-core finds, by all rules or by these: the rule, what is wrong, and where."""
    if not page.value("window.axe !== undefined"):
        page.js(AXE)
        # The lines of a JSON tree are 18 px: that they fold is a convenience, and `Raw` shows all.
        page.js("axe.configure({rules: [{id: 'target-size', selector: ':not(.tree summary)'}]})")
    result = page.driver.execute_async_script(
        """const [values, type, done] = arguments;
        axe.run(document, {runOnly: {type, values}, resultTypes: ['violations']})
            .then(({violations, passes}) => done({violations, passes: passes.length}), (error) => done({error: String(error)}))""",
        *((rules, "rule") if rules else (WCAG, "tag")),
    )
    assert "error" not in result, result
    assert result["passes"] > (0 if rules else 5)
    return [
        f"{rule['id']}: {' '.join(map(str, node['target']))}: {(node['any'] or node['all'] or node['none'])[0]['message']}"
        for rule in result["violations"]
        for node in rule["nodes"]
    ]


@pytest.mark.parametrize("width", WIDTHS)
def test_no_page_breaks_a_rule_or_is_wider_than_the_window(browser, shop, width):
    page = browser.page(shop, width=width, height=WIDTHS[width], credential=shop.key)
    found = []
    for scene in scenes(page):
        found += [f"{scene}: {fault}" for fault in violations(page)] + [f"{scene}: too wide"] * (page.overflow() > 0)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("width", WIDTHS)
def test_the_dark_has_contrast_and_nothing_moves_if_less_motion_is_asked_for(browser, shop, width):
    page = browser.page(shop, width=width, height=WIDTHS[width], credential=shop.key)
    media(page, prefers_color_scheme="dark", prefers_reduced_motion="reduce")
    found = []
    for scene in scenes(page):
        found += [f"{scene}: {fault}" for fault in violations(page, "color-contrast")]
        page.js("document.querySelector('.live')?.setAttribute('data-status', 'waiting')")
        found += [f"{scene}: moves"] * (page.value(MOVING) > 0)
    assert not found, "\n".join(found)
    page.go(f"{REFUND}?at=9")
    page.find(".live[data-status=live]")
    media(page, prefers_reduced_motion="no-preference")
    # In one script: the page itself sets the status again.
    assert page.value(f"(document.querySelector('.live').dataset.status = 'waiting', {MOVING})") == 1


CUT = """[...document.querySelectorAll('.cell > *')].filter((one) => one.checkVisibility()).flatMap((one) => {
    const [box, cell] = [one.getBoundingClientRect(), one.closest('td').getBoundingClientRect()];
    const isPill = one.classList.contains('label');
    const isCut = box.right > cell.right + .5 || (isPill && one.scrollWidth > one.clientWidth) || (isPill && parseFloat(getComputedStyle(one).paddingLeft) > 8);
    return isCut ? [one.outerHTML] : [];
})"""
EMPTY = """[...document.querySelectorAll('.pane > header, .head')].filter((one) => one.checkVisibility() &&
    ([...one.children].every((child) => !child.checkVisibility()) || one.clientHeight > 80)).map((one) => one.outerHTML)"""


@pytest.mark.parametrize("width", [1280, 390, 360])
def test_rows_show_their_pills_and_bars_have_content(browser, shop, width):
    page = browser.page(shop, width=width, height=800, credential=shop.key)
    for route, pill in [("#/app/shop", "fork"), ("#/app/shop/user/zoe", "fork"), ("#/keys", "you")]:
        page.go(route) if route != "#/app/shop" else page.open(route)
        page.find(".cell .label", pill)
        assert page.value(CUT) == [], route
        assert set(page.value("[...document.querySelectorAll('tbody tr')].map((row) => row.clientHeight).filter((height) => height > 0)")) == {28}
    page.go(f"{REFUND}?at=9")
    page.find(".row[aria-current=true]")
    for pane in ["Timeline", "Event", "State"]:
        if width < 900:
            page.click(".chooser button", pane)
        assert page.value(EMPTY) == [], pane


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_signing_in_breaks_no_rule(browser, shop, dark):
    page = browser.page(shop, dark=dark)
    page.open()
    page.find("input[type=password]")
    assert violations(page) == []
    page.fill("input[type=password]", "sdk_wrong")
    page.press(Keys.ENTER)
    page.find("[role=alert]", "does not accept")
    assert violations(page) == []


def test_a_breach_would_be_found(browser, shop):
    page = browser.page(shop, credential=shop.key)
    page.open("#/app/shop")
    page.find(".sessions tbody a")
    page.js("document.querySelector('h1').style.color = '#ddd'; document.querySelector('input').removeAttribute('aria-label'); document.querySelector('input').placeholder = ''")
    assert {fault.split(":")[0] for fault in violations(page)} == {"color-contrast", "label"}


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("route", ["#/", "#/app/shop", "#/app/shop/user/zoe", FOUND, f"{REFUND}?at=9", "#/keys", "#/server"])
def test_the_focus_is_seen(browser, shop, route, width):
    page = browser.page(shop, width=width, height=WIDTHS[width], credential=shop.key)
    page.open(route)
    page.find("h1")
    reached = []
    for _ in range(200):
        page.press(Keys.TAB)
        place = page.js(
            """const element = document.activeElement;
            if (!element || element === document.body) return null;
            const [box, style] = [element.getBoundingClientRect(), getComputedStyle(element)];
            return {name: element.outerHTML.slice(0, 120), visible: element.checkVisibility({opacityProperty: true}),
                within: box.right > 0 && box.left < innerWidth && box.bottom > 0 && box.top < innerHeight,
                outline: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2}"""
        )
        if place is None:
            break
        reached.append(place)
    assert len(reached) > 4
    assert [place for place in reached if not (place["visible"] and place["within"] and place["outline"])] == []


def media(page, **features):
    page.cdp("Emulation.setEmulatedMedia", features=[{"name": name.replace("_", "-"), "value": value} for name, value in features.items()])


MOVING = """[...document.querySelectorAll('*')].flatMap((element) => ['', '::before', '::after'].map((part) => getComputedStyle(element, part || undefined)))
    .filter((style) => style.animationName !== 'none' || style.transitionDuration.split(', ').some((time) => parseFloat(time) > 0)
        || style.scrollBehavior === 'smooth').length"""


def test_what_is_chosen_is_seen_in_forced_colours(browser, shop):
    page = browser.page(shop, credential=shop.key)
    media(page, forced_colors="active")
    page.open(VOUCHER)
    page.find("h1", "What if")
    page.open(f"{REFUND}?at=9")
    page.find(".row[aria-current=true]", "refund")
    look = "(({outlineStyle, backgroundColor, textDecorationLine}) => [outlineStyle, backgroundColor, textDecorationLine].join())(getComputedStyle(document.querySelector(arguments[0])))"
    for chosen, other in [
        (".row[aria-current=true]", ".row[aria-current=false]"),
        ("[role=tab][aria-selected=true]", "[role=tab][aria-selected=false]"),
    ]:
        assert page.value(look, chosen) != page.value(look, other), chosen
    page.chord(Keys.CONTROL, "k")
    page.find("dialog[open] [role=option]")
    assert page.value(look, "[role=option][aria-selected=true]") != page.value(look, "[role=option][aria-selected=false]")
