"""What a description cannot say, taken out of the requests that schemathesis takes for valid."""

import schemathesis
from schemathesis import GenerationMode


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
            for name in ("version", "wait"):
                case.query.pop(name, None)
        if "beforeSequence" in case.query:
            case.query.pop("wait", None)
    # What an operator needs of the value that is there is a rule between requests.
    if isinstance(case.body, dict) and isinstance(case.body.get("events"), list):
        for event in case.body["events"]:
            if isinstance(event, dict) and isinstance(event.get("actions"), dict):
                event["actions"].pop("stateOps", None)
    # A revision that the session has: the examples have none beyond 0.
    if case.path.endswith("/fork") and isinstance(case.body, dict):
        case.body.pop("atRevision", None)
    # Beside an event id in the body it must be that id, and beside an array each event needs an id of its own: a
    # rule between header and body, beyond JSON Schema. The API tests hold it.
    if case.headers:
        case.headers.pop("Idempotency-Key", None)
        # schemathesis 4.32 fills in `0` where it only needs some value, whatever the pattern.
        for name in ("If-Match", "If-None-Match"):
            if case.headers.get(name) == "0":
                case.headers.pop(name)
