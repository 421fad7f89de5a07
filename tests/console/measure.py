"""Prints medians of 20: first contentful paint of the session page, and a step of the slider until its state is drawn.

Run by hand: `SESSIOND_BIN=... CHROMIUM=... CHROMEDRIVER=... .venv/bin/python measure.py`
"""

import pathlib
import statistics
import tempfile

from browser import Browser
from server import Server, event

RUNS = 20

STEP = """const [place, done] = arguments;
    const range = document.querySelector('input[type=range]');
    const title = document.querySelector('.right h2');
    const began = performance.now();
    new MutationObserver((_, observer) => {
        if (title.textContent !== `State at ${place}`) return;
        observer.disconnect();
        done(performance.now() - began);
    }).observe(title, {childList: true});
    range.value = place;
    range.dispatchEvent(new Event('input'));"""


def main():
    with tempfile.TemporaryDirectory() as folder:
        server, browser = Server(pathlib.Path(folder)), Browser()
        try:
            session = server.api.session("shop")
            server.api.append(session, *[event(f"e{number}", text=f"Event {number}", delta={"count": number}) for number in range(1000)])
            page = browser.page(server)
            paints = []
            for _ in range(RUNS):
                page.open("#/app/shop/user/ada/session/s1")
                page.find(".right .scope li")
                paints.append(page.value("performance.getEntriesByName('first-contentful-paint')[0].startTime"))
            steps = [page.driver.execute_async_script(STEP, 980 - 3 * number) for number in range(RUNS)]
        finally:
            browser.quit()
            server.stop()
    print(f"first contentful paint: {statistics.median(paints):.0f} ms\nslider step: {statistics.median(steps):.0f} ms")


if __name__ == "__main__":
    main()
