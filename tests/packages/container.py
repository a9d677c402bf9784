"""The Dockerfile, and the image that its last stage gives: built without a registry, run as it would be."""

import json
import re
import shutil
from contextlib import contextmanager
from pathlib import Path

from commands import as_root, exporter, free_port, run, scrape, status, which

MOST_BYTES = 15_000_000


def dockerfile_is_without_remark(shipped):
    run(shipped.venv / "bin" / "hadolint", "--failure-threshold=style", shipped.tree / "Dockerfile")


def build_stage_copies_what_cargo_needs(shipped):
    """Its lines of COPY in an empty directory: cargo takes that for the whole package."""
    dockerfile = (shipped.tree / "Dockerfile").read_text(encoding="utf-8")
    stage = dockerfile.split("FROM scratch")[0]
    copies = re.findall(r"^COPY (?!--from)(.+) (\S+)$", stage, re.MULTILINE)
    assert copies
    for sources, to in copies:
        for source in sources.split():
            where = shipped.tree / source
            if where.is_dir():
                shutil.copytree(where, shipped.scratch / to)
            else:
                if to.endswith("/"):
                    (shipped.scratch / to).mkdir(parents=True, exist_ok=True)
                shutil.copy(where, shipped.scratch / to)
    metadata = run("cargo", "metadata", "--locked", "--no-deps", "--format-version=1", cwd=shipped.scratch)
    packages = json.loads(metadata)["packages"]
    targets = {target["name"] for package in packages for target in package["targets"] if "bin" in target["kind"]}
    assert "roce_exporter" in targets, targets
    for source in (shipped.scratch / "src").rglob("*.rs"):
        for named in re.findall(r'include_(?:str|bytes)!\(\s*"([^"]+)"', source.read_text(encoding="utf-8")):
            assert (source.parent / named).exists(), f"{source.name} includes {named}, which the Dockerfile does not copy"


@contextmanager
def container(shipped):
    """A container of the image of the real last stage, as buildah with its store, the container's name and its root; the
    program is given in place of the build stage, which a registry would be needed for."""
    as_root()
    which("buildah")
    stage = shipped.scratch / "stage"
    (stage / "out").mkdir(parents=True)
    run("strip", "--strip-all", "-o", stage / "out" / "roce_exporter", shipped.program)
    store = ["--storage-driver=vfs", f"--root={shipped.scratch / 'store'}", f"--runroot={shipped.scratch / 'run'}"]

    def buildah(*arguments):
        return run("buildah", *store, *arguments)

    buildah(
        "bud", "--isolation=chroot", f"--build-context=build={stage}", "--build-arg=REVISION=abc", "--format=docker",
        f"--file={shipped.tree / 'Dockerfile'}", "--tag=roce_exporter", shipped.tree,
    )
    name = buildah("from", "roce_exporter").strip()
    root = Path(buildah("mount", name).strip())
    try:
        yield buildah, [which("buildah"), *store, "run", "--isolation=chroot", name, "/roce_exporter"], root
    finally:
        buildah("umount", name)
        buildah("rm", name)


def has_no_privilege(process):
    facts = status(process)
    assert facts["Uid"].split() == ["65534"] * 4 and facts["Gid"].split() == ["65534"] * 4, facts
    assert int(facts["CapEff"], 16) == 0, facts["CapEff"]
    return True


def image_runs_without_a_privilege(shipped):
    with container(shipped) as (buildah, program, root):
        config = json.loads(buildah("inspect", "--type=image", "roce_exporter"))["Docker"]["config"]
        assert config["User"] == "65534:65534", config
        assert config["Entrypoint"] == ["/roce_exporter"], config
        assert "10479/tcp" in config["ExposedPorts"], config
        assert config["Labels"]["org.opencontainers.image.revision"] == "abc", config
        assert config["Labels"]["org.opencontainers.image.licenses"] == "Apache-2.0", config
        assert config["Healthcheck"]["Test"] == ["CMD", "/roce_exporter", "healthcheck"], config
        files = run("find", root, "-type", "f", "-printf", "%P %s\n").splitlines()
        (only,) = [line.split() for line in files]
        assert only[0] == "roce_exporter" and int(only[1]) < MOST_BYTES, files
        port = free_port()
        address = f"--web.listen-address=127.0.0.1:{port}"
        with exporter([*program, address], shipped.scratch / "log") as process:
            metrics = scrape(port)
            assert "\nroce_exporter_build_info{" in metrics, metrics[:2000]
            assert has_no_privilege(process)
            # As the container's health check would, by the same file in the same place.
            assert run(*program, "healthcheck", address) == "healthy\n"


def image_runs_where_nothing_can_be_written(shipped):
    """As the manifests ask for: `readOnlyRootFilesystem`, no gain of privilege, the host's `/sys` read-only. buildah's own
    isolation knows none of these."""
    with container(shipped) as (_, _, root):
        for place in ["proc", "sys"]:
            (root / place).mkdir(exist_ok=True)
        port = free_port()
        script = (
            f"mount --make-rprivate / && mount --bind {root} {root} && mount -t proc -o ro proc {root}/proc && "
            f"mount -t sysfs -o ro sysfs {root}/sys && mount -o remount,bind,ro {root} && "
            f"exec setpriv --no-new-privs chroot --userspec=65534:65534 {root} /roce_exporter "
            f"--web.listen-address=127.0.0.1:{port}"
        )
        log = shipped.scratch / "log"
        with exporter([which("unshare"), "--mount", "/bin/sh", "-c", script], log) as process:
            metrics = scrape(port)
            assert "\nroce_exporter_build_info{" in metrics, metrics[:2000]
            assert has_no_privilege(process)
            assert status(process)["NoNewPrivs"] == "1"
            mounts = Path(f"/proc/{process}/mountinfo").read_text(encoding="utf-8").splitlines()
            writable = [line for line in mounts if "ro" not in line.split()[5].split(",")]
            assert mounts and not writable, writable
            said = log.read_text(encoding="utf-8")
            assert "os error 30" not in said, f"something was to be written: {said}"


CHECKS_OF_FILES = [dockerfile_is_without_remark, build_stage_copies_what_cargo_needs]
CHECKS = [*CHECKS_OF_FILES, image_runs_without_a_privilege, image_runs_where_nothing_can_be_written]
