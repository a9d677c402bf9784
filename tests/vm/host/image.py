"""The guest's whole file system as one archive: busybox, the network tools, the kernel's modules, our program.

Written here and not by `cpio`, so that it needs neither that nor root.
"""

import lzma
import os
import re
import shutil
import stat
import subprocess
from pathlib import Path

from packages import MODULES, Unavailable

TOOLS = ["ethtool", "ip", "dcb", "rdma"]
# Where the libraries go; the loader looks there by itself.
LIBRARIES = "/lib/x86_64-linux-gnu"


class Archive:
    """A cpio archive in the form "newc", as the kernel unpacks it."""

    def __init__(self):
        self.entries = {}

    def directory(self, path):
        path = path.strip("/")
        if path and path not in self.entries:
            self.directory(os.path.dirname(path))
            self.entries[path] = (stat.S_IFDIR | 0o755, b"", (0, 0))

    def file(self, path, data, mode=0o755):
        self.directory(os.path.dirname(path))
        self.entries[path.strip("/")] = (stat.S_IFREG | mode, data, (0, 0))

    def link(self, path, target):
        self.directory(os.path.dirname(path))
        self.entries[path.strip("/")] = (stat.S_IFLNK | 0o777, target.encode(), (0, 0))

    def device(self, path, major, minor):
        self.directory(os.path.dirname(path))
        self.entries[path.strip("/")] = (stat.S_IFCHR | 0o600, b"", (major, minor))

    def write(self, to):
        with open(to, "wb") as file:
            for number, (path, (mode, data, device)) in enumerate(self.entries.items(), start=1):
                file.write(self.entry(number, path, mode, data, device))
            file.write(self.entry(0, "TRAILER!!!", 0, b"", (0, 0)))

    @staticmethod
    def entry(number, path, mode, data, device):
        name = path.encode() + b"\0"
        fields = [number, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(name), 0]
        head = b"070701" + b"".join(b"%08X" % field for field in fields) + name
        return pad(head) + pad(data)


def pad(data):
    return data + b"\0" * (-len(data) % 4)


def which(tool):
    path = shutil.which(tool, path=os.environ["PATH"] + ":/usr/sbin:/sbin")
    if path is None:
        raise Unavailable(tool)
    return Path(path)


def libraries_of(program, extra=None):
    """The shared libraries that a program is linked to, and the loader."""
    environment = dict(os.environ)
    if extra:
        environment["LD_LIBRARY_PATH"] = str(extra)
    ran = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=False, env=environment)
    if ran.returncode != 0:
        return []
    if "not found" in ran.stdout:
        raise Unavailable(f"{program}: {ran.stdout.strip()}")
    return [Path(path) for path in re.findall(r"(?:=> |^\s+)(/\S+)", ran.stdout, re.MULTILINE)]


def add_program(archive, program, path, extra=None):
    for library in libraries_of(program, extra):
        is_loader = library.name.startswith("ld-linux")
        archive.file(f"/lib64/{library.name}" if is_loader else f"{LIBRARIES}/{library.name}", library.read_bytes())
    archive.file(path, Path(program).read_bytes())


def stripped(program, scratch):
    """A copy without debug information: half a gigabyte of memory has to hold all of it."""
    copy = scratch / program.name
    subprocess.run(["strip", "--strip-debug", "-o", str(copy), str(program)], check=True)
    return copy


def add_modules(archive, kernel, own):
    """All modules, and the order in which each is loaded with what it needs, a line for each."""
    files = {}
    for path in kernel.modules.rglob("*.ko*"):
        data = path.read_bytes()
        files[path.name.split(".")[0]] = lzma.decompress(data) if path.suffix == ".xz" else data
    missing = [name for name in MODULES if name not in files and not name.endswith("_generic")]
    if missing:
        raise Unavailable(f"the kernel lacks {missing}")
    files["fabric_nic"] = own.read_bytes()

    def needs(name):
        found = re.search(rb"\0depends=([^\0]*)\0", files[name])
        direct = found.group(1).decode().split(",") if found and found.group(1) else []
        order = []
        for other in direct:
            other = other.replace("-", "_")
            if other in files:
                order += [one for one in needs(other) if one not in order]
        return [*order, name]

    for name, data in files.items():
        archive.file(f"/modules/{name}.ko", data)
        archive.file(f"/modules/{name}.order", " ".join(needs(name)).encode())


def add_traffic(archive, traffic):
    """ibv_rc_pingpong with rxe's half in user space, and the configuration by which libibverbs finds it."""
    libraries = traffic / "usr" / "lib" / "x86_64-linux-gnu"
    add_program(archive, traffic / "usr" / "bin" / "ibv_rc_pingpong", "/bin/ibv_rc_pingpong", libraries)
    (provider,) = (libraries / "libibverbs").glob("librxe-rdmav*.so")
    add_program(archive, provider, f"/usr{LIBRARIES}/libibverbs/{provider.name}", libraries)
    archive.file("/etc/libibverbs.d/rxe.driver", b"driver rxe\n", 0o644)


def build(to, kernel, module, traffic, exporter, checks, tests):
    archive = Archive()
    for directory in ["/proc", "/sys", "/dev", "/tmp", "/run", "/etc", "/root"]:
        archive.directory(directory)
    archive.device("/dev/console", 5, 1)
    archive.file("/bin/busybox", which("busybox").read_bytes())
    archive.link("/bin/sh", "busybox")
    archive.file("/init", (tests / "vm" / "init").read_bytes())
    for tool in TOOLS:
        add_program(archive, which(tool), f"/bin/{tool}")
    add_traffic(archive, traffic)
    add_modules(archive, kernel, module)
    scratch = to.parent / "stripped"
    scratch.mkdir(exist_ok=True)
    add_program(archive, stripped(exporter, scratch), "/bin/roce_exporter")
    add_program(archive, stripped(checks, scratch), "/bin/checks")
    for fixture in sorted((tests / "fixtures").glob("*/ethtool-S.txt")):
        for name in ["driver", "ethtool-S.txt", "expected.prom"]:
            data = fixture.with_name(name).read_bytes()
            archive.file(f"/fixtures/{fixture.parent.name}/{name}", data, 0o644)
    archive.write(to)
