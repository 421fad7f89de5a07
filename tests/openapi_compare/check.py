"""Checks that scripts/openapi-compare finds each kind of change that breaks a client, and lets additions pass.

    check.py OPENAPI_COMPARE OPENAPI_YAML

Each change is made in a copy of the description. It has to be found where it was made, under the name that oasdiff has for its
kind.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml

SESSIONS = "/v1/apps/{app}/users/{user}/sessions"
SESSION = f"{SESSIONS}/{{session}}"


class Description:
    """What the changes below name, of a description."""

    def __init__(self, whole: dict[str, Any]) -> None:
        self.whole = whole
        self.paths = whole["paths"]
        self.components = whole["components"]

    def schema(self, name: str) -> dict[str, Any]:
        return self.components["schemas"][name]

    def properties(self, name: str) -> dict[str, Any]:
        return self.schema(name)["properties"]

    def parameter(self, path: str, method: str, name: str) -> dict[str, Any]:
        return next(it for it in self.paths[path][method]["parameters"] if it.get("name") == name)

    def answer(self, path: str, method: str, status: str) -> dict[str, Any]:
        return self.paths[path][method]["responses"][status]


def remove_parameter(it: Description) -> None:
    parameters = it.paths[SESSIONS]["post"]["parameters"]
    parameters.remove(it.parameter(SESSIONS, "post", "answer"))


# What is changed, the name of its kind, a word that the line has to have, and the change.
BREAKING: list[tuple[str, str, str, Callable[[Description], Any]]] = [
    ("path gone", "api-path-removed-without-deprecation", "/v1/whoami", lambda it: it.paths.pop("/v1/whoami")),
    ("method gone", "api-removed-without-deprecation", "DELETE", lambda it: it.paths[SESSION].pop("delete")),
    ("method gone that was deprecated", "api-removed-with-deprecation", "DELETE",
     lambda it: it.paths["/v1/keys/{id}"].pop("delete")),
    ("success gone", "response-success-status-removed", "201", lambda it: it.paths[SESSIONS]["post"]["responses"].pop("201")),
    ("error gone", "response-non-success-status-removed", "410", lambda it: it.paths[SESSIONS]["post"]["responses"].pop("410")),
    ("media type of an answer gone", "response-media-type-removed", "text/event-stream",
     lambda it: it.answer("/v1/feed", "get", "200")["content"].pop("text/event-stream")),
    ("media type of a request gone", "request-body-media-type-removed", "application/json",
     lambda it: it.paths[SESSIONS]["post"]["requestBody"]["content"].pop("application/json")),
    ("header of an answer gone", "required-response-header-removed", "location",
     lambda it: it.answer(SESSIONS, "post", "201")["headers"].pop("Location")),
    ("header of an answer gone, optional", "optional-response-header-removed", "sessiond-created",
     lambda it: it.answer(f"{SESSION}/events", "post", "201")["headers"].pop("Sessiond-Created")),
    ("parameter gone", "request-parameter-removed", "answer", remove_parameter),
    ("parameter required", "request-parameter-became-required", "answer",
     lambda it: it.parameter(SESSIONS, "post", "answer").update(required=True)),
    ("new parameter, required", "new-required-request-parameter", "reason",
     lambda it: it.paths[SESSIONS]["post"]["parameters"].append(
         {"name": "reason", "in": "query", "required": True, "schema": {"type": "string"}})),
    ("type of a parameter", "request-parameter-type-changed", "wait",
     lambda it: it.parameter(f"{SESSION}/lease", "post", "wait").update(schema={"type": "integer"})),
    ("pattern of a parameter", "request-parameter-pattern-changed", "wait",
     lambda it: it.parameter(f"{SESSION}/lease", "post", "wait")["schema"].update(pattern="^[0-9]+$")),
    ("value of a parameter gone", "request-parameter-enum-value-removed", "minimal",
     lambda it: it.parameter(SESSIONS, "post", "answer")["schema"]["enum"].remove("minimal")),
    ("field of a request gone", "request-property-removed", "displayName",
     lambda it: it.properties("CreateSession").pop("displayName")),
    ("field of a request required", "request-property-became-required", "displayName",
     lambda it: it.schema("CreateSession").update(required=["displayName"])),
    ("new field of a request, required", "new-required-request-property", "colour",
     lambda it: (it.properties("CreateSession").update(colour={"type": "string"}),
                 it.schema("CreateSession").update(required=["colour"]))),
    ("body required", "request-body-became-required", "POST",
     lambda it: it.paths[SESSIONS]["post"]["requestBody"].update(required=True)),
    ("type of a field of a request", "request-property-type-changed", "displayName",
     lambda it: it.properties("CreateSession")["displayName"].update(type="integer")),
    ("null no longer taken", "request-property-became-not-nullable", "displayName",
     lambda it: it.properties("CreateSession")["displayName"].update(type=["string"])),
    ("limit of a field narrower", "request-property-max-length-decreased", "displayName",
     lambda it: it.properties("CreateSession")["displayName"].update(maxLength=1023)),
    ("new limit of a field", "request-property-min-length-set", "displayName",
     lambda it: it.properties("CreateSession")["displayName"].update(minLength=1)),
    ("limit of a list narrower", "request-property-max-items-decreased", "events",
     lambda it: it.properties("CreateSession")["events"].update(maxItems=999)),
    ("new pattern of a field", "request-property-pattern-added", "displayName",
     lambda it: it.properties("CreateSession")["displayName"].update(pattern="^[a-z]*$")),
    ("value of a field gone", "request-property-enum-value-removed", "admin",
     lambda it: it.schema("Role")["enum"].remove("admin")),
    ("field of an answer gone, required", "response-required-property-removed", "createTime",
     lambda it: (it.properties("Session").pop("createTime"), it.schema("Session")["required"].remove("createTime"))),
    ("field of an answer gone, optional", "response-optional-property-removed", "expireTime",
     lambda it: it.properties("Session").pop("expireTime")),
    ("field of an answer no longer required", "response-property-became-optional", "createTime",
     lambda it: it.schema("Session")["required"].remove("createTime")),
    ("type of a field of an answer", "response-property-type-changed", "lastUpdateTime",
     lambda it: it.properties("Session")["lastUpdateTime"].update(type="string")),
    ("format of a field of an answer", "response-property-type-changed", "type",
     lambda it: it.properties("Problem")["type"].update(format="hostname")),
    ("pattern of a field of an answer", "response-property-pattern-changed", "subject",
     lambda it: it.properties("Change")["subject"].update(pattern="^[0-9A-F]{64}$")),
    ("value of a field of an answer gone", "response-property-enum-value-removed", "user.erased",
     lambda it: it.properties("Change")["kind"]["enum"].remove("user.erased")),
    ("field of an answer within a cycle", "response-property-type-changed", "name",
     lambda it: it.properties("Tree")["name"].update(type="integer")),
    ("credential asked for", "api-security-anonymous-access-removed", "/healthz",
     lambda it: it.paths["/healthz"]["get"].update(security=[{"bearer": []}])),
    ("credential asked for everywhere", "api-security-anonymous-access-removed", "/v1/whoami",
     lambda it: it.whole["security"].remove({})),
    ("another credential", "api-security-component-http-scheme-changed", "bearer",
     lambda it: it.components["securitySchemes"]["bearer"].update(scheme="basic")),
]

ADDITIONS: list[tuple[str, Callable[[Description], Any]]] = [
    ("nothing", lambda _: None),
    ("path", lambda it: it.paths.update({"/v1/new": deepcopy(it.paths["/v1/whoami"])})),
    ("method", lambda it: it.paths["/v1/whoami"].update(delete=deepcopy(it.paths[SESSION]["delete"]))),
    ("parameter", lambda it: it.paths[SESSIONS]["post"]["parameters"].append(
        {"name": "reason", "in": "query", "schema": {"type": "string"}})),
    ("value of a parameter", lambda it: it.parameter(SESSIONS, "post", "answer")["schema"]["enum"].append("short")),
    ("field of a request", lambda it: it.properties("CreateSession").update(colour={"type": "string"})),
    ("limit of a request wider", lambda it: it.properties("CreateSession")["displayName"].update(maxLength=2048)),
    ("field of an answer", lambda it: it.properties("Session").update(colour={"type": "string"})),
    ("required field of an answer", lambda it: (it.properties("Session").update(colour={"type": "string"}),
                                                it.schema("Session")["required"].append("colour"))),
    ("value of a field of an answer", lambda it: it.properties("Change")["kind"]["enum"].append("session.archived")),
    ("header of an answer", lambda it: it.answer(SESSIONS, "post", "201")["headers"].update(
        {"Sessiond-New": {"schema": {"type": "string"}}})),
    ("media type of an answer", lambda it: it.answer("/v1/whoami", "get", "200")["content"].update(
        {"application/yaml": {"schema": {"type": "string"}}})),
    ("error", lambda it: it.paths[SESSIONS]["post"]["responses"].update({"451": it.answer(SESSIONS, "post", "409")})),
    ("credential no longer asked for", lambda it: it.paths["/v1/whoami"]["get"].update(security=[])),
    ("description", lambda it: it.properties("Session")["expireTime"].update(description="Another text.")),
    ("deprecation", lambda it: it.paths[SESSION]["delete"].update(deprecated=True)),
]


def prepare(it: Description) -> None:
    """Adds what some changes need: a schema that has itself in it, and an operation that is to go."""
    children = {"type": "array", "items": {"$ref": "#/components/schemas/Tree"}}
    it.components["schemas"]["Tree"] = {"type": "object", "properties": {"children": children, "name": {"type": "string"}}}
    it.properties("Info")["tree"] = {"$ref": "#/components/schemas/Tree"}
    it.paths["/v1/keys/{id}"]["delete"]["deprecated"] = True


def main() -> None:
    compare, path = sys.argv[1:]
    before = Description(yaml.load(Path(path).read_bytes(), yaml.CSafeLoader))
    prepare(before)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor() as pool:
        old = Path(folder, "old.json")
        old.write_text(json.dumps(before.whole))

        def compared(change: Callable[[Description], Any]) -> subprocess.CompletedProcess[str]:
            after = Description(json.loads(old.read_text()))
            change(after)
            with tempfile.NamedTemporaryFile("w", dir=folder, suffix=".json") as new:
                json.dump(after.whole, new)
                new.flush()
                return subprocess.run([compare, old, new.name], capture_output=True, text=True, check=False)

        breaking = pool.map(compared, [change for _, _, _, change in BREAKING])
        additions = pool.map(compared, [change for _, change in ADDITIONS])
        failures = []
        for (name, kind, word, _), result in zip(BREAKING, breaking, strict=True):
            lines = [line for line in result.stdout.splitlines() if f"[{kind}]" in line and word in line]
            if result.returncode != 1 or not lines:
                failures.append(f"not found: {name}: {kind}, {word}; status {result.returncode}\n{result.stdout}{result.stderr}")
        for (name, _), result in zip(ADDITIONS, additions, strict=True):
            if result.returncode != 0:
                failures.append(f"not let pass: {name}; status {result.returncode}\n{result.stdout}{result.stderr}")
    if failures:
        sys.exit("\n".join(failures))
    print(f"{len(BREAKING)} breaking changes found, {len(ADDITIONS)} additions let pass")


if __name__ == "__main__":
    main()
