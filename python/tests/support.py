"""What the tests share: the shipped model, loaded once, and folders that end with a test."""

import functools
import os
import sys
import tempfile
import unittest
from pathlib import Path

import quern

MODEL = "zaya-nano"
QUESTION = "What is 9 * 44?"


@functools.lru_cache(maxsize=None)
def model():
    return quern.Model(MODEL)


class Scratch(unittest.TestCase):
    """Tests that write files: `self.folder` is empty at first."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path


def child(code, **environment):
    """Another Python process: its output, and its status."""
    import subprocess

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env={**os.environ, **environment}
    )
    return done.stdout + done.stderr, done.returncode
