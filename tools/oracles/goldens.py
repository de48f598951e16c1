"""Makes every golden again and compares it with the committed one: ./run goldens [WORD]

The commands of goldens.txt (those with WORD in them) run in a copy of the last commit under build/goldens, with the
packages of requirements.txt. One line per command: `same` (every byte), `close` (numbers within 1e-5 of the largest one
of their array: other processors add in other orders), or `differs` with the files. Exit status 1 when one differs or a
command fails. Nothing in the checkout changes; to accept what differs, copy it from build/goldens/tree.
"""
import json
import math
import pathlib
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLACE = ROOT / "build" / "goldens"
TREE, VENV = PLACE / "tree", PLACE / "venv"
TOLERANCE = 1e-5


def arrays(path):
    """Name to array, of a file that holds numbers; None for others."""
    import numpy as np

    if path.suffix == ".npy":
        return {"": np.load(path)}
    if path.suffix == ".safetensors":
        from safetensors.numpy import load_file

        return load_file(path)
    if "torch" in path.parts:  # the form before PyTorch 1.6 holds addresses of memory
        import torch

        state = torch.load(path, weights_only=True)
        return {name: t.detach().double().numpy() for name, t in state.items()}
    return None


def close_arrays(a, b):
    import numpy as np

    if a.keys() != b.keys():
        return False
    for name in a:
        x, y = a[name], b[name]
        if x.shape != y.shape or x.dtype != y.dtype:
            return False
        if x.dtype.kind != "f":
            if not np.array_equal(x, y):
                return False
        elif x.size and not np.allclose(x, y, rtol=0, atol=TOLERANCE * max(1e-30, np.abs(x).max()), equal_nan=True):
            return False
    return True


def close_values(a, b):
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(close_values(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(close_values, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=1e-12)
    return type(a) == type(b) and a == b


def verdict(ours, theirs):
    if not theirs.exists():
        return "differs"
    if ours.read_bytes() == theirs.read_bytes():
        return "same"
    try:
        a = arrays(ours)
        if a is not None:
            return "close" if close_arrays(a, arrays(theirs)) else "differs"
        if ours.suffix == ".json":
            return "close" if close_values(json.loads(ours.read_text()), json.loads(theirs.read_text())) else "differs"
    except (OSError, ValueError) as e:
        print(f"  {ours.name}: {e}")
    return "differs"


def make_tree():
    shutil.rmtree(TREE, ignore_errors=True)
    TREE.mkdir(parents=True)
    archive = subprocess.run(["git", "-C", ROOT, "archive", "HEAD"], check=True, stdout=subprocess.PIPE).stdout
    subprocess.run(["tar", "-x", "-C", TREE], input=archive, check=True)
    # A repository of its own says which files a command wrote.
    git("init", "-q")
    git("add", "-A", "-f")


def git(*words):
    return subprocess.run(["git", "-C", TREE, *words], check=True, stdout=subprocess.PIPE, text=True).stdout


def made():
    """Files that differ from the commit, and new ones."""
    return (git("-c", "core.quotepath=off", "diff", "--name-only") + git("ls-files", "--others")).split("\n")[:-1]


def written_since(begin):
    return any(f.stat().st_mtime >= begin for f in TREE.rglob("*") if f.is_file() and ".git" not in f.parts)


def main(word):
    commands = [c for c in (ROOT / "tools/oracles/goldens.txt").read_text().splitlines() if c and c[0] != "#" and word in c]
    if not commands:
        sys.exit(f"no command in tools/oracles/goldens.txt has '{word}' in it")
    make_tree()
    seen, bad = set(), 0
    for command in commands:
        begin = time.time()
        done = subprocess.run(command.replace("python ", f"{VENV}/bin/python -B ", 1), shell=True, cwd=TREE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        files = [f for f in made() if f not in seen]
        seen.update(files)
        verdicts = {f: verdict(ROOT / f, TREE / f) if (ROOT / f).exists() else "new" for f in files}
        wrong = [f"{f} ({v})" for f, v in verdicts.items() if v not in ("same", "close")]
        if done.returncode == 0 and not written_since(begin - 1):
            done.returncode, done.stderr = 1, "it wrote no file"
        word_of = "failed" if done.returncode else "differs" if wrong else "close" if verdicts else "same"
        bad += word_of in ("failed", "differs")
        print(f"{word_of:8}{time.time() - begin:6.1f} s  {command.removeprefix('python tools/oracles/')}", flush=True)
        for line in wrong[:8] + (done.stderr.strip().splitlines()[-3:] if done.returncode else []):
            print(f"          {line}")
    print(f"{len(commands) - bad} of {len(commands)} commands make the committed goldens")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
