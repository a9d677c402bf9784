"""What is released as a whole: checksums, the bill of materials, and that no file tells where it was built."""

import json
import os
import re
import tarfile
import tomllib
from pathlib import Path

from commands import run


def bill(shipped):
    (file,) = shipped.made.glob("*.cdx.json")
    return file


def checksums_cover_every_file(shipped):
    run("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=shipped.made)
    sums = (shipped.made / "SHA256SUMS").read_text(encoding="utf-8")
    named = set(re.findall(r"^[0-9a-f]{64}  (\S+)$", sums, re.MULTILINE))
    there = {file.name for file in shipped.made.iterdir() if file.name != "SHA256SUMS"}
    assert named == there, named ^ there
    assert {Path(name).suffix for name in named} == {".deb", ".rpm", ".gz", ".json"}, named


def schema_faults(shipped, text):
    file = shipped.scratch / "bill.json"
    file.write_text(text, encoding="utf-8")
    with open(file, encoding="utf-8") as stream:
        judge = Path(__file__).parent / "cyclonedx_schema.py"
        return json.loads(run(shipped.venv / "bin" / "python3", "-B", judge, stdin=stream))


def bill_of_materials_is_valid(shipped):
    text = bill(shipped).read_text(encoding="utf-8")
    faults = schema_faults(shipped, text)
    assert not faults, faults
    for spoilt in [text.replace('"purl"', '"purll"', 1), text.replace('"library"', '"books"', 1)]:
        assert spoilt != text and schema_faults(shipped, spoilt), "the schema finds nothing wrong with a wrong bill"


def bill_of_materials_is_complete(shipped):
    """It names the crates whose licences are shipped, each as Cargo.lock has it."""
    described = json.loads(bill(shipped).read_text(encoding="utf-8"))
    lock = tomllib.loads((shipped.tree / "Cargo.lock").read_text(encoding="utf-8"))
    locked = {(one["name"], one["version"]): one.get("checksum") for one in lock["package"]}
    assert described["metadata"]["component"]["version"] == locked_version(locked), described["metadata"]
    found = set()
    for component in described["components"]:
        name, version = component["name"], component["version"]
        found.add(f"{name} {version}")
        assert component["purl"] == f"pkg:cargo/{name}@{version}", component
        assert component["hashes"] == [{"alg": "SHA-256", "content": locked[name, version]}], component
        assert component["licenses"], component
    (archive,) = shipped.made.glob("*.tar.gz")
    with tarfile.open(archive) as files:
        (listed,) = [one for one in files.getnames() if one.endswith("third-party-licences")]
        licences = files.extractfile(listed).read().decode()
    head = licences.split("=" * 78)[0]
    linked = set(re.findall(r"^(\S+ \d\S*): \S", head, re.MULTILINE))
    assert len(linked) > 50 and found == linked, found ^ linked


def locked_version(locked):
    (version,) = [version for name, version in locked if name == "roce_exporter"]
    return version


def nothing_tells_where_it_was_built(shipped):
    home = os.environ.get("CARGO_HOME") or str(Path.home() / ".cargo")
    (archive,) = shipped.made.glob("*.tar.gz")
    with tarfile.open(archive) as files:
        (program,) = [one for one in files.getnames() if one.endswith("/roce_exporter") and "completions" not in one]
        contents = {"the program": files.extractfile(program).read(), "the bill": bill(shipped).read_bytes()}
        owners = {(one.uid, one.gid, one.uname, one.gname) for one in files.getmembers()}
        times = {one.mtime for one in files.getmembers()}
    assert owners == {(0, 0, "", "")} and len(times) == 1, (owners, times)
    for what, content in contents.items():
        for place in (str(shipped.tree), home):
            assert place.encode() not in content, f"{what} names {place}"


CHECKS = [
    checksums_cover_every_file,
    bill_of_materials_is_valid,
    bill_of_materials_is_complete,
    nothing_tells_where_it_was_built,
]
