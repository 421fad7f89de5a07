"""Turns of a session: taken back and brought back, what they cost, found by words, compared, and who set a key."""

import json
import pathlib

from browser import Keys
from server import event, path
from test_session import address, filled, opened, wait_at, wait_state

# A session that the examples of examples/frameworks-python have written in turn, and a graph with messages.
FRAMEWORKS = json.loads(pathlib.Path(__file__).with_name("frameworks.json").read_text())
ROWS = "[...document.querySelectorAll('.timeline .row:not(.start)')].map((row) => [...row.querySelectorAll('.author, .line')].map((cell) => cell.textContent).join(': '))"
HEADS = "[...document.querySelectorAll('.turn')].map((head) => head.innerText.replace(/\\s+/g, ' ').trim())"


def test_what_frameworks_write_reads_as_a_conversation(api, app, page):
    api.append(api.session(app), *FRAMEWORKS)
    opened(page, app)
    wait_at(page, 23, 23)
    assert page.value(ROWS) == [
        "user: A tea, please.", "langgraph: Here is tea number 1.",
        "user: openai, a tea, please.", 'assistant: brew("green")', 'assistant: brew → "a green tea"', "assistant: Here is tea number 1.",
        "user: claude, a tea, please.", "claude: Here is tea number 1.", "claude: claude/summary",
        "strands: strands/session", "strands: strands/agent/host", "user: strands, a tea, please.", "strands: strands/agent/host", "host: Here is tea number 1.",
        "user: pydantic, a tea, please.", "assistant: Here is tea number 1.",
        "user: openai, another one.", 'assistant: brew("green")', 'assistant: brew → "a green tea"', "assistant: Here is tea number 2.",
    ]
    assert page.value("[...document.querySelectorAll('.group .name')].slice(0, 3).map((name) => name.textContent)") == [
        "checkpoint -1, 0 channels", "checkpoint 0, 1 channel", "checkpoint 1, 1 channel",
    ]
    page.click(".group", "checkpoint -1")
    page.wait(f"{ROWS}[1] === 'langgraph: wrote messages'")
    page.click(".row", "wrote messages")
    page.find(".middle .part h3", "LangGraph")
    page.wait("document.querySelector('.keys [data-key=\"lg//__start__\"] .value')?.textContent === '\"msgpack\"'")


def test_a_chat_of_the_ai_sdk_reads_as_a_conversation(api, app, page):
    # As its adapter writes it: a message is a turn, and the last of its events keeps it.
    asked, answered = {"id": "u", "role": "user", "parts": [{"type": "text", "text": "A tea."}]}, {"id": "a", "role": "assistant", "parts": []}
    call, result = {"id": "c", "name": "brew"}, {"response": {"result": "green"}}
    said = [
        ("0", "user", "user", {"text": "A tea."}, asked), ("1", "assistant", "model", {"functionCall": {**call, "args": {"tea": "green"}}}, None),
        ("1", "assistant", "user", {"functionResponse": {**call, **result}}, None), ("1", "assistant", "model", {"text": "Here it is."}, answered),
        ("2", "assistant", "model", None, {"id": "e", "role": "assistant", "parts": []}),
    ]
    api.append(api.session(app), *[
        {"id": f"ai-k:{group}:{n}", "invocationId": f"ai-k:{group}", "author": author, **({"content": {"role": role, "parts": [part]}} if part else {}),
         **({"customMetadata": {"aiSdk": {"message": message, "after": ""}}} if message else {})}
        for n, (group, author, role, part, message) in enumerate(said)
    ])
    opened(page, app)
    wait_at(page, 5, 5)
    assert page.value(ROWS) == ["user: A tea.", 'assistant: brew("green")', 'assistant: brew → "green"', "assistant: Here it is.", "assistant: Vercel AI SDK: assistant"]
    page.find(".middle .part h3", "Vercel AI SDK")


def test_a_turn_is_taken_back_and_brought_back(api, app, page):
    session = filled(api, app, 3)
    name = f"{session}/artifacts/plan"
    for turn, text in [("i2", b"first"), ("i3", b"second")]:
        api.ask("PUT", f"{name}?author=agent&invocationId={turn}", text, {"content-type": "text/plain"})
    api.append(session, event("last", text="Last", delta={"n": 9, "new": True}, invocationId="i3"))
    opened(page, app)
    wait_at(page, 6, 6)
    # By keyboard: from the chosen row back to the buttons of its turn.
    page.js("document.querySelector('.row[aria-current=true]').focus()")
    page.chord(Keys.SHIFT, Keys.TAB)
    assert page.value("document.activeElement.textContent") == "Take back…"
    page.press(Keys.ENTER)
    page.wait_text("dialog .meanwhile", "It restores")
    shown = page.value("[...document.querySelectorAll('dialog .meanwhile li')].map((line) => line.textContent)")
    assert shown == ["~n 9 → 3", "−new true", "~file plan: v1 → v0"]
    assert '{"beforeInvocationId":"i3"}' in page.text("dialog pre")
    assert page.value("document.activeElement.textContent") == "Cancel"
    assert api.get(session).json["revision"] == 6
    page.click("dialog button[type=submit]", "Take back")
    wait_at(page, 7, 7)
    wait_state(page, "State now", n="3")
    assert api.get(name).text == "first"
    page.find(".turn.chosen .back", "Undo…").click()
    page.find("dialog .meanwhile li", "new true")
    assert '{"toRevision":6}' in page.text("dialog pre")
    page.click("dialog button[type=submit]", "Undo")
    wait_at(page, 8, 8)
    wait_state(page, "State now", n="9", new="true")
    assert api.get(name).text == "second"
    # What was undone is struck through, and cannot be undone again.
    undos = "[...document.querySelectorAll('.turn')].filter((head) => !head.querySelector('.back').hidden && head.innerText.includes('Undo')).length"
    page.wait(f"{undos} === 1")
    assert "rewound" in page.find(".timeline li:has(.row)", "rewind before").get_attribute("class")
    kept = api.get(f"{session}/events?excludeRewound=true").json["events"]
    assert [one["sequence"] for one in kept] == [1, 2, 3, 4, 5, 6]


def usage(prompt, cached, output, **fields):
    counts = {"promptTokenCount": prompt, "cachedContentTokenCount": cached, "candidatesTokenCount": output}
    return {"usageMetadata": {**counts, "totalTokenCount": prompt + output}, **fields}


def test_what_turns_cost(api, app, page):
    session = filled(api, app, 2)
    answers = [usage(1000, 0, 20, modelVersion="small"), usage(2000, 500, 30, modelVersion="large"), usage(100, 0, 7, modelVersion="small")]
    api.append(session, *[
        event(f"t{number}", text="Answer", invocationId="i2" if number < 2 else "i3", timestamp=1_700_000_000 + 2 * number, **answer)
        for number, answer in enumerate(answers)
    ])
    opened(page, app)
    wait_at(page, 5, 5)
    page.wait(f"{HEADS}[1].includes('3K in, 50 out, 2.0s')")
    heads = page.value(HEADS)
    assert " in" not in heads[0].removeprefix("▾ i1") and "100 in, 7 out" in heads[2]
    page.find(".cost", "3.1K in, 57 out").click()
    rows = page.value("[...document.querySelectorAll('dialog tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent))")
    assert rows == [["small", "1,100", "0", "27"], ["large", "2,000", "500", "30"], ["All", "3,100", "500", "57"]]
    page.find("dialog p", "Of all events")
    page.press(Keys.ESCAPE)
    # Of a session without tokens there is nothing to say.
    other = filled(api, app, id="s2")
    page.go(address(app, id="s2"))
    page.wait_text(".place", "5 of 5")
    assert not page.value("document.querySelector('.cost').checkVisibility()")
    # What frameworks count instead. Several entries of one answer of Claude are counted once.
    message = {"id": "m", "model": "claude", "usage": {"input_tokens": 3, "cache_read_input_tokens": 200, "output_tokens": 10}}
    run = {"input_tokens": 70, "output_tokens": 5, "input_tokens_details": {"cached_tokens": 60}}
    for metadata in [{"claude": {"entry": {"message": message}}}] * 2 + [{"openai_usage": run}]:
        api.append(other, {"author": "agent", "customMetadata": metadata})
    page.find(".cost", "273 in, 15 out").click()
    assert page.value("[...document.querySelectorAll('dialog tbody tr')].map((row) => row.innerText.split(/\\s+/).slice(-3))") == [
        ["203", "200", "10"], ["70", "60", "5"], ["273", "260", "15"],
    ]


def test_words_are_found_in_the_whole_session(api, app, page):
    session = filled(api, app, 3)
    call = {"functionCall": {"id": "c", "name": "look_up", "args": {"dish": "Brulee"}}}
    api.append(session, {"id": "call", "author": "agent", "content": {"parts": [call]}})
    api.append(session, *[event(f"m{n}", text="more") for n in range(200)], event("last", text="The CRÈME BRÛLÉE is here"))
    opened(page, app)
    wait_at(page, 205, 205)
    assert page.value("document.querySelector('.timeline .sequence').textContent") == "106"
    page.press("/", *"brulee", Keys.ENTER)
    page.wait_text(".find .count", "1 of 2")
    wait_at(page, 205, 205)
    page.press(Keys.ENTER)
    wait_at(page, 4, 205)
    page.wait_text(".find .count", "2 of 2")
    assert page.value("[...document.querySelectorAll('.hit .line')].map((line) => line.textContent)") == ['look_up("Brulee")']
    assert page.address().endswith("?at=4&find=brulee")
    page.click(".find button", "↓")
    wait_at(page, 205, 205)
    page.click(".find button", "↑")
    page.wait_text(".find .count", "2 of 2")
    page.fill(".find input", "nothing has this")
    page.press(Keys.ENTER)
    page.wait_text(".find .count", "0 found")
    wait_at(page, 4, 205)
    page.open(address(app, "?at=7&find=text"))
    page.wait_text(".find .count", "3 found")
    wait_at(page, 7, 205)


def test_a_fork_is_compared_with_its_source(api, app, page):
    session = filled(api, app, 4, displayName="A title, which the fork has too")
    fork = api.post(f"{session}/fork", {"sessionId": "fork", "atRevision": 2}).json["id"]
    api.append(path("apps", app, "users", "ada", "sessions", fork), event("f3", text="Another way", delta={"n": 7, "only": "here"}))
    opened(page, app)
    # By its id: its title is that of its source.
    page.wait("document.querySelector('.timeline .fork')?.textContent === '↳ fork fork'")
    page.js("document.querySelector('.fork a').click()")
    wait_at(page, 3, 3)
    page.press("c")
    page.find("h1", "Compare fork")
    page.find("h2", "Events after 2, which both have")
    pairs = "[...document.querySelectorAll('summary.pair')].filter((row) => row.checkVisibility()).map((row) => row.innerText.split(/\\s+/))"
    page.wait(f"{pairs}.length === 2")
    assert sorted(page.value(pairs)) == [["~", "n", "7", "4"], ["−", "only", '"here"', "none"]]
    lines = "[...document.querySelectorAll('.twins section')].map((side) => [...side.querySelectorAll('.line')].map((line) => line.textContent))"
    page.wait(f"{lines}.length === 2")
    assert page.value(lines) == [["Another way"], ["Text 3", "Text 4"]]
    # Two places of one session.
    page.go(f"{address(app)}/compare?at=1&to=3")
    page.find("h2", "Events after 1, which both have")
    page.wait(f"{lines}.length === 1")
    assert page.value(lines) == [["Text 2", "Text 3"]]
    page.click(".twins a", "Text 2")
    wait_at(page, 2, 4)


def test_who_set_a_key(api, app, page):
    session = filled(api, app, 3, state={"start": 1})
    other = filled(api, app, 1, id="s2")
    api.append(other, event("u", "helper", delta={"user:name": "Ada"}))
    api.append(session, event("e4", "returns", delta={"n": None}), event("e5", "agent", ops=[{"op": "remove", "key": "n"}]))
    opened(page, app, "?at=4")
    wait_at(page, 4, 5)
    page.click(".keys .key", "n")
    page.wait_text(".pasts p", "Set by returns at event 4, ")
    past = "[...document.querySelectorAll('.past li')].map((row) => [row.querySelector('a')?.textContent, row.lastChild.textContent, row.ariaCurrent])"
    assert page.value(past) == [["event 5", "removed", None], ["event 4", "null", "true"], ["event 3", "3", None], ["event 2", "2", None], ["event 1", "1", None]]
    page.click(".past a", "event 2")
    wait_at(page, 2, 5)
    page.wait_text(".pasts p", "Set by agent at event 2, ")
    page.click(".keys .key", "start")
    page.wait("[...document.querySelectorAll('.pasts p')].some((text) => text.textContent.startsWith('Set as it was created'))")
    page.press("t")
    wait_at(page, 5, 5)
    page.click(".keys .key", "user:name")
    page.find(".pasts p", "Set by helper at event 2 of s2, ")
