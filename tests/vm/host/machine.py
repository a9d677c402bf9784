"""Runs the guest in QEMU, shows its console as it comes, and gathers what its checks say.

Every check has a limit of its own beside the boot's; QEMU is ended by its own process id, whatever happens.
"""

import re
import select
import subprocess
import time

BOOT_SECONDS = 120
CHECK_SECONDS = 90

BEGUN = re.compile(r"^check (\S+) \.\.\.$")
ENDED = re.compile(r"^check (\S+): (ok|FAILED)\b(.*)$")
SUM = re.compile(r"^checks: (\d+) ran$")


class Outcome:
    def __init__(self):
        self.passed = []
        self.failed = []
        self.complete = False


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


def lines_of(process, limit):
    """Lines of the console, until it ends or `limit()` has passed."""
    pending = b""
    while True:
        left = limit() - time.monotonic()
        ready, _, _ = select.select([process.stdout], [], [], max(left, 0))
        if not ready:
            return
        data = process.stdout.read1(65536)
        if not data:
            if pending:
                yield pending.decode(errors="replace")
            return
        pending += data
        *whole, pending = pending.split(b"\n")
        for line in whole:
            yield line.decode(errors="replace").rstrip("\r")


def run(image, archive):
    outcome = Outcome()
    running = "boot"
    deadline = time.monotonic() + BOOT_SECONDS
    process = subprocess.Popen(
        command(image, archive), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        for line in lines_of(process, lambda: deadline):
            print(line, flush=True)
            if found := BEGUN.match(line):
                running = found.group(1)
                deadline = time.monotonic() + CHECK_SECONDS
            elif found := ENDED.match(line):
                (outcome.passed if found.group(2) == "ok" else outcome.failed).append(found.group(1))
                running = f"what follows {found.group(1)}"
            elif found := SUM.match(line):
                outcome.complete = int(found.group(1)) == len(outcome.passed) + len(outcome.failed)
        if not outcome.complete:
            late = time.monotonic() >= deadline
            reason = "took too long" if late else "ended without a result"
            print(f"check {running}: FAILED: {reason}", flush=True)
            outcome.failed.append(running)
    finally:
        process.kill()
        process.wait()
    return outcome
