"""The RPM package: read, installed into an empty tree and erased there by the real rpm."""

import shutil

from commands import as_root, run, which

WANTED = {
    "/usr/bin/roce_exporter", "/usr/lib/systemd/system/roce_exporter.service", "/etc/default/roce_exporter",
    "/usr/share/man/man1/roce_exporter.1", "/usr/share/bash-completion/completions/roce_exporter",
    "/usr/share/zsh/site-functions/_roce_exporter", "/usr/share/fish/vendor_completions.d/roce_exporter.fish",
    "/usr/share/roce_exporter/rules/roce-pause.rules.yml", "/usr/share/roce_exporter/dashboards/roce-fleet.json",
    "/usr/share/licenses/roce-exporter/LICENSE", "/usr/share/licenses/roce-exporter/third-party-licences",
    "/usr/share/doc/roce-exporter/examples/roce_exporter.example.yml",
}


def package(shipped):
    (rpm,) = shipped.made.glob("*.rpm")
    return rpm


def holds_what_it_should(shipped):
    listed = set(run("rpm", "--query", "--list", "--package", package(shipped)).splitlines())
    assert listed >= WANTED, WANTED - listed
    settings = run("rpm", "--query", "--configfiles", "--package", package(shipped)).split()
    assert settings == ["/etc/default/roce_exporter"], settings
    facts = run("rpm", "--query", "--queryformat=%{NAME} %{LICENSE}", "--package", package(shipped))
    assert facts == "roce-exporter Apache-2.0", facts
    times = set(run("rpm", "--query", "--queryformat=[%{FILEMTIMES}\n]", "--package", package(shipped)).split())
    assert len(times) == 1, f"times of the checkout: {times}"
    run("rpm", "--checksig", "--nosignature", package(shipped))


def installs_and_goes(shipped):
    as_root()
    tree = shipped.scratch / "tree"
    (tree / "var/lib/rpm").mkdir(parents=True)
    options = ["--root", tree, "--dbpath", "/var/lib/rpm"]
    # An empty tree has no shell for the scripts, which have a check of their own.
    run("rpm", *options, "--install", "--nodeps", "--noscripts", "--ignorearch", "--ignoreos", package(shipped))
    missing = [path for path in WANTED if not (tree / path[1:]).is_file()]
    assert not missing, missing
    assert "roce_exporter" in run(tree / "usr/bin/roce_exporter", "--version")
    run("rpm", *options, "--erase", "--nodeps", "--noscripts", "roce-exporter")
    left = [path for path in tree.rglob("*") if path.is_file() and "var/lib/rpm" not in str(path)]
    assert not left, left


def later(shipped):
    """The same package as a later release, from the files that the first one was made of."""
    made = shipped.scratch / "later.rpm"
    run("cargo", "generate-rpm", "--set-metadata", 'release = "2"', "--output", made, cwd=shipped.tree)
    return made


def scripts_tell_systemd(shipped):
    """A tree with a shell and a systemctl that notes what it is asked: the scripts run for real, systemd does not."""
    as_root()
    tree = shipped.scratch / "tree"
    for directory in ["var/lib/rpm", "bin", "usr/bin", "run/systemd/system"]:
        (tree / directory).mkdir(parents=True)
    shutil.copy(which("busybox"), tree / "bin/sh")
    systemctl = tree / "usr/bin/systemctl"
    systemctl.write_text('#!/bin/sh\necho "$*" >>/asked\n', encoding="utf-8")
    systemctl.chmod(0o755)
    (tree / "dev").mkdir()
    (tree / "dev/null").touch()
    options = ["--root", tree, "--dbpath", "/var/lib/rpm"]

    def asked(*arguments):
        said = tree / "asked"
        said.write_text("", encoding="utf-8")
        run("rpm", *options, *arguments)
        return said.read_text(encoding="utf-8").splitlines()

    lenient = ["--nodeps", "--ignorearch", "--ignoreos"]
    found = asked("--install", *lenient, package(shipped))
    assert found == ["--no-reload preset roce_exporter.service", "daemon-reload"], found
    settings = tree / "etc/default/roce_exporter"
    settings.write_text('ARGS="--log.level=warn"\n', encoding="utf-8")
    found = asked("--upgrade", *lenient, later(shipped))
    assert found == ["daemon-reload", "try-restart roce_exporter.service", "daemon-reload"], found
    assert settings.read_text(encoding="utf-8") == 'ARGS="--log.level=warn"\n', "the upgrade changed the settings"
    found = asked("--erase", "--nodeps", "roce-exporter")
    stopped = [f"--no-reload disable --now roce_exporter.{kind}" for kind in ("socket", "service")]
    assert found == [*stopped, "daemon-reload"], found
    # Where systemd does not run, as when an image is made, nothing is started, stopped or reloaded.
    (tree / "run/systemd/system").rmdir()
    found = asked("--install", *lenient, package(shipped)) + asked("--erase", "--nodeps", "roce-exporter")
    wanted = ["--no-reload preset roce_exporter.service", "--no-reload disable roce_exporter.service"]
    assert found == wanted, found


CHECKS = [holds_what_it_should, installs_and_goes, scripts_tell_systemd]
