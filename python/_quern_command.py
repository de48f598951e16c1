"""The console command quern: this process becomes the binary. A module of its own, for `import quern` takes longer than
most commands do."""

import os
import sys
from typing import NoReturn

BINARY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "quern", "_native", "bin", "quern")


def main() -> NoReturn:
    os.execv(BINARY, ["quern", *sys.argv[1:]])
