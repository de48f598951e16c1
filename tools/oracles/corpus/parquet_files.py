"""Small Parquet files by pyarrow, each with the rows it holds as JSON lines, and the way back.

    python tools/oracles/corpus/parquet_files.py quern/corpus/io/testdata/parquet     writes NAME.parquet and NAME.jsonl
    python tools/oracles/corpus/parquet_files.py check FILE.parquet LINES.jsonl    pyarrow reads what quern wrote:
                                                                                   texts are those of the lines
"""

import base64
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

# Nulls and empty lists at every level.
NESTED = pa.schema([
    ("text", pa.string()), ("lists", pa.list_(pa.list_(pa.int32()))), ("tree", pa.struct([
        ("name", pa.string()), ("kids", pa.list_(pa.struct([("n", pa.int64()), ("tags", pa.list_(pa.string()))])))])),
    ("scores", pa.map_(pa.string(), pa.float64())), ("by_number", pa.map_(pa.int32(), pa.list_(pa.bool_()))),
    pa.field("must", pa.list_(pa.field("element", pa.int32(), nullable=False)), nullable=False),
])


def nested_rows(n, seed):
    r = random.Random(seed)

    def maybe(make, nothing=0.25):
        return None if r.random() < nothing else make()

    def some(make, most=4):
        return [make() for _ in range(r.randrange(most))]

    def kid():
        return {"n": maybe(lambda: r.randrange(100)), "tags": maybe(lambda: some(lambda: maybe(lambda: r.choice("abc"))))}

    def tree():
        return {"name": maybe(lambda: r.choice(["mill", "naïve", "水車"])), "kids": maybe(lambda: some(lambda: maybe(kid)))}

    return [{
        "text": f"row {i}",
        "lists": maybe(lambda: some(lambda: maybe(lambda: some(lambda: maybe(lambda: r.randrange(-9, 9)))))),
        "tree": maybe(tree),
        "scores": maybe(lambda: {k: maybe(lambda: r.choice([0.5, -2.0])) for k in r.sample("xyz", r.randrange(4))}),
        "by_number": maybe(lambda: {k: maybe(lambda: some(lambda: r.random() < 0.5)) for k in r.sample(range(9), r.randrange(3))}),
        "must": some(lambda: r.randrange(9)),
    } for i in range(n)]


# Every kind of date and time, as pyarrow casts them to text.
TIMES = [("day", pa.date32())] + [
    (f"{kind}_{unit}{'_utc' if zone else ''}", pa.timestamp(unit, tz=zone) if kind == "at" else make(unit))
    for kind, make in (("at", None), ("clock", lambda u: pa.time32(u) if u == "ms" else pa.time64(u)))
    for unit in ("ms", "us", "ns") for zone in ((None, "UTC") if kind == "at" else (None,))]


def write_times(folder):
    r = random.Random(31)
    columns, texts = {}, {}
    for name, kind in TIMES:
        a_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[getattr(kind, "unit", "s")]
        if name == "day":
            values = [0, -1, 19782, -25509, 59, 11016] + [r.randrange(-700000, 2900000) for _ in range(54)]
        elif name.startswith("clock"):
            values = [r.randrange(86400 * a_second) for _ in range(60)]
        else:
            values = [0, -1, 1709251199 * a_second] + [r.randrange(-9 * 10**9, 9 * 10**9) * a_second + r.randrange(a_second) for _ in range(57)]
        values = [None if r.random() < 0.1 else v for v in values]
        number = pa.int32() if getattr(kind, "bit_width", 64) == 32 else pa.int64()
        columns[name] = pa.array(values, number).cast(kind)
        shown = columns[name].cast(pa.timestamp(kind.unit)) if name.endswith("_utc") else columns[name]
        texts[name] = [t and t.replace(" ", "T") + ("Z" if name.endswith("_utc") else "") for t in shown.cast(pa.string()).to_pylist()]
    columns["text"] = texts["text"] = [f"row {i}" for i in range(60)]
    table = pa.table(columns)
    pq.write_table(table, folder / "times.parquet", version="2.6", compression="snappy")
    with open(folder / "times.jsonl", "w", encoding="utf-8") as f:
        for i in range(60):
            f.write(json.dumps({k: texts[k][i] for k in table.column_names}, ensure_ascii=False) + "\n")


# Columns of bytes, alone and as a picture has them: those that are UTF-8 are read as text.
def write_bytes(folder):
    values = [b"abc", b"\xff\x00", b"", None, b"\x80", "水車".encode(), bytes(range(256))]
    rows = [{"text": f"row {i}", "md5": v, "image": {"bytes": v, "path": f"{i}.png"}} for i, v in enumerate(values)]
    kind = pa.schema([("text", pa.string()), ("md5", pa.binary()), ("image", pa.struct([("bytes", pa.binary()), ("path", pa.string())]))])
    pq.write_table(pa.Table.from_pylist(rows, schema=kind), folder / "bytes.parquet")

    def read(v):
        try:
            return v and v.decode() or (v if v is None else "")
        except UnicodeDecodeError:
            return {"base64": base64.b64encode(v).decode()}

    with open(folder / "bytes.jsonl", "w", encoding="utf-8") as f:
        for row in rows:
            row = {"text": row["text"], "md5": read(row["md5"]), "image": {"bytes": read(row["md5"]), "path": row["image"]["path"]}}
            f.write(json.dumps(row, ensure_ascii=False) + "\n")


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
        assert members == [{k: v for k, v in l.items() if k != "text"} for l in lines], "members differ"
        for name in ("id", "url", "date", "language", "language_score"):
            want = [l.get(name) for l in lines]
            assert table.column(name).to_pylist() == want or name == "id" and None in want, f"{name} differs"
        print(f"{len(got)} rows, {pq.ParquetFile(sys.argv[2]).num_row_groups} groups, equal")
        return
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for i, (name, how) in enumerate(KINDS.items()):
        data = rows(0 if name == "empty" else 120, i)
        pq.write_table(pa.Table.from_pylist(data, schema=SCHEMA), folder / f"{name}.parquet", **how)
        with open(folder / f"{name}.jsonl", "w", encoding="utf-8") as f:
            for row in data:
                f.write(json.dumps({k: row[k] for k in SCHEMA.names}, ensure_ascii=False) + "\n")
    write_times(folder)
    for name, how in (("nested", dict(compression="snappy", data_page_size=200)),
                      ("nested2", dict(compression="zstd", data_page_version="2.0", row_group_size=31, use_dictionary=False))):
        data = nested_rows(150, len(name))
        pairs = [dict(row, **{k: list(row[k].items()) if row[k] is not None else None for k in ("scores", "by_number")}) for row in data]
        pq.write_table(pa.Table.from_pylist(pairs, schema=NESTED), folder / f"{name}.parquet", **how)
        with open(folder / f"{name}.jsonl", "w", encoding="utf-8") as f:
            for row in data:
                f.write(json.dumps(row, ensure_ascii=False) + "\n")
    r = random.Random(99)
    text = [r.choice(["the same line"] * 3 + [None]) for _ in range(1200)]
    pq.write_table(pa.table({"text": pa.array(text, pa.string())}), folder / "runs.parquet", compression="zstd")
    with open(folder / "runs.jsonl", "w", encoding="utf-8") as f:
        for t in text:
            f.write(json.dumps({"text": t}) + "\n")
    others = {"text": ["a"], "price": pa.array([None], pa.decimal128(9, 2)), "key": pa.array([b"0123"], pa.binary(4)),
              "in": pa.array([{"price": None}], pa.struct([("price", pa.decimal128(9, 2))]))}
    pq.write_table(pa.table(others), folder / "others.parquet", compression="none")
    pair = pa.list_(pa.struct([("a", pa.int32()), ("b", pa.int32())]))
    pairs = pa.array([[{"a": 1, "b": 10}, {"a": 2, "b": 20}], [{"a": 3, "b": 30}]], pair)
    pq.write_table(pa.table({"pairs": pairs}), folder / "pairs.parquet", compression="none", use_dictionary=False,
                   write_statistics=False, store_schema=False)
    pq.write_table(pa.table({"text": ["a", "b"] * 50}), folder / "brotli.parquet", compression="brotli")
    write_bytes(folder)
    pq.write_table(pa.table({"text": ["the mill", "the river"]}), folder / "sums.parquet", compression="none", use_dictionary=False,
                   write_page_checksum=True)


main()
