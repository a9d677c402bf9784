"""The systemd unit, as far as it can be judged where systemd is not the first process."""

import re

from commands import as_root, exporter, free_port, run, scrape, which

MOST_EXPOSURE = 2.0


def staged(shipped):
    """The units beside the machine's own, with a program that is there."""
    for unit in (shipped.tree / "deploy" / "systemd").rglob("roce_exporter.*"):
        if unit.is_dir():
            continue
        text = unit.read_text(encoding="utf-8").replace("/usr/bin/roce_exporter", str(shipped.program))
        (shipped.scratch / unit.name).write_text(text, encoding="utf-8")
    return sorted(shipped.scratch.glob("*.service")) + sorted(shipped.scratch.glob("*.socket"))


def units_are_understood(shipped):
    units = staged(shipped)
    path = f"{shipped.scratch}:/usr/lib/systemd/system:/lib/systemd/system"
    run("systemd-analyze", "verify", "--man=no", *units, env={"SYSTEMD_UNIT_PATH": path})


def service_is_hardened(shipped):
    (service,) = [unit for unit in staged(shipped) if unit.suffix == ".service"]
    said = run("systemd-analyze", "--no-pager", "security", "--offline=true", service)
    exposure = float(re.search(r"Overall exposure level for \S+: ([0-9.]+)", said).group(1))
    assert exposure <= MOST_EXPOSURE, said


def expanded(name):
    """The system calls of a set, with those of the sets in it."""
    calls = set()
    for line in run("systemd-analyze", "--no-pager", "syscall-filter", name).splitlines()[1:]:
        one = line.strip()
        if one.startswith("@"):
            calls |= expanded(one)
        elif one and not one.startswith("#"):
            calls.add(one)
    return calls


def allowed_calls(unit):
    allowed = set()
    for value in re.findall(r"^SystemCallFilter=(.*)$", unit, re.MULTILINE):
        denied = value.startswith("~")
        for name in value.lstrip("~").split():
            calls = expanded(name) if name.startswith("@") else {name}
            allowed = allowed - calls if denied else allowed | calls
    return allowed


def filter_lets_through_what_the_program_calls(shipped):
    """A run on this machine's own NICs, with a scrape, under strace."""
    as_root()
    trace, port = shipped.scratch / "trace", free_port()
    command = [
        which("strace"), "--follow-forks", "--quiet=all", f"--output={trace}", shipped.program,
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with exporter(command, shipped.scratch / "log"):
        scrape(port)
    called = set(re.findall(r"^\d+ +(\w+)\(", trace.read_text(encoding="utf-8", errors="replace"), re.MULTILINE))
    assert {"bind", "ioctl", "sendto"} & called, called
    # The first call is strace's own start of the program.
    unit = (shipped.tree / "deploy" / "systemd" / "roce_exporter.service").read_text(encoding="utf-8")
    refused = called - allowed_calls(unit)
    assert not refused, f"the unit's filter refuses {sorted(refused)}"


CHECKS = [units_are_understood, service_is_hardened, filter_lets_through_what_the_program_calls]
