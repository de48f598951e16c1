"""Writes wheels and sdists. The same files give the same bytes: times are those of SOURCE_DATE_EPOCH, or the commit's."""

import base64
import gzip
import hashlib
import io
import os
import subprocess
import tarfile
import time
import zipfile


def files_below(folder):
    return sorted(p for p in folder.rglob("*") if p.is_file())


def epoch(root):
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given:
        return int(given)
    asked = ["git", "-C", str(root), "log", "-1", "--format=%ct"]
    said = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip() if has_git() else ""
    return int(said) if said else int((root / "CHANGELOG.md").stat().st_mtime)


def has_git():
    return any(os.access(os.path.join(p, "git"), os.X_OK) for p in os.environ.get("PATH", "").split(os.pathsep))


def write_wheel(folder, name, files, info):
    """files: path in the archive -> file; info: name in .dist-info -> bytes. Returns the wheel's name."""
    dist_info = "-".join(name.split("-")[:2]) + ".dist-info"
    root = next(p for p in next(iter(files.values())).parents if (p / "CHANGELOG.md").exists())
    when = time.gmtime(max(epoch(root), 315532800))[:6]  # a zip begins in 1980
    record = []
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED) as out:

        def add(path, data, executable=False):
            entry = zipfile.ZipInfo(path, when)
            entry.external_attr = (0o100755 if executable else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            out.writestr(entry, data, compresslevel=9)  # an entry does not take the level of the archive
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{path},sha256={digest},{len(data)}")

        for path, file in sorted(files.items()):
            add(path, file.read_bytes(), os.access(file, os.X_OK) and "/bin/" in path)
        for path, data in sorted(info.items()):
            add(f"{dist_info}/{path}", data)
        listed = "\n".join([*record, f"{dist_info}/RECORD,,", ""])
        add(f"{dist_info}/RECORD", listed.encode())
    return name


def write_sdist(folder, name, root, files, metadata):
    """Returns the archive's name."""
    folder.mkdir(parents=True, exist_ok=True)
    when = epoch(root)
    with open(folder / f"{name}.tar.gz", "wb") as raw:
        with gzip.GzipFile("", "wb", 9, raw, mtime=when) as packed:
            with tarfile.open(None, "w", packed, format=tarfile.PAX_FORMAT) as out:

                def add(path, data, executable):
                    entry = tarfile.TarInfo(f"{name}/{path}")
                    entry.size, entry.mtime, entry.mode = len(data), when, 0o755 if executable else 0o644
                    out.addfile(entry, io.BytesIO(data))

                add("PKG-INFO", metadata.encode(), False)
                for file in sorted(files):
                    add(str(file.relative_to(root)), file.read_bytes(), os.access(file, os.X_OK))
    return f"{name}.tar.gz"
