"""Debian's packages, fetched by apt, checked by its signatures, and unpacked into the cache without installing them.

The kernel and the headers that the module is built with are of one version. What an earlier run left is used again; a
newer version takes its place.
"""

import re
import shutil
import subprocess
import zlib
from pathlib import Path

# Of the image only these: all of its modules would be 400 MB.
MODULES = [
    "8021q", "bonding", "crc32_generic", "crc32c_generic", "e1000e", "garp", "ib_core", "ib_uverbs",
    "ip6_udp_tunnel", "llc", "mrp", "rdma_rxe", "stp", "tls", "udp_tunnel", "veth",
]
# The tool that makes RDMA traffic, and the user's half of rdma_rxe.
TRAFFIC = ["ibverbs-utils", "ibverbs-providers", "libibverbs1", "libnl-3-200", "libnl-route-3-200"]


class Unavailable(Exception):
    """What cannot be had on this machine."""


def output(*command):
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        raise Unavailable(f"{' '.join(command)}: {ran.stderr.strip()}")
    return ran.stdout


def fields(package):
    """What apt knows of the version that it would install."""
    text = output("apt-cache", "show", "--no-all-versions", package)
    return dict(line.split(": ", 1) for line in text.splitlines() if re.match(r"^[A-Z][\w-]*: ", line))


def download(names, directory):
    directory.mkdir(parents=True, exist_ok=True)
    command = ["apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", *names]
    ran = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        raise Unavailable(f"apt-get download {' '.join(names)}: {ran.stderr.strip()}")
    return sorted(directory.glob("*.deb"))


def unpack(deb, into, only=None):
    """Unpacks a package, or those of its files that `only` names by a pattern of tar."""
    into.mkdir(parents=True, exist_ok=True)
    tar = ["tar", "-x", "-C", str(into)] + (["--wildcards", *only] if only else [])
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(deb)], stdout=subprocess.PIPE) as archive:
        ran = subprocess.run(tar, stdin=archive.stdout, capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        raise Unavailable(f"{deb.name}: {ran.stderr.strip()}")


class Kernel:
    """A kernel image with its modules and the headers of the same build."""

    def __init__(self, directory, abi):
        self.directory = directory
        self.abi = abi
        self.image = directory / "image" / "boot" / f"vmlinuz-{abi}"
        self.modules = directory / "image"
        self.headers = directory / "headers" / "usr" / "src" / f"linux-headers-{abi}"


def kernel(cache):
    """The newest kernel that apt has, from the cache if it is there."""
    # linux-image-6.1.0-57-amd64 (= 6.1.192-3)
    match = re.match(r"linux-image-(\S+) \(= (\S+)\)", fields("linux-image-amd64").get("Depends", ""))
    if match is None:
        raise Unavailable("linux-image-amd64 names no kernel")
    abi, version = match.groups()
    kernels = cache / "kernels"
    chosen = zlib.crc32(" ".join(MODULES).encode())
    found = Kernel(kernels / f"{abi}_{version}_{chosen:08x}", abi)
    if (found.directory / "complete").exists():
        return found
    shutil.rmtree(kernels, ignore_errors=True)
    common = abi.removesuffix("-amd64") + "-common"
    kbuild = "linux-kbuild-" + ".".join(abi.split(".")[:2])
    names = [f"linux-image-{abi}", f"linux-headers-{abi}", f"linux-headers-{common}", kbuild]
    debs = download([f"{name}={version}" for name in names], found.directory / "debs")
    if len(debs) != len(names):
        raise Unavailable(f"asked for {names}, got {debs}")
    for deb in debs:
        if deb.name.startswith("linux-image"):
            wanted = [f"./lib/modules/*/{name}.ko*" for name in MODULES]
            unpack(deb, found.directory / "image", ["./boot/vmlinuz-*", *wanted])
        else:
            unpack(deb, found.directory / "headers")
    # They name each other by where they would be installed.
    makefile = found.headers / "Makefile"
    sources = f"{found.directory}/headers/usr/src"
    makefile.write_text(makefile.read_text().replace("/usr/src", sources))
    shutil.rmtree(found.directory / "debs")
    (found.directory / "complete").touch()
    return found


def traffic(cache):
    """The directory with the RDMA tools, as they would be installed."""
    versions = [fields(name)["Version"] for name in TRAFFIC]
    directory = cache / "traffic" / "_".join(versions).replace(":", ".")
    if not (directory / "complete").exists():
        shutil.rmtree(cache / "traffic", ignore_errors=True)
        names = [f"{name}={version}" for name, version in zip(TRAFFIC, versions, strict=True)]
        for deb in download(names, directory / "debs"):
            unpack(deb, directory)
        shutil.rmtree(directory / "debs")
        (directory / "complete").touch()
    return directory


def in_cache(cache):
    """Where this machine keeps what it fetched and built for the test VM."""
    directory = Path(cache).absolute()
    directory.mkdir(parents=True, exist_ok=True)
    return directory
