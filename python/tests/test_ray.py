"""A corpus plan under Ray gives the bytes of a build. Runs where ray is installed; QUERN_COMMAND names another program than
the package's."""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

DRIVER = Path(__file__).resolve().parents[1] / "quern" / "ray_tasks.py"


def program():
    if "QUERN_COMMAND" in os.environ:
        return os.environ["QUERN_COMMAND"]
    from quern._command import COMMAND

    return COMMAND


def rows(folder):
    return {file.name: file.read_bytes() for file in Path(folder).glob("*.zst")}


def write_inputs(folder):
    for name in "ab":
        with open(f"{folder}/{name}.jsonl", "w", encoding="utf-8") as file:
            for n in range(40000):
                page = n * 7 % 30011 if name == "a" else n * 11 % 30011
                words = " ".join(f"w{(page * 31 + i * i) % 997}" for i in range(25))
                file.write(json.dumps({"text": words + ("." if n % 3 else "")}) + "\n")


@unittest.skipIf(importlib.util.find_spec("ray") is None, "not installed: ray")
class Ray(unittest.TestCase):
    def test_bytes_of_a_build(self):
        with tempfile.TemporaryDirectory() as folder:

            def quern(*words):
                return subprocess.run([program(), *words], cwd=folder, check=True, capture_output=True, text=True).stdout

            write_inputs(folder)
            with open(f"{folder}/r.toml", "w", encoding="utf-8") as file:
                for name in "ab":
                    file.write(f'[[source]]\nname = "{name}"\npaths = ["{name}.jsonl"]\n')
            quern("corpus", "build", "r.toml", "--out", "whole")
            quern("corpus", "plan", "r.toml", "--out", "shared", "--tasks", "2")
            # The file alone: it needs nothing of the package.
            words = [sys.executable, str(DRIVER), "shared.plan.json", "--command", program()]
            done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=600, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("16 tasks done, 16 of them now", done.stdout)
            self.assertEqual(rows(f"{folder}/shared"), rows(f"{folder}/whole"))
            again = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=600, check=False)
            self.assertIn("16 tasks done, 0 of them now", again.stdout, again.stderr)

    def test_bytes_of_a_filter(self):
        with tempfile.TemporaryDirectory() as folder:
            write_inputs(folder)
            stage = [program(), "corpus", "filter", "a.jsonl", "b.jsonl", "--filter", "fineweb", "--rejects", "--out"]
            subprocess.run([*stage, "whole"], cwd=folder, check=True, capture_output=True)
            subprocess.run([*stage, "shared", "--tasks", "2"], cwd=folder, check=True, capture_output=True)
            words = [sys.executable, str(DRIVER), "shared.plan.json", "--command", program()]
            done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=600, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("5 tasks done, 5 of them now", done.stdout)
            self.assertEqual(set(rows(f"{folder}/whole")), {"part-00000.jsonl.zst", "reject-00000.jsonl.zst"})
            self.assertEqual(rows(f"{folder}/shared"), rows(f"{folder}/whole"))


if __name__ == "__main__":
    unittest.main()
