#!/usr/bin/env -S python3 -B
"""The README's two commands as somebody would type them: a fresh Debian, make, Rust with the linker that it needs, no root.

`readme.py [FILTER]`; a filter in the name of a check, `demo` or `test`, leaves out the other. Crates come from this machine's
registry and there is no network: no tool can be installed, so the tests that want one are skipped, as
CONTRIBUTING.md says. Takes two builds of everything.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from commands import Missing, as_root, run, started_by, which

TREE = Path(__file__).resolve().parent.parent.parent
SECONDS = 5400
PACKAGES = "make,gcc,libc6-dev,ca-certificates"


def commands():
    """The shell blocks of the section that the README begins with."""
    text = (TREE / "README.md").read_text(encoding="utf-8")
    section = text.split("## Try it in one minute\n")[1].split("\n## ")[0]
    found = [block.strip() for block in re.findall(r"```sh\n(.*?)```", section, re.DOTALL)]
    assert found == ["cargo run --release -- demo", "make test"], found
    return found


def fresh_debian(place):
    with open("/etc/os-release", encoding="utf-8") as lines:
        suite = re.search(r"VERSION_CODENAME=(\w+)", lines.read()).group(1)
    run(which("debootstrap"), "--variant=minbase", f"--include={PACKAGES}", suite, place, env={"PATH": os.environ["PATH"] + ":/usr/sbin"})
    toolchain = run("rustc", "--print", "sysroot").strip()
    shutil.copytree(toolchain, place / "opt/rust", symlinks=True)
    home = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
    for part in ["registry/cache", "registry/index"]:
        shutil.copytree(home / part, place / "opt/cargo" / part)
    if (home / "config.toml").exists():
        shutil.copy(home / "config.toml", place / "opt/cargo/config.toml")
    source = place / "srv/user/roce_exporter"
    for name in run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=TREE).split("\0"):
        # A link of a fixture may lead nowhere, as it does in its /sys.
        if name and os.path.lexists(TREE / name):
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(TREE / name, source / name, follow_symlinks=False)
    run("chroot", place, "useradd", "--home-dir", "/srv/user", "--shell", "/bin/bash", "--uid", "12345", "user")
    run("chroot", place, "chown", "-R", "user", "/srv/user", "/opt/cargo")


def inside(place, command):
    """The command line that runs a README's command there, without a network: mounts and processes end with it."""
    settings = {
        "PATH": "/opt/rust/bin:/usr/bin:/bin", "HOME": "/srv/user", "CARGO_HOME": "/opt/cargo", "CARGO_NET_OFFLINE": "true",
        "CARGO_INCREMENTAL": "0", "CARGO_PROFILE_DEV_DEBUG": "0", "CARGO_TERM_COLOR": "never",
    }
    words = " ".join(f"{name}={value}" for name, value in settings.items())
    script = (
        f"ip link set lo up && mount --make-rprivate / && mount -t proc proc {place}/proc && mount --rbind /sys {place}/sys && "
        f"mount --rbind /dev {place}/dev && exec chroot --userspec=user {place} /usr/bin/env -i {words} "
        f"/bin/bash -c 'cd ~/roce_exporter && exec {command}'"
    )
    return [which("unshare"), "--mount", "--net", "--pid", "--fork", "--kill-child", "/bin/sh", "-c", script]


def end(process):
    """Ends what runs inside: with the first process of a namespace all others end. `unshare` would see to that, but that
    process has become another user since, and with that the kernel forgets whose end it should share."""
    if process.poll() is None:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii")
        for child in children.split():
            os.kill(int(child), signal.SIGKILL)
        process.kill()
    process.wait()


def demo_serves(place, command):
    """At the port that the README names, in the network namespace of the run."""
    said = place.parent / "demo.log"
    with open(said, "wb") as log:
        process = subprocess.Popen(inside(place, command), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            until = time.monotonic() + SECONDS
            while (program := started_by(process.pid, "roce_exporter")) is None or b"listening" not in said.read_bytes():
                assert process.poll() is None and time.monotonic() < until, said.read_text()[-3000:]
                time.sleep(1)
            ask = ["--target", str(program), "--net", which("curl"), "--silent", "--show-error", "--fail"]
            metrics = run("nsenter", *ask, "http://localhost:10479/metrics")
            page = run("nsenter", *ask, "http://localhost:10479/")
        finally:
            end(process)
    assert "\nroce_pfc_pause_frames_total{" in metrics, metrics[:2000]
    assert "<html" in page, page[:2000]


def tests_pass(place, command):
    process = subprocess.Popen(
        inside(place, command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )
    try:
        said, _ = process.communicate(timeout=SECONDS)
    finally:
        end(process)
    print(said[-20000:])
    assert process.returncode == 0, f"exit code {process.returncode}"
    passed = re.search(r"(\d+) passed, 0 failed", said)
    assert passed and int(passed.group(1)) > 500, "no sum of the tests"


def main():
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    try:
        as_root()
        first, second = commands()
        with tempfile.TemporaryDirectory(prefix="roce-readme-") as scratch:
            place = Path(scratch) / "debian"
            since = time.monotonic()
            fresh_debian(place)
            print(f"a fresh Debian ({time.monotonic() - since:.0f} s)", flush=True)
            for name, check, command in [("demo", demo_serves, first), ("test", tests_pass, second)]:
                if only in name:
                    since = time.monotonic()
                    check(place, command)
                    print(f"{command} ... ok ({time.monotonic() - since:.0f} s)", flush=True)
    except Missing as missing:
        print(f"SKIPPED: {missing}")


main()
