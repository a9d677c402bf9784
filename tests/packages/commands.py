"""Runs other programs, and the exporter itself with a scrape of it."""

import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.request
from contextlib import contextmanager

PATIENCE = 120


class Missing(Exception):
    """A tool that is not on this machine."""


def which(tool):
    found = shutil.which(str(tool), path=os.environ["PATH"] + ":/usr/sbin:/sbin")
    if found is None:
        raise Missing(str(tool).rsplit("/", 1)[-1])
    return found


def run(tool, *arguments, fails=False, env=None, **options):
    """Standard output of a program, which has to succeed, or to fail where `fails` says so."""
    command = [which(tool), *map(str, arguments)]
    env = {**os.environ, "LC_ALL": "C.UTF-8", **(env or {})}
    ran = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, timeout=600, env=env,
        stdin=options.pop("stdin", subprocess.DEVNULL), **options,
    )
    shown = f"{' '.join(command)}: exit code {ran.returncode}\n{ran.stdout}{ran.stderr}"
    assert (ran.returncode != 0) == fails, shown
    return ran.stdout + ran.stderr if fails else ran.stdout


def as_root():
    if os.geteuid() != 0:
        raise Missing("root")


def free_port():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return held.getsockname()[1]


def scrape(port):
    """The metrics, as soon as the exporter serves them."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
                return answer.read().decode()
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


def started_by(pid, name):
    """The process of this program's name among the descendants of a process."""
    waiting = [pid]
    while waiting:
        one = waiting.pop()
        try:
            with open(f"/proc/{one}/comm", encoding="utf-8") as comm:
                if comm.read().strip() == name[:15]:
                    return one
            for task in os.listdir(f"/proc/{one}/task"):
                with open(f"/proc/{one}/task/{task}/children", encoding="utf-8") as children:
                    waiting += map(int, children.read().split())
        except OSError:
            continue
    return None


def status(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as lines:
        return dict(line.rstrip("\n").split(":\t", 1) for line in lines if ":\t" in line)


@contextmanager
def exporter(command, log, **options):
    """Runs a command that ends up as the exporter, gives that one's process, and ends it in the end."""
    with open(log, "wb") as out, subprocess.Popen(
        list(map(str, command)), stdin=subprocess.DEVNULL, stdout=out, stderr=out, **options
    ) as process:
        inner = None
        try:
            until = time.monotonic() + PATIENCE
            while inner is None:
                inner = started_by(process.pid, "roce_exporter")
                ended = process.poll() is not None
                assert not ended and time.monotonic() < until, log.read_text(encoding="utf-8")
                time.sleep(0.05)
            yield inner
        finally:
            if inner is not None:
                try:
                    os.kill(inner, signal.SIGTERM)
                    process.wait(timeout=PATIENCE)
                except (ProcessLookupError, subprocess.TimeoutExpired):
                    pass
            process.kill()
