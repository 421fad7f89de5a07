"""Writes src/domain/shape/gen/models.rs: google-adk's event as a table, from the library's own models.

    shapes.py > src/domain/shape/gen/models.rs

`compare.py` fails when the file is not what this prints, so that a field that a new version of ADK has shows first there.
Runs in the Python that has google-adk; `scripts/adk-compare` makes one.
"""

import enum
import inspect
import re
import typing
from types import NoneType, UnionType

import google.adk
from google.adk.auth.auth_credential import ServiceAccount
from google.adk.auth.auth_tool import AuthConfig
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.models.cache_metadata import CacheMetadata
from google.genai._common import CaseInSensitiveEnum
from google.genai.types import CitationMetadata, FunctionResponsePart, Part
from pydantic import BaseModel

PLAIN = {str: "Text", bool: "Bool", int: "Integer", float: "Number", bytes: "Base64"}

# Where a field that cannot be read costs all of the object: a call without its arguments is another call.
WHOLE = {Part, FunctionResponsePart}

# What the types do not say: validators of the library, by the functions that have their rules.
RULES = {CacheMetadata: "cache_metadata", ServiceAccount: "service_account"}


def shape(kind, models, at):
    """The shape of a type, without null."""
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if kind in PLAIN:
        return PLAIN[kind]
    if kind in (typing.Any, object):
        return "Any"
    if inspect.isclass(kind) and issubclass(kind, CaseInSensitiveEnum):
        # Of any text: what the library does not know, a newer one may.
        return "Text"
    if inspect.isclass(kind) and issubclass(kind, enum.Enum):
        return f"OneOf(&[{', '.join(quoted(member.value) for member in kind)}])"
    if origin is typing.Literal:
        return f"OneOf(&[{', '.join(quoted(value) for value in args)}])"
    if inspect.isclass(kind) and issubclass(kind, BaseModel):
        models.setdefault(kind, None)
        return f"Of(&{constant(kind)})"
    if origin in (list, set):
        return f"List(&{shape(args[0], models, at)})"
    if origin is dict:
        if at == "requested_auth_configs":
            models.setdefault(AuthConfig, None)
            return f"Map(&ObjectOrAny(&{constant(AuthConfig)}))"
        value, nullable = without_null(args[1])
        return f"Map(&{shape(value, models, at)})" if not nullable else "Map(&Any)"
    if at == "auth_scheme":
        # Any object whose type is a text is a custom scheme.
        return "Scheme"
    if origin in (typing.Union, UnionType):
        return f"Either(&[{', '.join(shape(arg, models, at) for arg in args)}])"
    raise TypeError(f"{at}: {kind}")


def without_null(kind):
    args = typing.get_args(kind)
    if typing.get_origin(kind) in (typing.Union, UnionType) and NoneType in args:
        rest = [arg for arg in args if arg is not NoneType]
        return (rest[0] if len(rest) == 1 else typing.Union[tuple(rest)]), True
    return kind, kind is typing.Any


def quoted(text):
    return '"' + text + '"'


def constant(model):
    return re.sub("(?<=[a-z0-9])(?=[A-Z])", "_", model.__name__).upper()


def table():
    models, written = {Event: None}, {}
    while found := [model for model in models if model not in written]:
        for model in found:
            lines = []
            for name, field in sorted(model.model_fields.items(), key=lambda item: item[1].alias or item[0]):
                kind, nullable = without_null(field.annotation)
                presence = "Required" if field.is_required() else "Nullable" if nullable else "Present"
                lines.append(f'    ("{field.alias or name}", {presence}, {shape(kind, models, name)}),')
            if model is CitationMetadata:
                # Its other name, by a validator.
                lines += [line.replace('"citations"', '"citationSources"') for line in lines]
            rest = "CLOSED" if model.model_config.get("extra") == "forbid" else "OPEN"
            more = "whole: true, " if model in WHOLE else f"rule: Some({RULES[model]}), " if model in RULES else ""
            written[model] = [f"static {constant(model)}: Object = Object {{ {more}fields: &[", *lines, f"], ..{rest} }};"]
    out = [
        f"//! The models of google-adk {google.adk.__version__}, as `tests/adk_compare/shapes.py` writes them down.",
        "",
        "use super::kinds::Presence::{Nullable, Present, Required};",
        "use super::kinds::Shape::{Any, Base64, Bool, Either, Integer, List, Map, Number, Object as Of, ObjectOrAny, OneOf, Scheme, Text};",
        "use super::kinds::{CLOSED, OPEN, Object, cache_metadata, service_account};",
    ]
    for model, lines in sorted(written.items(), key=lambda item: constant(item[0])):
        out += ["", ("pub(super) " if model in (Event, EventActions, Part) else "") + lines[0], *lines[1:]]
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    print(table(), end="")
