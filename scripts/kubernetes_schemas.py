"""Makes JSON schemas for kubeconform from what Kubernetes and the Prometheus Operator publish.

    python3 kubernetes_schemas.py swagger.json servicemonitors-crd.json FOLDER

Stricter than the API server by intent: it drops fields that it does not know, and here they are errors.
"""

import json
import pathlib
import sys

# Of these the description says `string`, while numbers are taken as well.
FORMS = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {"type": ["string", "number"]},
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {"type": ["string", "integer"]},
}
PREFIX = "#/definitions/"


def strict(schema):
    """The schema with unknown members refused, and without `format`, whose names are not those of JSON Schema."""
    if isinstance(schema, list):
        return [strict(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    result = {}
    for key, value in schema.items():
        if key == "properties":
            # A property may be called `format` or `properties`.
            result[key] = {name: strict(property) for name, property in value.items()}
        elif key not in ("format", "description"):
            result[key] = strict(value)
    open_to_all = schema.get("x-kubernetes-preserve-unknown-fields") or schema.get("x-kubernetes-embedded-resource")
    if "properties" in schema and "additionalProperties" not in schema and not open_to_all:
        result["additionalProperties"] = False
    return result


def references(schema):
    if isinstance(schema, list):
        for item in schema:
            yield from references(item)
    elif isinstance(schema, dict):
        for key, value in schema.items():
            if key == "$ref" and isinstance(value, str):
                yield value.removeprefix(PREFIX)
            else:
                yield from references(value)


def closure(name, definitions):
    found, left = set(), [name]
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left.extend(references(definitions[name]))
    return {name: definitions[name] for name in sorted(found)}


def file_name(group, version, kind):
    """As kubeconform's template `{{ .ResourceKind }}{{ .KindSuffix }}.json` has it."""
    group = group.split(".")[0]
    return "-".join(part for part in (kind.lower(), group, version) if part) + ".json"


def main(swagger, service_monitors, folder):
    folder = pathlib.Path(folder)
    definitions = json.loads(pathlib.Path(swagger).read_text())["definitions"]
    definitions = {name: FORMS.get(name) or strict(schema) for name, schema in definitions.items()}
    for name, schema in definitions.items():
        kinds = schema.get("x-kubernetes-group-version-kind", [])
        # Those of many kinds, such as DeleteOptions, are no objects.
        if len(kinds) == 1 and "metadata" in schema.get("properties", {}):
            content = {"$ref": PREFIX + name, "definitions": closure(name, definitions)}
            (folder / file_name(**kinds[0])).write_text(json.dumps(content))
    crd = json.loads(pathlib.Path(service_monitors).read_text())["spec"]
    metadata = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
    for version in crd["versions"]:
        content = strict(version["schema"]["openAPIV3Schema"])
        content["properties"]["metadata"] = {"$ref": PREFIX + metadata}
        content["definitions"] = closure(metadata, definitions)
        name = file_name(crd["group"], version["name"], crd["names"]["kind"])
        (folder / name).write_text(json.dumps(content))


if __name__ == "__main__":
    main(*sys.argv[1:])
