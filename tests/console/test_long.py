"""A session of 20,000 events: it opens at its end, and only a window of it is loaded."""

import pytest

from server import event

EVENTS = 20_000
ROWS = 500  # history.js keeps as many
SEQUENCES = "[...document.querySelectorAll('.timeline .row:not(.start) .sequence')].map((cell) => Number(cell.textContent))"


@pytest.fixture(scope="module")
def long(shared_server):
    session = shared_server.api.session("long")
    text = "Words. " * 10
    shared_server.api.append(session, *[
        event(f"e{number}", text=f"Event {number}. {text}", invocationId=f"turn-{number // 10}", delta={"count": number})
        for number in range(1, EVENTS + 1)
    ])
    return "#/app/long/user/ada/session/s1"


def sequences(page):
    """Those of the rows, which are a run without a gap."""
    rows = page.value(SEQUENCES)
    assert rows == list(range(rows[0], rows[-1] + 1)) and len(rows) <= ROWS
    return rows


def scroll(page, to, condition):
    """Scrolls until the condition about `rows` is true."""
    page.wait(f"""((rows) => {{
        const scroller = document.querySelector('.left .scroller');
        scroller.scrollTop = {to};
        return {condition};
    }})({SEQUENCES})""")


def test_it_opens_at_its_end_and_pages_both_ways(long, page):
    page.open(long)
    page.wait(f"{SEQUENCES}.at(-1) === {EVENTS}")
    assert len(sequences(page)) == 100
    page.find(".row[aria-current=true] .line", f"Event {EVENTS}.")
    assert page.value("(({bottom}) => bottom <= innerHeight)(document.querySelector('.row[aria-current=true]').getBoundingClientRect())")
    page.find(".right .scope li", str(EVENTS))
    # Up, until the window lets go of the end, then down again.
    scroll(page, "0", f"rows[0] <= {EVENTS - 800}")
    assert sequences(page)[-1] < EVENTS
    scroll(page, "scroller.scrollHeight", f"rows.at(-1) === {EVENTS}")
    assert sequences(page)[0] > EVENTS - 800


@pytest.mark.parametrize("place", [1, 777, 12_345, EVENTS - 1])
def test_the_slider_goes_anywhere(long, page, place):
    page.open(long)
    page.wait(f"{SEQUENCES}.at(-1) === {EVENTS}")
    page.js("const range = document.querySelector('input[type=range]'); range.value = arguments[0]; range.dispatchEvent(new Event('input'))", place)
    page.find(".row[aria-current=true] .line", f"Event {place}.")
    page.find(".middle .text", f"Event {place}.")
    page.wait_text(".right h2", f"State at {place}")
    page.wait("[...document.querySelectorAll('.right .scope li ins')].some((value) => value.textContent === arguments[0]) || arguments[0] === '1'", str(place))
    assert place in sequences(page)
    assert page.address() == f"{long}?at={place}"


def test_a_long_number_makes_no_page_wider_than_its_window(long, page):
    page.open(f"{long}?at=12345")
    page.wait_text(".place", f"12345 of {EVENTS}")
    page.wait_text(".right h2", "State at 12345")
    for width in [1280, 1024, 901, 844, 390]:
        page.resize(width, 800)
        for pane in ["Timeline", "Event", "State"]:
            if width <= 900:
                page.click(".chooser button", pane)
            assert page.overflow() <= 0, (width, pane)


def test_the_last_of_many_moves_counts(long, page):
    page.open(long)
    page.wait(f"{SEQUENCES}.at(-1) === {EVENTS}")
    page.js("""const range = document.querySelector('input[type=range]');
        return (async () => {
            for (let place = 1000; place <= 15000; place += 250) {
                range.value = place;
                range.dispatchEvent(new Event('input'));
                await new Promise(requestAnimationFrame);
            }
        })()""")
    page.find(".row[aria-current=true] .line", "Event 15000.")
    page.wait_text(".right h2", "State at 15000")
    page.wait("[...document.querySelectorAll('.right .scope li ins')].some((value) => value.textContent === '15000')")
    sequences(page)


def test_a_page_that_was_asked_for_before_a_jump(long, page):
    page.open(long)
    page.wait(f"{SEQUENCES}.at(-1) === {EVENTS}")
    page.js("""const held = window.fetch;
        window.fetch = async (address, ...rest) => {
            const answer = await held(address, ...rest);
            if (address.includes('beforeSequence') && !address.includes('excludeRewound')) await new Promise((go) => { window.answerOlder = go; });
            return answer;
        };
        document.querySelector('.left .scroller').scrollTop = 0""")
    page.wait("window.answerOlder !== undefined")
    page.js("const range = document.querySelector('input[type=range]'); range.value = 5000; range.dispatchEvent(new Event('input'))")
    page.find(".row[aria-current=true] .line", "Event 5000.")
    page.js("window.answerOlder(); return new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))")
    assert 5000 in sequences(page)


def test_values_of_megabytes(api, app, page):
    size = 3 * 2**20
    big = 'say \\"no\\" ' + "x" * size
    session = api.session(app)
    api.post(f"{session}/events", f'{{"id":"e1","author":"agent","actions":{{"stateDelta":{{"big":"{big}"}}}}}}')
    api.post(f"{session}/events", f'{{"id":"e2","author":"agent","content":{{"parts":[{{"text":"{big}"}}]}}}}')
    page.open(f"#/app/{app}/user/ada/session/s1")
    page.find(".row .line", 'say "no" xxx')
    page.find(".middle button", f"{size + 9 - 4000:,} more characters")
    page.find(".right .key", "xxxx…")
    page.js("document.querySelector('.right .key').click()")
    page.find(".right .opened button", "more characters")
    assert page.value("document.body.textContent.length") < 100_000
    page.click(".middle button", "more characters")
    page.find(".middle button", f"{size + 9 - 44_000:,} more characters")
    page.js("Object.defineProperty(navigator, 'clipboard', {value: {writeText: async (text) => { window.copied = text; }}})")
    page.click(".middle button", "Copy whole")
    page.wait("window.copied?.length === arguments[0]", size + 9)
    page.click(".right button", "Copy value")
    page.wait("window.copied?.length === arguments[0]", size + 13)
    assert page.value("window.copied.slice(0, 20)") == f'"{big}"'[:20]
