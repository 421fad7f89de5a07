"""The parser of server-sent events, against the words of the HTML standard."""

import random

import pytest

from sessiond._sse import Frame, Parser


def parse(*chunks: bytes, last_id: str = "") -> tuple[list[tuple[str, str, str]], str, int | None]:
    parser = Parser(last_id)
    frames = [frame for chunk in chunks for frame in parser.feed(chunk)]
    return [(frame.name, frame.data, frame.id) for frame in frames], parser.last_id, parser.retry


@pytest.mark.parametrize(
    ("stream", "frames"),
    [
        # The examples of the standard.
        ("data: YHOO\ndata: +2\ndata: 10\n\n", [("message", "YHOO\n+2\n10", "")]),
        (
            ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event",
            [("message", "first event", "1"), ("message", "second event", "")],
        ),
        ("data\n\ndata\ndata\n\ndata:", [("message", "", ""), ("message", "\n", "")]),
        ("data:test\n\ndata: test\n\n", [("message", "test", ""), ("message", "test", "")]),
        # Without data there is no frame, and its name is forgotten.
        ("event: a\n\ndata: x\n\n", [("message", "x", "")]),
        ("event: a\nevent: b\ndata: x\n\n", [("b", "x", "")]),
        ("event: a\nevent\ndata: x\n\n", [("message", "x", "")]),
        # An id stays for the frames that follow, also one that came without data; not with U+0000 in it.
        ("id: 1\n\ndata: x\n\nid: 2\0\ndata: y\n\n", [("message", "x", "1"), ("message", "y", "1")]),
        ("id: 1\ndata: x\n\nid:\ndata: y\n\n", [("message", "x", "1"), ("message", "y", "")]),
        # Names are exact; only one space goes.
        ("Data: x\n data: y\ndata : z\ndata:  w\t\n\n", [("message", " w\t", "")]),
        ("data: a:b: c\n\n", [("message", "a:b: c", "")]),
        # One byte order mark, at the beginning.
        ("\ufeffdata: x\n\n\ufeffdata: y\n\n", [("message", "x", "")]),
        ("\ufeff\ufeffdata: x\n\n", []),
        ("data: \ufeffx\n\n", [("message", "\ufeffx", "")]),
        # Other line ends of Unicode are none.
        ("data: a\u2028b\x0b\x0c\x85c\n\n", [("message", "a\u2028b\x0b\x0c\x85c", "")]),
        ("data: x\r\rdata: y\r\n\r\ndata: z\n\r\n", [("message", "x", ""), ("message", "y", ""), ("message", "z", "")]),
    ],
)
def test_streams_of_the_standard(stream: str, frames: list[tuple[str, str, str]]) -> None:
    content = stream.encode()
    assert parse(content)[0] == frames
    assert parse(*(content[n : n + 1] for n in range(len(content))))[0] == frames


def test_a_frame_that_was_cut_moves_no_id() -> None:
    assert parse(b"id: 1\ndata: x\n\nid: 2\ndata: y\n")[1] == "1"
    assert parse(b"id: 2\ndata: y\n", last_id="1") == ([], "1", None)
    assert parse(b"data: y\n\n", last_id="1") == ([("message", "y", "1")], "1", None)


def test_a_frame_does_not_wait_for_the_second_half_of_its_end() -> None:
    parser = Parser()
    assert parser.feed(b"data: x\r\n\r") == [Frame("message", "x", "")]
    assert parser.feed(b"\n") == []
    assert parser.feed(b"\ndata: y\r\r") == [Frame("message", "y", "")]


@pytest.mark.parametrize(
    ("value", "retry"),
    [
        ("3000", 3000),
        ("0", 0),
        ("007", 7),
        ("", None),
        ("-1", None),
        ("1.5", None),
        ("1 ", None),
        ("1_0", None),
        ("\u0661", None),
        ("9" * 10, 86_400_000),
        ("9" * 9999, 86_400_000),
    ],
)
def test_retry_is_digits(value: str, retry: int | None) -> None:
    assert parse(f"retry: {value}\n".encode())[2] == retry


def test_bytes_that_are_no_text_are_replaced() -> None:
    assert parse(b"data: a\xff\xc3(\n\n")[0] == [("message", "a\ufffd\ufffd(", "")]


# What a stream may consist of, so that chance makes all that matters to a parser follow upon all else.
PIECES = [
    *("\r", "\n", "\r\n", "\n\n", "\r\r", "\r\n\r\n", ":", " ", "\0", "\ufeff", "\u2028"),
    *("data", "data:", "data: ", "event:", "event: e", "id:", "id: 7-a", "retry:", "retry: 20", "x", "ä", "日本", "😀"),
]


def expected(text: str) -> tuple[list[tuple[str, str, str]], str, int | None]:
    """What the standard says, step by step, of a whole stream."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    frames = []
    name, data, buffer, last_id, retry = "", "", "", "", None
    for line in text.split("\n")[:-1]:
        if line == "":
            last_id = buffer
            if data != "":
                frames.append((name or "message", data[:-1], last_id))
            name, data = "", ""
            continue
        if line[0] == ":":
            continue
        field, value = line, ""
        if ":" in line:
            field, value = line[: line.index(":")], line[line.index(":") + 1 :]
            value = value[1:] if value[:1] == " " else value
        match field:
            case "event":
                name = value
            case "data":
                data += value + "\n"
            case "id" if "\0" not in value:
                buffer = value
            case "retry" if value and all("0" <= digit <= "9" for digit in value):
                retry = int(value)
    return frames, last_id, retry


@pytest.mark.parametrize("seed", range(20))
def test_any_stream_is_read_as_the_standard_says_wherever_it_is_cut(seed: int) -> None:
    chance = random.Random(seed)
    found = 0
    for _ in range(400):
        text = "".join(chance.choices(PIECES, k=chance.randrange(60)))
        content = text.encode()
        cuts = sorted(chance.randrange(len(content) + 1) for _ in range(chance.randrange(12)))
        chunks = [content[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(content)], strict=True)]
        want = expected(text)
        assert parse(*chunks) == want, (text, chunks)
        found += len(want[0])
    assert found > 100


@pytest.mark.parametrize("ends", ["\n", "\r", "\r\n"])
def test_what_was_written_is_what_is_read(ends: str) -> None:
    chance = random.Random(1)
    for _ in range(100):
        written = []
        stream = ""
        for n in range(chance.randrange(1, 6)):
            lines = ["".join(chance.choices(["{", "ä", "😀", " ", ":", "\ufeff", "x"], k=9)) for _ in range(n)] or [
                "{}"
            ]
            written.append(("event", "\n".join(lines), f"{n}-a"))
            fields = [f"id: {n}-a", "event: event", *(f"data: {line}" for line in lines), ": note", ""]
            stream += "".join(field + ends for field in fields)
        content = stream.encode()
        size = chance.randrange(1, 9)
        assert parse(*(content[n : n + size] for n in range(0, len(content), size)))[0] == written
