"""Files of sessions and users: at the slider's moment, their versions, previews, downloads, uploads, deletions."""

import base64
import struct
import zlib

import pytest

from browser import Keys
from server import event, path, until
from test_session import slide

ROWS = r"""[...document.querySelectorAll(`section[aria-label="${arguments[0]}"] tbody tr`)]
    .map((row) => [...row.cells].map((cell) => cell.innerText.replace(/\s+/g, ' ').trim()))"""
PICTURES = {
    "image/jpeg": base64.b64decode(
        "/9j/4AAQSkZJRgABAQEASABIAAD/2wBDAP//////////////////////////////////////////////////////////////////////////////////////wAALCAABAAEBAREA"
        "/8QAFAABAAAAAAAAAAAAAAAAAAAAA//EABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAIAQEAAD8AN//Z"
    ),
    "image/gif": base64.b64decode("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"),
    "image/webp": base64.b64decode("UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA"),
}


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


PICTURES["image/png"] = b"\x89PNG\r\n\x1a\n" + b"".join(
    chunk(kind, data) for kind, data in [(b"IHDR", struct.pack(">IIBBBBB", 3, 2, 8, 0, 0, 0, 0)), (b"IDAT", zlib.compress(b"\0abc\0def")), (b"IEND", b"")]
)
ADDRESS = "#/app/{}/user/ada/session/s1"


def files(page, *expected, label="Files"):
    """Waits until these rows, and no others, are in the list: name with its version, type, size."""
    until(f"files {expected}", lambda: page.value(ROWS, label) == [list(row) for row in expected])


def opened(page, app, query=""):
    page.open(ADDRESS.format(app) + query)
    page.find(".right section[aria-label=Files]")
    page.wait_text(".live", "Live")
    return page


def open_file(page, name):
    page.click("section td button", name)
    page.find("dialog h2", name)


@pytest.fixture
def downloads(browser, tmp_path):
    browser.save_to(tmp_path)
    return tmp_path


def test_the_files_of_the_sliders_moment(api, app, page):
    session = api.session(app)
    assert api.save(session, "report.txt", b"one", "text/plain")["revision"] == 1
    api.save(session, "table.csv", b"a,b\n" * 300, "text/csv")
    api.save(session, "report.txt", b"three", "text/plain")
    api.save(session, "user:notes", b"of Ada", "text/plain")
    api.append(session, event("e5", text="Five"))
    # An agent writes the event itself, which may come later, or never.
    api.save(session, "report.txt", b"four!", "text/plain", event="none")
    opened(page, app)
    report, table, notes = ["text/plain", "5 B"], ["text/csv", "1.17 KiB"], ["user:notes v0", "text/plain", "6 B"]
    files(page, ["report.txt v2", *report], ["table.csv v0", *table], notes)
    slide(page, 3)
    files(page, ["report.txt v1", *report], ["table.csv v0", *table])
    slide(page, 1)
    files(page, ["report.txt v0", "text/plain", "3 B"])
    slide(page, 0)
    files(page)
    page.find("section[aria-label=Files] .empty", "No files")
    page.press("t")
    files(page, ["report.txt v2", *report], ["table.csv v0", *table], notes)
    # The next save is seen at once.
    api.save(session, "late", b"", "text/plain")
    files(page, ["late v0", "text/plain", "0 B"], ["report.txt v2", *report], ["table.csv v0", *table], notes)


def test_the_versions_of_a_file(api, app, page, downloads):
    session = api.session(app)
    api.save(session, "a/report.txt", "first ä".encode(), "text/plain", metadata='{"n": 1.10}', displayName="The report")
    api.save(session, "a/report.txt", b"second", "text/x-other; charset=utf-8")
    opened(page, app)
    open_file(page, "a/report.txt")
    page.wait_text("dialog .raw", "second")
    page.find("dialog dd", "text/x-other; charset=utf-8")
    page.click("dialog td button", "Version 0")
    page.wait_text("dialog .raw", "first ä")
    text = page.text("dialog")
    assert "The report" in text and "1.10" in text
    [version, _] = api.get(f"{session}/artifacts/a%2Freport.txt/versions").json["versions"]
    assert version["sha256"] in text
    page.click("dialog button", "Download")
    file = downloads / "report.txt"
    until("the download", file.exists)
    assert file.read_text() == "first ä"


@pytest.mark.parametrize("type", PICTURES)
def test_a_picture_is_shown(api, app, page, type):
    session = api.session(app)
    api.save(session, "picture", PICTURES[type], f"{type.upper()}; a=b")
    opened(page, app)
    open_file(page, "picture")
    page.wait("document.querySelector('dialog img')?.naturalWidth > 0")
    assert page.value("new URL(document.querySelector('dialog img').src).protocol") == "blob:"


def test_what_is_no_picture_and_no_text(api, app, page):
    session = api.session(app)
    api.save(session, "bytes", b"\xff\xfe\x00\x01", "text/plain")
    api.save(session, "broken", b"<svg onload=alert(1)>", "image/png")
    api.save(session, "large", b"x" * ((16 << 20) + 1), "text/plain")
    api.post(f"{session}/artifacts", {"name": "address", "part": {"fileData": {"fileUri": "javascript:alert(1)", "mimeType": "text/html"}}})
    opened(page, app)
    for name, says in [("bytes", "neither a picture nor a text"), ("large", "Only up to 16 MiB"), ("address", "It is elsewhere")]:
        open_file(page, name)
        page.wait_text("dialog .version", says)
        page.click("dialog .close")
        page.wait("!document.querySelector('dialog')")
    open_file(page, "address")
    assert "javascript:alert(1)" in page.text("dialog")
    assert page.all("dialog a") == []
    page.click("dialog .close")
    open_file(page, "broken")
    page.wait("document.querySelector('dialog img')?.complete")
    assert page.value("document.querySelector('dialog img').naturalWidth") == 0


def test_an_event_links_to_the_versions_that_it_names(api, app, page):
    session = api.session(app)
    api.save(session, "a b?c#d&e.txt", b"first", "text/plain")
    api.save(session, "a b?c#d&e.txt", b"second", "text/plain")
    opened(page, app, "?at=1")
    page.find(".row[aria-current=true]", "a b?c#d&e.txt")
    page.click(".middle .facts a", "version 0")
    page.wait_text("dialog .raw", "first")
    assert page.address().endswith("?at=1")
    page.press(Keys.ESCAPE)
    page.wait("!document.querySelector('dialog')")
    # Again, and from another page.
    page.click(".middle .facts a", "version 0")
    page.wait_text("dialog .raw", "first")
    page.open(ADDRESS.format(app) + "?file=a+b%3Fc%23d%26e.txt&version=1")
    page.wait_text("dialog .raw", "second")


def test_a_file_is_uploaded(api, app, page, tmp_path):
    session = api.session(app)
    file = tmp_path / "été & co.txt"
    file.write_bytes(b"uploaded")
    opened(page, app)
    page.click("section[aria-label=Files] button", "Upload")
    assert not page.find("dialog button", "Upload").is_enabled()
    page.find("dialog input[type=file]").send_keys(str(file))
    page.wait("document.querySelectorAll('dialog input')[1].value === arguments[0]", file.name)
    shown = page.text("dialog .request")
    assert "-X PUT" in shown and f"-T '{file.name}'" in shown and "Content-Type: text/plain" in shown
    page.click("dialog button[type=submit]", "Upload")
    files(page, [f"{file.name} v0", "text/plain", "8 B"])
    # Its event is in the log, with a link.
    page.wait_text(".place", "1 of 1")
    page.find(".middle .facts a", "version 0")
    assert api.get(f"{session}/events").json["events"][0]["actions"]["artifactDelta"] == {file.name: 0}
    read = api.get(f"{session}/artifacts/%C3%A9t%C3%A9%20%26%20co.txt")
    assert (read.bytes, read.headers["content-type"]) == (b"uploaded", "text/plain")


DROP = """const data = new DataTransfer();
    for (const [name, text] of arguments[1]) data.items.add(new File([text], name));
    document.querySelector(arguments[0]).dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}));"""


def test_files_are_dropped(api, app, page):
    session = api.session(app)
    opened(page, app)
    page.js(DROP, "section[aria-label=Files]", [["one.bin", "1"], ["two.bin", "22"]])
    for name in ["one.bin", "two.bin"]:
        page.wait("document.querySelector('dialog input')?.value === arguments[0]", name)
        page.click("dialog button[type=submit]", "Upload")
    files(page, ["one.bin v0", "application/octet-stream", "1 B"], ["two.bin v0", "application/octet-stream", "2 B"])
    assert api.get(session).json["revision"] == 2


def test_deleting_takes_the_name(api, app, page):
    session = api.session(app)
    for text in [b"first", b"second", b"third"]:
        api.save(session, "report", text, "text/plain")
    opened(page, app)
    open_file(page, "report")
    page.click("dialog td button", "Version 2")
    page.click("dialog button", "Delete this version")
    page.find("dialog h2", "Delete version 2")
    assert page.value("document.activeElement.textContent") == "Cancel"
    page.fill("dialog input", "repor")
    assert not page.find("dialog button.danger", "Delete").is_enabled()
    page.fill("dialog input", "t", append=True)
    page.click("dialog button.danger", "Delete")
    page.wait("!document.querySelector('dialog')")
    files(page, ["report v1", "text/plain", "6 B"])
    open_file(page, "report")
    page.click("dialog button", "Delete all versions")
    page.fill("dialog input", "report")
    page.click("dialog button.danger", "Delete")
    files(page)
    assert api.send("GET", f"{session}/artifacts/report").status == 404


def test_the_files_of_a_user(api, app, page):
    session = api.session(app)
    api.save(session, "own", b"of the session", "text/plain")
    api.save(session, "user:notes", b"of Ada", "text/plain")
    page.open(f"#/app/{app}/user/ada")
    files(page, ["user:notes v0", "text/plain", "6 B"], label="User files")
    page.click("section[aria-label='User files'] td button")
    page.wait_text("dialog .raw", "of Ada")
    page.press(Keys.ESCAPE)
    page.js(DROP, "section[aria-label='User files']", [["more", "1"]])
    page.click("dialog button[type=submit]", "Upload")
    files(page, ["user:more v0", "application/octet-stream", "1 B"], ["user:notes v0", "text/plain", "6 B"], label="User files")
    assert api.get(session).json["revision"] == 2


@pytest.mark.server("--require-auth")
def test_a_reader_reads(server, browser, app, downloads):
    session = server.api.session(app)
    server.api.save(session, "report", b"secret", "text/plain")
    page = browser.page(server, credential=server.new_key("--role=reader"))
    for address, label in [(ADDRESS.format(app), "Files"), (f"#/app/{app}/user/ada", "User files")]:
        page.open(address)
        page.find(f"section[aria-label='{label}'] .bar")
        assert "Upload" not in page.text(f"section[aria-label='{label}']")
        page.js(DROP, f"section[aria-label='{label}']", [["more", "1"]])
        assert page.all("dialog") == []
    page.open(ADDRESS.format(app))
    open_file(page, "report")
    page.wait_text("dialog .raw", "secret")
    assert "Delete" not in page.text("dialog")
    page.click("dialog button", "Download")
    until("the download", (downloads / "report").exists)
    assert (downloads / "report").read_bytes() == b"secret"


def test_a_name_is_no_place_on_the_disk(api, app, page, downloads):
    session = api.session(app)
    api.save(session, "../..\\/.bash\u202erc<b>", b"x", "text/html")
    opened(page, app)
    open_file(page, "bash")
    page.click("dialog button", "Download")
    [file] = until("the download", lambda: [one for one in downloads.iterdir() if "hrom" not in one.name and one.suffix != ".crdownload"])
    assert "\u202e" not in file.name and "<" not in file.name and not file.name.startswith(".")
