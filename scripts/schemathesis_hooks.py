"""What a description cannot say, taken out of the requests that schemathesis takes for valid."""

import re
from urllib.parse import unquote

import schemathesis
from schemathesis import GenerationMode

DATE = re.compile(r"^(\d{4})-(\d\d)-(\d\d)")


def said(value):
    """The value, with what no pattern can say: a day that the calendar has."""
    match value:
        case dict():
            return {key: said(member) for key, member in value.items()}
        case list():
            return [said(member) for member in value]
        case str() if date := DATE.match(value):
            return f"{date[1]}-{date[2]}-{min(int(date[3]), 28):02}{value[10:]}"
    return value


@schemathesis.hook
def before_call(context, case, kwargs):
    meta = case.meta
    if meta is None or meta.generation.mode != GenerationMode.POSITIVE:
        return
    # A page token is whatever the answer before said, so every made-up one is refused. The API tests walk real ones.
    if case.query:
        case.query.pop("pageToken", None)
        # JSON in a text.
        case.query.pop("metadata", None)
        # So is the cursor of an export.
        if case.path.endswith("/export"):
            case.query.pop("after", None)
        # Rules between parameters, beyond OpenAPI: a page begins at a key or has these keys, and the past is not waited for.
        if "keys" in case.query:
            for name in ("prefix", "pageSize"):
                case.query.pop(name, None)
        if "atRevision" in case.query:
            case.query.pop("version", None)
            # A revision that every session has.
            case.query["atRevision"] = 0
        # schemathesis waits for ten seconds.
        case.query.pop("wait", None)
        if "afterSequence" in case.query:
            case.query.pop("lastEventId", None)
        # A file of a user has no event.
        if "/sessions/" not in case.path:
            case.query.pop("event", None)
        # Bounds are in bytes.
        if "displayName" in case.query:
            case.query["displayName"] = str(case.query["displayName"])[:200]
    # ADK's ids without the white space around them, which may leave nothing; a client takes `.` out of a path.
    if "session" in (names := case.path_parameters or {}) and unquote(str(names["session"])).strip() in ("", ".", ".."):
        names["session"] = "s"
    if isinstance(case.body, (dict, list)):
        case.body = said(case.body)
    if isinstance(body := case.body, dict):
        # What an operator needs of the value that is there is a rule between requests, and so is a revision.
        events = body["events"] if isinstance(body.get("events"), list) else []
        for place in [body, *(event["actions"] for event in events if isinstance(event, dict) and event.get("actions"))]:
            place.pop("stateOps", None)
        body.pop("atRevision", None)
        if case.path.endswith("/trim") and body.get("beforeTime") is not None:
            body["beforeTime"] = 0
        # What is blocked would be refused from then on.
        if case.path.endswith("/erasure"):
            body["block"] = False
        # `user:` is part of the name's length. An address has no bytes, which a later request would ask for.
        if case.path.endswith("/artifacts") and "part" in body:
            body["name"] = str(body.get("name", "x"))[:200]
            if "/sessions/" not in case.path:
                body.pop("event", None)
            if (body["part"] or {}).get("fileData"):
                body["part"] = {"text": "x"}
    # Beside an event id in the body it must be that id, and beside an array each event needs an id of its own: a
    # rule between header and body, beyond JSON Schema. The API tests hold it.
    if case.headers:
        case.headers.pop("Idempotency-Key", None)
        # That of a feed is a position, and the parameter is described for the watch of a session.
        if case.path.endswith("/feed"):
            case.headers.pop("Last-Event-ID", None)
        # schemathesis 4.32 fills in `0` where it only needs some value, whatever the pattern.
        for name in ("If-Match", "If-None-Match"):
            if case.headers.get(name) == "0":
                case.headers.pop(name)
