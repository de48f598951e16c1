"""The Python blocks of the guide and of the READMEs run as they are printed."""

import importlib.util
import re
import unittest
from pathlib import Path

from support import Scratch, child

ROOT = Path(__file__).resolve().parents[2]
PAGES = ["README.md", "docs/python.md", "python/README.md"]
ENCODERS = {"MiniLM": "bert-mean", "reranker": "bert-rerank"}  # what stands in for them


def blocks(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    return [b for b in re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL) if "import quern" in b or "from quern" in b]


def missing(block):
    """Libraries that a block imports and that are not installed here."""
    names = re.findall(r"^import (\w+)", block, re.MULTILINE)
    return [n for n in names if importlib.util.find_spec(n) is None]


class Guide(Scratch):
    def test_every_block_runs(self):
        for name, stands_in in ENCODERS.items():
            (self.folder / name).symlink_to(ROOT / "quern/encoders/testdata" / stands_in)
        count = 0
        for page in PAGES:
            for block in blocks(page):
                with self.subTest(page=page, block=block[:60]):
                    if missing(block):
                        continue
                    said, status = child(f"import os; os.chdir({str(self.folder)!r})\n" + block)
                    if "does not permit isolation" in said:
                        continue
                    self.assertEqual(status, 0, said)
                    for line in re.findall(r"print\(.*\)\s+# (Answer: \d+)$", block, re.MULTILINE):
                        self.assertIn(line, said)
                    count += 1
        self.assertGreater(count, 8)
