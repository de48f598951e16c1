"""Build backend of the Python package (PEP 517): a wheel with libquern.so, the command and the shipped model, and an sdist.

    python3 -c 'import sys; sys.path.insert(0, "python"); import quern_build; quern_build.build_wheel("build/python")'

What is in the wheel beside Python: libquern.so with the code of most third-party libraries in it (cmake/wheel.cmake),
and as files of their own those that the system has no archive of. The tag is the oldest manylinux that the symbol
versions of these files permit. It says on standard error what it does and why.
"""

import os
from pathlib import Path

from . import archive, metadata, native

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ["apps", "cmake", "include", "models", "papers", "python", "quern", "recipes", "web"]
FILES = ["CHANGELOG.md", "CMakeLists.txt", "CMakePresets.json", "LICENSE", "NOTICE", "README.md", "docs/python.md", "pyproject.toml"]


def get_requires_for_build_wheel(config_settings=None):
    return []


def get_requires_for_build_sdist(config_settings=None):
    return []


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    package = native.build(ROOT)
    info = metadata.dist_info(ROOT, package.tag)
    for name, file in package.licenses:
        info[f"licenses/{name}"] = file.read_bytes()
    files = {f"quern/{p.relative_to(source)}": p for source in [ROOT / "python/quern"] for p in python_files(source)}
    files["_quern_command.py"] = ROOT / "python/_quern_command.py"
    files.update({f"quern/_native/{p.relative_to(package.folder)}": p for p in archive.files_below(package.folder)})
    return archive.write_wheel(Path(wheel_directory), metadata.wheel_name(ROOT, package.tag), files, info)


def build_sdist(sdist_directory, config_settings=None):
    files = [ROOT / name for name in FILES]
    for folder in FOLDERS:
        files += [p for p in archive.files_below(ROOT / folder) if in_sdist(p)]
    name = f"quern-{metadata.version(ROOT)}"
    return archive.write_sdist(Path(sdist_directory), name, ROOT, files, metadata.metadata(ROOT))


def python_files(folder):
    return [p for p in archive.files_below(folder) if p.suffix == ".py" or p.name == "py.typed"]


def in_sdist(path):
    # Tests of C++ are not built from it; their data is larger than the rest.
    parts = path.relative_to(ROOT).parts
    hidden = any(part.startswith(".") for part in parts)  # caches of type checkers
    return not hidden and not {"_native", "__pycache__", "testdata"} & set(parts)
