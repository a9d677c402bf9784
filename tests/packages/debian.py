"""The Debian package: installed into a fresh tree, used, upgraded and purged there."""

import os
import re
import stat

from commands import as_root, run, which

PACKAGE = "roce-exporter"


def package(shipped):
    (deb,) = shipped.made.glob("*.deb")
    return deb


def lintian_has_no_error(shipped):
    root = ["--allow-root"] if os.geteuid() == 0 else []
    run("lintian", *root, "--fail-on=error", package(shipped))


def contents(root):
    """Every path of a tree that dpkg itself does not keep, with what tells a changed file."""
    found = {}
    for directory, names, files in os.walk(root):
        for name in names + files:
            path = os.path.join(directory, name)
            inside = os.path.relpath(path, root)
            if inside.split("/")[0] in {"proc", "sys", "dev"} or inside.startswith(("var/lib/dpkg", "var/log", "var/cache")):
                continue
            facts = os.lstat(path)
            is_file = stat.S_ISREG(facts.st_mode)
            found[inside] = (facts.st_mode, facts.st_size, facts.st_mtime_ns) if is_file else facts.st_mode
    return found


def fresh_tree(shipped):
    as_root()
    tree = shipped.scratch / "tree"
    which("debootstrap")
    with open("/etc/os-release", encoding="utf-8") as lines:
        suite = re.search(r"VERSION_CODENAME=(\w+)", lines.read()).group(1)
    run("debootstrap", "--variant=minbase", "--include=man-db", suite, tree, env={"PATH": os.environ["PATH"] + ":/usr/sbin"})
    # The small variant leaves out manual pages of all packages in some containers' settings; ours has to come.
    for setting in (tree / "etc" / "dpkg" / "dpkg.cfg.d").glob("*"):
        setting.unlink()
    return tree


def newer(shipped, tree):
    """The same package under a later version."""
    unpacked = shipped.scratch / "unpacked"
    run("dpkg-deb", "--raw-extract", package(shipped), unpacked)
    control = unpacked / "DEBIAN" / "control"
    control.write_text(re.sub(r"(?m)^Version: (.*)$", r"Version: \1+later", control.read_text(encoding="utf-8")), encoding="utf-8")
    run("dpkg-deb", "--build", "--root-owner-group", unpacked, tree / "later.deb")


def installs_upgrades_and_goes_without_a_trace(shipped):
    tree = fresh_tree(shipped)
    before = contents(tree)

    def inside(*command):
        return run("chroot", tree, *command, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive"})

    (tree / "first.deb").write_bytes(package(shipped).read_bytes())
    inside("dpkg", "--install", "/first.deb")
    listed = inside("dpkg", "--listfiles", PACKAGE).splitlines()
    for wanted in [
        "/usr/bin/roce_exporter", "/usr/lib/systemd/system/roce_exporter.service", "/etc/default/roce_exporter",
        "/usr/share/man/man1/roce_exporter.1.gz", "/usr/share/bash-completion/completions/roce_exporter",
        "/usr/share/zsh/vendor-completions/_roce_exporter", "/usr/share/fish/vendor_completions.d/roce_exporter.fish",
        "/usr/share/roce_exporter/rules/roce-pause.rules.yml", "/usr/share/roce_exporter/dashboards/roce-fleet.json",
        f"/usr/share/doc/{PACKAGE}/copyright", f"/usr/share/doc/{PACKAGE}/third-party-licences.gz",
        f"/usr/share/doc/{PACKAGE}/examples/roce_exporter.example.yml",
        f"/usr/share/doc/{PACKAGE}/examples/socket-activation/roce_exporter.socket",
    ]:
        assert wanted in listed and (tree / wanted[1:]).is_file(), f"{wanted} is missing: {listed}"
    assert "version " in inside("roce_exporter", "--version")
    man = inside("man", "--warnings", "roce_exporter")
    assert "--sampler.interval" in man.replace("\N{HYPHEN}", "-") and "EXIT STATUS" in man, man
    inside("bash", "-c", ". /usr/share/bash-completion/completions/roce_exporter && complete -p roce_exporter")
    enabled = tree / "etc/systemd/system/multi-user.target.wants/roce_exporter.service"
    assert enabled.is_symlink(), "the service is not enabled"

    settings = tree / "etc/default/roce_exporter"
    settings.write_text('ARGS="--log.level=warn"\n', encoding="utf-8")
    newer(shipped, tree)
    inside("dpkg", "--install", "/later.deb")
    assert "+later" in inside("dpkg-query", "--show", PACKAGE)
    assert settings.read_text(encoding="utf-8") == 'ARGS="--log.level=warn"\n', "the upgrade changed the settings"

    inside("dpkg", "--remove", PACKAGE)
    assert not (tree / "usr/bin/roce_exporter").exists() and settings.exists()
    inside("dpkg", "--purge", PACKAGE)
    (tree / "first.deb").unlink()
    (tree / "later.deb").unlink()
    after = contents(tree)
    left = sorted(path for path in after if path not in before and not path.startswith("tmp/"))
    gone = sorted(path for path in before if path not in after)
    assert not left and not gone, f"left behind: {left}; gone: {gone}"


CHECKS = [lintian_has_no_error, installs_upgrades_and_goes_without_a_trace]
