"""The RPM package: read, installed into an empty tree and erased there by the real rpm."""

from commands import as_root, run

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
    run("rpm", "--checksig", "--nosignature", package(shipped))


def installs_and_goes(shipped):
    as_root()
    tree = shipped.scratch / "tree"
    (tree / "var/lib/rpm").mkdir(parents=True)
    options = ["--root", tree, "--dbpath", "/var/lib/rpm"]
    # An empty tree has no shell for the scripts; those of an installed system are systemd's to run.
    run("rpm", *options, "--install", "--nodeps", "--noscripts", "--ignorearch", "--ignoreos", package(shipped))
    missing = [path for path in WANTED if not (tree / path[1:]).is_file()]
    assert not missing, missing
    assert "roce_exporter" in run(tree / "usr/bin/roce_exporter", "--version")
    run("rpm", *options, "--erase", "--nodeps", "--noscripts", "roce-exporter")
    left = [path for path in tree.rglob("*") if path.is_file() and "var/lib/rpm" not in str(path)]
    assert not left, left


CHECKS = [holds_what_it_should, installs_and_goes]
