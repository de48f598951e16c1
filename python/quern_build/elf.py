"""What ELF files ask of the system: libraries, and versions of their symbols. From it follows the platform tag."""

import os
import re
import subprocess

# Libraries that every system of a manylinux tag has (PEP 600), as far as Quern asks for them.
SYSTEM = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "ld-linux-x86-64.so.2"}
SYSTEM |= {"libgcc_s.so.1", "libstdc++.so.6"}
# The newest symbols of libstdc++ that systems with a glibc have at least: (glibc, GLIBCXX).
LIBSTDCXX = [((2, 17), (3, 4, 19)), ((2, 28), (3, 4, 24)), ((2, 31), (3, 4, 28)), ((2, 34), (3, 4, 29))]
LIBSTDCXX += [((2, 35), (3, 4, 30)), ((2, 39), (3, 4, 33))]


def readelf(*arguments):
    environment = {**os.environ, "LC_ALL": "C"}
    return subprocess.run(["readelf", *map(str, arguments)], env=environment, capture_output=True, text=True, check=True).stdout


def needed(file):
    """Names of the libraries that a file is linked with."""
    return re.findall(r"\(NEEDED\).*\[(.*)\]", readelf("-d", file))


def newest(file, name):
    """The newest symbol version that a file asks for: newest(file, "GLIBC") is (2, 34)."""
    found = re.findall(rf"Name: {name}_([0-9.]+)", readelf("-V", "-W", file))
    return max((tuple(int(n) for n in v.split(".")) for v in found), default=(0,))


def glibc_for(file):
    """The oldest glibc of a system on which the file runs."""
    libstdcxx = newest(file, "GLIBCXX")
    for glibc, has in LIBSTDCXX:
        if libstdcxx <= has:
            return max(newest(file, "GLIBC"), glibc)
    raise RuntimeError(f"{file} asks for GLIBCXX {libstdcxx}: newer than any that is known here")


def where(library, file):
    """The file of a library that the loader of this machine finds for another file."""
    found = subprocess.run(["ldd", str(file)], capture_output=True, text=True, check=True).stdout
    match = re.search(rf"^\s*{re.escape(library)} => (/\S+)", found, re.MULTILINE)
    if not match:
        raise RuntimeError(f"{file} needs {library}, which is not on this machine")
    return match[1]
