"""What is in the binary: a CycloneDX list of its libraries, and a text with their licences.

Reads Cargo.lock through `cargo tree`, which resolves features as a build does (`cargo metadata` also counts those that only tests
switch on), and `cargo metadata` for the rest. Same input, same output: the time is SOURCE_DATE_EPOCH, the serial number a hash.
"""

import argparse
import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import tomllib
import uuid

LICENCE_FILES = re.compile(r"(licen[cs]e|copying|notice|unlicense)([.-].*)?", re.IGNORECASE)


def cargo(*arguments):
    command = ["cargo", *arguments, "--locked"]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def tree(target, edges):
    """The packages that `cargo tree` reaches, as (name, version)."""
    lines = cargo("tree", "--target", target, "--edges", edges, "--prefix", "none", "--format", "{p}").splitlines()
    return {(name, version.removeprefix("v")) for name, version, *_ in map(str.split, filter(None, lines))}


def purl(package):
    return f"pkg:cargo/{package['name']}@{package['version'].replace('+', '%2B')}"


def component(package, scope, checksums):
    entry = {
        "type": "library",
        "bom-ref": purl(package),
        "name": package["name"],
        "version": package["version"],
        "scope": scope,
        "purl": purl(package),
    }
    if package["description"]:
        entry["description"] = " ".join(package["description"].split())
    if checksum := checksums.get((package["name"], package["version"])):
        entry["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    if package["license"]:
        # Before SPDX expressions, crates wrote a slash.
        entry["licenses"] = [{"expression": re.sub(r"\s*/\s*", " OR ", package["license"])}]
    if package["repository"]:
        entry["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
    return entry


def sqlite(package):
    """SQLite itself, which libsqlite3-sys compiles in: its flaws are reported under its own name, not the crate's."""
    header = pathlib.Path(package["manifest_path"]).parent / "sqlite3" / "sqlite3.h"
    version = re.search(r'#define SQLITE_VERSION\s+"([^"]+)"', header.read_text()).group(1)
    return {
        "type": "library",
        "bom-ref": f"pkg:generic/sqlite@{version}",
        "name": "sqlite",
        "version": version,
        "scope": "required",
        "purl": f"pkg:generic/sqlite@{version}",
        "cpe": f"cpe:2.3:a:sqlite:sqlite:{version}:*:*:*:*:*:*:*",
        "licenses": [{"license": {"id": "blessing"}}],
    }


def bom(packages, required, excluded, edges, root, binary):
    lock = tomllib.loads(pathlib.Path("Cargo.lock").read_text())
    checksums = {(each["name"], each["version"]): each["checksum"] for each in lock["package"] if "checksum" in each}
    components, dependencies = [], []
    for key in sorted(required | excluded):
        package = packages[key]
        reached = sorted(purl(packages[each]) for each in edges[key] if each in required | excluded)
        if package["name"] == "libsqlite3-sys":
            bundled = sqlite(package)
            components.append(bundled)
            dependencies.append({"ref": bundled["bom-ref"]})
            reached.append(bundled["bom-ref"])
        dependencies.append({"ref": purl(package), "dependsOn": reached})
        if key != root:
            components.append(component(package, "required" if key in required else "excluded", checksums))
    program = component(packages[root], "required", checksums) | {"type": "application"}
    if binary:
        program["hashes"] = [{"alg": "SHA-256", "content": hashlib.sha256(binary.read_bytes()).hexdigest()}]
    time = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "lifecycles": [{"phase": "build"}],
            "component": program,
        },
        "components": components,
        "dependencies": dependencies,
    }
    digest = hashlib.sha256(json.dumps(document).encode()).digest()
    return document | {"serialNumber": f"urn:uuid:{uuid.UUID(bytes=digest[:16], version=4)}"}


def notices(packages, linked):
    """The licences of what is linked, each text once, under the names of all that it is for."""
    texts, bare = {}, []
    for key in sorted(linked):
        folder = pathlib.Path(packages[key]["manifest_path"]).parent
        files = sorted(path for path in folder.iterdir() if path.is_file() and LICENCE_FILES.fullmatch(path.name))
        for path in files:
            text = path.read_text(errors="replace").replace("\r\n", "\n").strip("\n")
            names = texts.setdefault(text, [])
            if key not in names:
                names.append(key)
        if not files:
            bare.append(key)
    lines = ["The program sessiond is linked with these libraries.", ""]
    lines += [f"{name} {version}: {packages[name, version]['license']}" for name, version in sorted(linked)]
    lines += ["", "SQLite, which libsqlite3-sys compiles in, is in the public domain."]
    if bare:
        lines += ["", "Published without a file for their licence, which is as above:"]
        lines += [f"{name} {version}, by {', '.join(packages[name, version]['authors']) or 'its contributors'}" for name, version in bare]
    for text, names in texts.items():
        lines += ["", "=" * 100, ", ".join(f"{name} {version}" for name, version in names), "=" * 100, "", text]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", required=True, help="as cargo calls it, such as x86_64-unknown-linux-gnu")
    parser.add_argument("--bom", type=pathlib.Path, required=True)
    parser.add_argument("--notices", type=pathlib.Path, required=True)
    parser.add_argument("--binary", type=pathlib.Path, help="its hash goes into the list")
    arguments = parser.parse_args()

    metadata = json.loads(cargo("metadata", "--format-version", "1", "--filter-platform", arguments.target))
    by_id = {package["id"]: (package["name"], package["version"]) for package in metadata["packages"]}
    packages = {by_id[package["id"]]: package for package in metadata["packages"]}
    edges = {
        by_id[node["id"]]: {
            by_id[each["pkg"]] for each in node["deps"] if any(kind["kind"] != "dev" for kind in each["dep_kinds"])
        }
        for node in metadata["resolve"]["nodes"]
    }
    root = by_id[metadata["resolve"]["root"]]
    linked = tree(arguments.target, "normal,no-proc-macro")
    # Macros and build scripts run while it is built, and are not in it.
    building = tree(arguments.target, "normal,build") - linked
    document = bom(packages, linked, building, edges, root, arguments.binary)
    arguments.bom.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    arguments.notices.write_text(notices(packages, linked - {root}))


if __name__ == "__main__":
    main()
