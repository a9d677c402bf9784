"""Runs guests in QEMU, shows their consoles as they come, and hands out the checks to whichever guest is free.

A check waits for the clock more than it computes, so that two guests take little more than half of the time of one. A
guest is taken for hung after a limit for its boot and for each check; QEMU is ended by its own process id, whatever happens.
"""

import os
import re
import selectors
import subprocess
import time
from collections import deque

GUESTS = 2
BOOT_SECONDS = 120
CHECK_SECONDS = 90

# What the program in the guest says (tests/vm/guest.rs).
KNOWN = re.compile(r"^checks: (.+)$")
READY = "ready for a check"
ENDED = re.compile(r"^check (\S+): (ok|FAILED)\b(.*)$")
# What it is told instead of a check when there are no more.
NO_MORE = "no more"


def command(image, archive):
    arguments = [
        # No KVM: it is not to be had in most places where tests run, and must not change what they show.
        "-accel", "tcg,thread=multi", "-machine", "q35", "-cpu", "max", "-smp", "2", "-m", "768",
        "-kernel", str(image), "-initrd", str(archive),
        "-append", "console=ttyS0 quiet panic=-1 oops=panic net.ifnames=0 random.trust_cpu=on mitigations=off",
        "-nodefaults", "-no-reboot", "-display", "none", "-serial", "stdio",
        # A real Ethernet driver, whose port leads nowhere but to a hub of its own.
        "-netdev", "hubport,id=wire,hubid=0", "-device", "e1000e,netdev=wire",
    ]
    return ["qemu-system-x86_64", *arguments]


class Guest:
    """A machine, and what it is at."""

    def __init__(self, number, image, archive):
        self.number = number
        self.pending = b""
        self.begin("boot", BOOT_SECONDS)
        self.process = subprocess.Popen(
            command(image, archive), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )

    def begin(self, what, seconds):
        self.at = what
        self.deadline = time.monotonic() + seconds

    def lines(self):
        """Lines of the console that have come, or None after the last."""
        data = os.read(self.process.stdout.fileno(), 65536)
        if not data and not self.pending:
            return None
        *whole, self.pending = (self.pending + (data or b"\n")).split(b"\n")
        return [line.decode(errors="replace").rstrip("\r") for line in whole]

    def tell(self, line):
        try:
            self.process.stdin.write(f"{line}\n".encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            # It has ended; its console says so.
            pass

    def end(self):
        self.process.kill()
        self.process.wait()


class Checks:
    """Those that wait, in the order in which the guest names them, and what became of the others."""

    def __init__(self, only):
        self.only = only
        self.waiting = None
        self.passed = []
        self.failed = []

    def fail(self, name, reason):
        print(f"check {name}: FAILED: {reason}", flush=True)
        self.failed.append(name)

    def heard(self, guest, line):
        if (found := KNOWN.match(line)) and self.waiting is None:
            self.waiting = deque(name for name in found.group(1).split() if self.only in name)
        elif line == READY:
            guest.begin(self.waiting.popleft() if self.waiting else NO_MORE, CHECK_SECONDS)
            guest.tell(guest.at)
        elif (found := ENDED.match(line)) and found.group(1) == guest.at:
            (self.passed if found.group(2) == "ok" else self.failed).append(guest.at)
            guest.begin(f"what follows {guest.at}", CHECK_SECONDS)

    def over(self, guest):
        """A guest is no more: by itself, or since it took too long."""
        if guest.at != NO_MORE:
            late = time.monotonic() >= guest.deadline
            self.fail(guest.at, "took too long" if late else "the guest ended without a result")

    def close(self):
        if self.waiting is None:
            self.waiting = []
        for name in self.waiting:
            self.fail(name, "no guest was left to run it")
        if not self.passed and not self.failed:
            self.fail(self.only, "no check has this in its name")


def run(image, archive, only):
    """The checks with `only` in their name."""
    checks = Checks(only)
    guests = [Guest(number, image, archive) for number in range(1, GUESTS + 1)]
    waiting = selectors.DefaultSelector()
    for guest in guests:
        waiting.register(guest.process.stdout, selectors.EVENT_READ, guest)
    try:
        while waiting.get_map():
            running = [key.data for key in waiting.get_map().values()]
            first = min(guest.deadline for guest in running)
            spoke = [key.data for key, _ in waiting.select(max(first - time.monotonic(), 0))]
            for guest in running:
                lines = guest.lines() if guest in spoke else []
                for line in lines or []:
                    print(f"{guest.number}: {line}", flush=True)
                    checks.heard(guest, line)
                if lines is None or time.monotonic() >= guest.deadline:
                    waiting.unregister(guest.process.stdout)
                    checks.over(guest)
                    guest.end()
    finally:
        for guest in guests:
            guest.end()
    checks.close()
    return checks
