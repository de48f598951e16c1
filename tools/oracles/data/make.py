"""A token shard by the published layout of Megatron's indexed format, written with struct alone.

    python tools/oracles/data/make.py       # writes tests/goldens/data/ and a fuzz seed

Three sequences in two documents, stored in another order than they are indexed in, with sequence modes behind.
"""
import pathlib
import struct

ROOT = pathlib.Path(__file__).resolve().parents[3]
OUT, SEEDS = ROOT / "tests" / "goldens" / "data", ROOT / "tests" / "fuzz" / "seeds" / "indexed"

first, second, third = [10, 11, 12], [20, 21], [30, 31, 32, 65535]
data = struct.pack("<9H", *third, *first, *second)
index = b"MMIDIDX\x00\x00" + struct.pack("<QBQQ", 1, 8, 3, 3)
index += struct.pack("<3i", 3, 2, 4) + struct.pack("<3q", 8, 14, 0) + struct.pack("<3q", 0, 2, 3) + bytes([0, 1, 0])

OUT.mkdir(parents=True, exist_ok=True)
SEEDS.mkdir(parents=True, exist_ok=True)
(OUT / "foreign.bin").write_bytes(data)
(OUT / "foreign.idx").write_bytes(index)
(SEEDS / "foreign").write_bytes(index)
