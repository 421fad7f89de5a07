"""Makes the wheel of the program sessiond around a binary that is there already.

A wheel is a zip with a list of hashes. Written by hand, as build back ends for binaries want to compile them, and those for Python give no
platform tag without a plugin. The same input makes the same bytes: the times are SOURCE_DATE_EPOCH.
"""

import argparse
import base64
import hashlib
import os
import pathlib
import time
import zipfile

SUMMARY = "Session state for AI agents as a service: ADK sessions, events and scoped state over HTTP"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--version", required=True)
    parser.add_argument("--platform", required=True, help="the platform tag, such as manylinux_2_34_x86_64")
    parser.add_argument("--binary", type=pathlib.Path, required=True)
    parser.add_argument("--readme", type=pathlib.Path, required=True)
    parser.add_argument("--license", type=pathlib.Path, required=True, action="append", help="a file for licenses/")
    parser.add_argument("--sbom", type=pathlib.Path, required=True)
    parser.add_argument("--output", type=pathlib.Path, required=True, help="a folder")
    arguments = parser.parse_args()

    tag = f"py3-none-{arguments.platform}"
    info = f"sessiond-{arguments.version}.dist-info"
    # 1980 is the first year that a zip knows.
    moment = time.gmtime(max(int(os.environ["SOURCE_DATE_EPOCH"]), 315532800))[:6]
    metadata = [
        "Metadata-Version: 2.4",
        "Name: sessiond",
        f"Version: {arguments.version}",
        f"Summary: {SUMMARY}",
        "License-Expression: Apache-2.0",
        "Project-URL: Repository, https://github.com/sessiond/sessiond",
        *(f"License-File: {path.name}" for path in arguments.license),
        # No code runs in the interpreter; this is the oldest that is maintained.
        "Requires-Python: >=3.10",
        # `sessiond[client]`: the client in Python, too.
        "Provides-Extra: client",
        # Of any number, as it has its own, and works with every newer server.
        "Requires-Dist: sessiond-client; extra == \"client\"",
        "Classifier: Environment :: Console",
        "Classifier: Operating System :: POSIX :: Linux",
        "Classifier: Programming Language :: Rust",
        "Classifier: Topic :: Database",
        "Description-Content-Type: text/markdown",
        "",
        arguments.readme.read_text(),
    ]
    # Not pure: what it holds is for one kind of machine.
    wheel = ["Wheel-Version: 1.0", "Generator: sessiond", "Root-Is-Purelib: false", f"Tag: {tag}", ""]

    # The metadata comes last, as the format recommends.
    files = [(f"sessiond-{arguments.version}.data/scripts/sessiond", arguments.binary.read_bytes(), 0o755)]
    files += [(f"{info}/licenses/{path.name}", path.read_bytes(), 0o644) for path in arguments.license]
    # Where PEP 770 wants it.
    files.append((f"{info}/sboms/sessiond.cdx.json", arguments.sbom.read_bytes(), 0o644))
    files.append((f"{info}/WHEEL", "\n".join(wheel).encode(), 0o644))
    files.append((f"{info}/METADATA", "\n".join(metadata).encode(), 0o644))
    record = ""
    for name, content, _ in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(content)}\n"
    record += f"{info}/RECORD,,\n"
    files.append((f"{info}/RECORD", record.encode(), 0o644))

    with zipfile.ZipFile(arguments.output / f"sessiond-{arguments.version}-{tag}.whl", "w") as archive:
        for name, content, mode in files:
            entry = zipfile.ZipInfo(name, moment)
            entry.external_attr = (0o100000 | mode) << 16
            entry.create_system = 3
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)


if __name__ == "__main__":
    main()
