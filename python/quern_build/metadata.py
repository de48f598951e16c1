"""Name, version and description of the package, and the files of .dist-info."""

import re

SUMMARY = "Train, run and serve small language models on CPUs"
CLASSIFIERS = [
    "Development Status :: 3 - Alpha",
    "Intended Audience :: Developers",
    "Intended Audience :: Science/Research",
    "License :: OSI Approved :: Apache Software License",
    "Operating System :: POSIX :: Linux",
    "Programming Language :: C++",
    "Programming Language :: Python :: 3",
    "Topic :: Scientific/Engineering :: Artificial Intelligence",
    "Typing :: Typed",
]


def version(root):
    """As CMakeLists.txt declares it."""
    return re.search(r"project\(quern VERSION ([0-9.]+)", (root / "CMakeLists.txt").read_text())[1]


def wheel_name(root, tag):
    return f"quern-{version(root)}-{tag}.whl"


def metadata(root):
    lines = ["Metadata-Version: 2.1", "Name: quern", f"Version: {version(root)}", f"Summary: {SUMMARY}"]
    lines += ["License: Apache-2.0", "Requires-Python: >=3.9", "Provides-Extra: numpy"]
    lines += ['Requires-Dist: numpy; extra == "numpy"', "Description-Content-Type: text/markdown"]
    lines += [f"Classifier: {c}" for c in CLASSIFIERS]
    guide = (root / "python/README.md").read_text(encoding="utf-8")
    return "\n".join(lines) + "\n\n" + guide


def dist_info(root, tag):
    """Files of .dist-info by name, as bytes; RECORD is written with the wheel."""
    about = f"Wheel-Version: 1.0\nGenerator: quern_build {version(root)}\nRoot-Is-Purelib: false\nTag: {tag}\n"
    info = {
        "METADATA": metadata(root),
        "WHEEL": about,
        "entry_points.txt": "[console_scripts]\nquern = _quern_command:main\n",
        "top_level.txt": "_quern_command\nquern\n",
    }
    named = {name: text.encode() for name, text in info.items()}
    for name in ("LICENSE", "NOTICE"):
        named[f"licenses/{name}"] = (root / name).read_bytes()
    return named
