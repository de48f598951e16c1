"""Small Parquet files by pyarrow, each with the rows it holds as JSON lines, and the way back.

    python tools/oracles/corpus/parquet_files.py quern/corpus/io/testdata/parquet     writes NAME.parquet and NAME.jsonl
    python tools/oracles/corpus/parquet_files.py check FILE.parquet LINES.jsonl    pyarrow reads what quern wrote:
                                                                                   texts are those of the lines
"""

import json
import pathlib
import random
import sys

import pyarrow as pa
import pyarrow.parquet as pq


def rows(n, seed):
    r = random.Random(seed)
    words = "mill stone grain river \"wheel\" naïve 水車 line\nbreak tab\t back\\slash".split(" ")
    out = []
    for i in range(n):
        text = " ".join(r.choice(words) for _ in range(r.randrange(0, 30)))
        out.append({
            "text": None if r.random() < 0.05 else text,
            "id": f"doc-{i}",
            "n": r.randrange(-(2**31), 2**31),
            "big": None if r.random() < 0.3 else r.randrange(-(2**63), 2**63),
            "u": r.randrange(0, 2**64),
            "score": r.choice([0.5, -1.25, 1e-7, 3.0, 1e300]),
            "half": r.choice([0.5, 0.25, -8.0]),
            "flag": r.random() < 0.5,
            "lang": r.choice(["en", "de", "fr"]),
            "tags": ["a", "b"][: r.randrange(3)],
            "meta": {"x": i, "y": [{"z": "q"}]},
        })
    return out


SCHEMA = pa.schema([
    ("text", pa.string()), ("tags", pa.list_(pa.string())), ("id", pa.string()), pa.field("n", pa.int32(), nullable=False), ("big", pa.int64()),
    ("u", pa.uint64()), ("meta", pa.struct([("x", pa.int64()), ("y", pa.list_(pa.struct([("z", pa.string())])))])), ("score", pa.float64()),
    ("half", pa.float32()), ("flag", pa.bool_()), ("lang", pa.string()),
])
FLAT = [f.name for f in SCHEMA if f.name not in ("tags", "meta")]

KINDS = {
    "plain": dict(compression="none", use_dictionary=False),
    "snappy": dict(compression="snappy"),
    "gzip": dict(compression="gzip", data_page_size=500),
    "zstd": dict(compression="zstd", data_page_size=400, row_group_size=37),
    "v2": dict(compression="snappy", data_page_version="2.0", data_page_size=300),
    "v2plain": dict(compression="none", data_page_version="2.0", use_dictionary=False),
    "empty": dict(compression="snappy"),
    "lz4": dict(compression="lz4", data_page_size=500),
    "deltas": dict(compression="none", use_dictionary=False, data_page_size=900),
    "deltas2": dict(compression="lz4", use_dictionary=False, data_page_version="2.0"),
}
DELTAS = {"text": "DELTA_BYTE_ARRAY", "id": "DELTA_BYTE_ARRAY", "lang": "DELTA_LENGTH_BYTE_ARRAY", "n": "DELTA_BINARY_PACKED",
          "big": "DELTA_BINARY_PACKED", "u": "DELTA_BINARY_PACKED", "score": "BYTE_STREAM_SPLIT", "half": "BYTE_STREAM_SPLIT",
          "flag": "RLE"}
for name in ("deltas", "deltas2"):
    KINDS[name]["column_encoding"] = DELTAS


def main():
    if sys.argv[1] == "check":
        table = pq.read_table(sys.argv[2])
        lines = [json.loads(l) for l in open(sys.argv[3], encoding="utf-8", newline="\n")]
        got = table.column("text").to_pylist()
        want = [l["text"] for l in lines]
        assert got == want, "texts differ"
        members = [json.loads(m) for m in table.column("members").to_pylist()]
        assert members == [dict(l, text=None) for l in lines], "members differ"
        print(f"{len(got)} rows, {pq.ParquetFile(sys.argv[2]).num_row_groups} groups, equal")
        return
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for i, (name, how) in enumerate(KINDS.items()):
        data = rows(0 if name == "empty" else 120, i)
        pq.write_table(pa.Table.from_pylist(data, schema=SCHEMA), folder / f"{name}.parquet", **how)
        with open(folder / f"{name}.jsonl", "w", encoding="utf-8") as f:
            for row in data:
                f.write(json.dumps({k: row[k] for k in FLAT}, ensure_ascii=False) + "\n")
    r = random.Random(99)
    text = [r.choice(["the same line"] * 3 + [None]) for _ in range(1200)]
    pq.write_table(pa.table({"text": pa.array(text, pa.string())}), folder / "runs.parquet", compression="zstd")
    with open(folder / "runs.jsonl", "w", encoding="utf-8") as f:
        for t in text:
            f.write(json.dumps({"text": t}) + "\n")
    pq.write_table(pa.table({"text": ["a", "b"] * 50}), folder / "brotli.parquet", compression="brotli")


main()
