#!/usr/bin/env -S python3 -B
"""Builds and boots the test VM, and runs the checks in it: run.py CACHE.

What is fetched and built is kept in CACHE, so that a further run takes little more than the boot. Ends with a line in
the form of Rust's own tests. A machine that lacks something is named as skipped, or fails where every tier must run.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import image
import machine
import packages

HERE = Path(__file__).resolve().parent.parent
TREE = HERE.parent.parent


def step(what, since):
    print(f"{what} ({time.monotonic() - since:.1f} s)", flush=True)


def module(cache, kernel):
    """Our module for this kernel, built anew when its source changed."""
    sources = sorted((HERE / "module").iterdir())
    digest = hashlib.sha256(str(kernel.directory).encode())
    for source in sources:
        digest.update(source.name.encode() + b"\0" + source.read_bytes())
    directory = cache / "modules" / digest.hexdigest()[:16]
    built = directory / "fabric_nic.ko"
    if built.exists():
        return built
    shutil.rmtree(cache / "modules", ignore_errors=True)
    scratch = directory / "build"
    scratch.mkdir(parents=True)
    for source in sources:
        shutil.copy(source, scratch)
    make = ["make", "-C", str(kernel.headers), f"M={scratch}", f"-j{os.cpu_count()}", "modules"]
    # Not as a part of the make that may have called this: that one would warn of jobs that are counted apart.
    env = {name: value for name, value in os.environ.items() if name not in {"MAKEFLAGS", "MFLAGS", "MAKELEVEL"}}
    ran = subprocess.run(make, capture_output=True, text=True, check=False, env=env)
    if ran.returncode != 0 or "warning:" in ran.stderr:
        raise SystemExit(f"the module cannot be built without a warning:\n{ran.stdout}{ran.stderr}")
    subprocess.run(["strip", "--strip-debug", str(scratch / "fabric_nic.ko")], check=True)
    os.replace(scratch / "fabric_nic.ko", built)
    shutil.rmtree(scratch)
    return built


def programs():
    """The program as it is released, and the checks by the same build: they share the libraries, and linking takes a
    processor each."""
    names = ["roce_exporter", "vm_checks"]
    chosen = [f"{flag}={name}" for name in names for flag in ["--package", "--bin"]]
    command = ["cargo", "build", "--release", "--locked", "--message-format=json-render-diagnostics", *chosen]
    ran = subprocess.run(command, cwd=TREE, stdout=subprocess.PIPE, text=True, check=False)
    if ran.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed")
    built = [json.loads(line) for line in ran.stdout.splitlines()]
    found = {message["target"]["name"]: message["executable"] for message in built if message.get("executable")}
    return [Path(found[name]) for name in names]


def prepare(cache):
    since = time.monotonic()
    for tool in ["qemu-system-x86_64", "busybox", "apt-get", "make", "gcc", "ldd", "strip", *image.TOOLS]:
        image.which(tool)
    with ThreadPoolExecutor() as pool:
        # The long part, beside what waits for the network.
        building = pool.submit(programs)
        kernel = packages.kernel(cache)
        traffic = packages.traffic(cache)
        step(f"kernel {kernel.abi}", since)
        own = module(cache, kernel)
        step("module", since)
        exporter, checks = building.result()
    step("programs", since)
    since = time.monotonic()
    archive = cache / f"image-{os.getpid()}.cpio"
    image.build(archive, kernel, own, traffic, exporter, checks, HERE.parent)
    step(f"image of {archive.stat().st_size >> 20} MB", since)
    return kernel, archive


def main():
    cache = packages.in_cache(sys.argv[1])
    try:
        kernel, archive = prepare(cache)
    except packages.Unavailable as missing:
        if os.environ.get("ROCE_REQUIRE_ALL_TIERS") == "1":
            raise SystemExit(f"missing: {missing}") from missing
        print(f"SKIPPED: test VM: {missing}")
        return
    since = time.monotonic()
    try:
        # For whoever works on one check: a part of its name.
        outcome = machine.run(kernel.image, archive, os.environ.get("ROCE_VM_ONLY", ""))
    finally:
        archive.unlink()
    step("guests", since)
    passed, failed = len(outcome.passed), len(outcome.failed)
    word = "FAILED" if failed else "ok"
    print(f"\ntest result: {word}. {passed} passed; {failed} failed; 0 ignored")
    if failed:
        raise SystemExit(f"failed: {', '.join(outcome.failed)}")


if __name__ == "__main__":
    main()
