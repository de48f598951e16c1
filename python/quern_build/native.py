"""Compiles the package's own part with the preset `wheel`, and lays it out as it lies in the package.

    bin/quern                      the command, a stub
    lib/libquern.so.0              all of Quern
    lib/…                          libraries of others that could not be linked in
    share/quern/models/zaya-nano   in 8 bits, half the size
    share/quern/{papers,recipes}   what the command finds by name
"""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from . import elf

# Packages whose code is in libquern.so: the archives of cmake/wheel.cmake and of pkg-config, and headers.
LINKED_IN = ["libbrotli-dev", "libfmt-dev", "liblz4-dev", "libpcre2-dev", "libsnappy-dev", "libsqlite3-dev"]
LINKED_IN += ["libstemmer-dev", "libutf8proc-dev", "libzstd-dev", "zlib1g-dev", "nlohmann-json3-dev"]
LINKED_IN += ["libtomlplusplus-dev", "libxxhash-dev", "libsimdjson-dev", "libstdc++6"]


@dataclass
class Package:
    folder: Path
    tag: str
    licenses: list  # (name, file)


def say(text):
    print(text, file=sys.stderr, flush=True)


def build(root):
    out = root / "build/wheel"
    compile_targets(root, out)
    folder = out / "package"
    shutil.rmtree(folder, ignore_errors=True)
    for sub in ("bin", "lib", "share/quern/models", "share/quern/recipes"):
        (folder / sub).mkdir(parents=True)
    strip(out / "python/native/quern", folder / "bin/quern")
    library = folder / "lib/libquern.so.0"
    strip((out / "quern/capi/libquern.so.0").resolve(), library)
    bundle(library)
    share(root, folder)
    return Package(folder, tag(folder), licenses())


def compile_targets(root, out):
    for tool in ("cmake", "ninja", "g++", "readelf", "strip"):
        if not shutil.which(tool):
            raise RuntimeError(f"{tool} is not installed; ./run setup installs what a build needs on Debian and Ubuntu")
    say("quern_build: compiling; without a compiler cache it takes minutes")
    jobs = os.environ.get("JOBS") or str(len(os.sched_getaffinity(0)))
    run = lambda *words: subprocess.run(words, cwd=root, stdout=sys.stderr, check=True)
    run("cmake", "--preset", "wheel", "--log-level=WARNING")
    run("cmake", "--build", "--preset", "wheel", "-j", jobs, "--target", "quern", "quern_shared")


def strip(source, target):
    subprocess.run(["strip", "--strip-unneeded", "-o", str(target), str(source)], check=True)
    target.chmod(0o755)


def bundle(library):
    """Copies the libraries that not every system has. They are found by the RPATH of libquern.so, which is the folder it
    lies in. What they need themselves might not be."""
    for name in elf.needed(library):
        if name in elf.SYSTEM:
            continue
        source = elf.where(name, library)
        further = [n for n in elf.needed(source) if n not in elf.SYSTEM]
        if further:
            raise RuntimeError(f"{source} needs {', '.join(further)}: install the package with its archive (.a)")
        say(f"quern_build: {name} comes along, for there is no archive of it here")
        strip(source, library.parent / name)


def share(root, folder):
    place = folder / "share/quern"
    for recipe in (root / "recipes").glob("*.toml"):
        shutil.copy(recipe, place / "recipes")
    # Without the images that studies learn from: those are verbs of a build with QUERN_LAB.
    shutil.copytree(root / "papers", place / "papers", ignore=shutil.ignore_patterns("digits"))
    for model in sorted((root / "models").iterdir()):
        if (model / "model.safetensors").exists():  # the other models are in the library
            words = [folder / "bin/quern", "quantize", model, place / "models" / model.name, "--quant", "q8", "--json"]
            subprocess.run([str(w) for w in words], stdout=subprocess.DEVNULL, check=True)
            say(f"quern_build: {model.name} comes along in 8 bits")


def tag(folder):
    files = [folder / "bin/quern", *(folder / "lib").iterdir()]
    for file in files:
        glibc = elf.glibc_for(file)
        say(f"quern_build: {file.name} ({file.stat().st_size / 1e6:.1f} MB) runs from glibc {glibc[0]}.{glibc[1]} on")
    major, minor = max(elf.glibc_for(file) for file in files)[:2]
    return f"py3-none-manylinux_{major}_{minor}_x86_64"


def licenses():
    """The texts that this system's packages state, as their licenses ask."""
    found = []
    for package in LINKED_IN:
        file = Path(f"/usr/share/doc/{package}/copyright")
        if file.exists():
            found.append((f"third-party/{package}", file))
        else:
            say(f"quern_build: {file} is missing: the wheel lacks the license of {package} and should not be published")
    return found
