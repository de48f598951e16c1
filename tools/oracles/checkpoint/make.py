"""Writes tests/goldens/checkpoint: a checkpoint as docs/checkpoints.md describes it, by code that shares nothing with
Quern (numpy, and a CRC-32C from its polynomial). Also reads one:

  make.py                 writes the golden
  make.py read FOLDER     reads any step folder, checks every checksum, prints each tensor's sum of bytes
"""
import json, os, shutil, sys
import numpy as np

TABLE = []
for i in range(256):
    c = i
    for _ in range(8):
        c = (c >> 1) ^ 0x82F63B78 if c & 1 else c >> 1
    TABLE.append(c)


def crc32c(data):
    c = 0xFFFFFFFF
    for b in data:
        c = (c >> 8) ^ TABLE[(c ^ b) & 255]
    return c ^ 0xFFFFFFFF


SIZES = {"f32": 4, "f64": 8, "bf16": 2, "i64": 8, "i32": 4, "f16": 2, "i8": 1, "u8": 1}


def box_indices(shape, chunk):
    """Flat indices, in the tensor, of a chunk's elements in their order."""
    flat = np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape)
    box = flat[tuple(slice(o, o + n) for o, n in zip(chunk["offset"], chunk["shape"]))].reshape(-1)
    return box if chunk["kind"] == "box" else box[chunk["begin"] : chunk["end"]]


def read(folder):
    commit = json.load(open(os.path.join(folder, "COMMIT.json")))
    assert commit["format"] == "quern checkpoint" and commit["version"] == 1
    text = open(os.path.join(folder, commit["index"]["file"]), "rb").read()
    assert len(text) == commit["index"]["bytes"] and crc32c(text) == commit["index"]["crc32c"], "index"
    files = {}
    for f in commit["files"]:
        files[f["file"]] = open(os.path.join(folder, f["file"]), "rb").read()
        assert len(files[f["file"]]) == f["bytes"], f["file"]
    index = json.loads(text)
    out = {}
    for t in index["tensors"]:
        size = SIZES[t["dtype"]]
        whole = np.zeros((int(np.prod(t["shape"])), size), dtype=np.uint8)
        seen = np.zeros(len(whole), dtype=np.int64)
        for c in t["chunks"]:
            where = box_indices(t["shape"], c)
            data = files[c["file"]][c["file_offset"] : c["file_offset"] + size * len(where)]
            assert crc32c(data) == c["crc32c"], (t["name"], c)
            whole[where] = np.frombuffer(data, dtype=np.uint8).reshape(-1, size)
            seen[where] += 1
        assert (seen == 1).all(), t["name"]
        out[t["name"], t["role"]] = whole
    return out, index["state"]


def write(folder):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    data = [bytearray(), bytearray()]
    tensors = []

    def add(name, role, dtype, values, cuts):
        """cuts: (rank, chunk) pairs; values are counted in the tensor's own order."""
        chunks = []
        raw = np.ascontiguousarray(values).reshape(-1)
        for rank, chunk in cuts:
            data[rank] += bytes(-len(data[rank]) % 4096)
            content = raw[box_indices(values.shape, chunk)].tobytes()
            chunks.append({"file": f"rank_{rank}.bin", "file_offset": len(data[rank]), **chunk, "crc32c": crc32c(content)})
            data[rank] += content
        tensors.append({"name": name, "role": role, "dtype": dtype, "shape": list(values.shape), "chunks": chunks})

    w = (np.arange(24, dtype=np.float32) * 0.5 - 3).reshape(2, 3, 4)
    box = lambda o, s: {"kind": "box", "offset": o, "shape": s}
    flat = lambda o, s, b, e: {"kind": "flat", "offset": o, "shape": s, "begin": b, "end": e}
    add("experts", "master", "f32", w, [(0, flat([0, 0, 0], [2, 3, 4], 0, 9)), (1, flat([0, 0, 0], [2, 3, 4], 9, 24))])
    add("experts", "muon_m", "f32", -w, [(0, box([0, 0, 0], [2, 3, 2])), (1, flat([0, 0, 2], [2, 3, 2], 0, 7)),
                                         (0, flat([0, 0, 2], [2, 3, 2], 7, 12))])
    add("experts", "weight", "bf16", (w.view(np.uint32) >> 16).astype(np.uint16), [(0, box([0, 0, 0], [2, 3, 4]))])
    add("experts", "step", "i64", np.array([41], dtype=np.int64), [(1, box([0], [1]))])
    add("norm", "master", "f64", np.array([0.1, 0.2, 0.3]), [(0, flat([0], [3], 0, 1)), (1, flat([0], [3], 1, 3))])
    for rank, d in enumerate(data):
        open(os.path.join(folder, f"rank_{rank}.bin"), "wb").write(d)
    text = json.dumps({"tensors": tensors, "state": {"step": 41, "text": "prê"}}, ensure_ascii=False).encode()
    open(os.path.join(folder, "index.json"), "wb").write(text)
    commit = {"format": "quern checkpoint", "version": 1, "step": 41, "save": "0",
              "index": {"file": "index.json", "bytes": len(text), "crc32c": crc32c(text)},
              "files": [{"file": f"rank_{r}.bin", "bytes": len(d)} for r, d in enumerate(data)]}
    json.dump(commit, open(os.path.join(folder, "COMMIT.json"), "w"))


if __name__ == "__main__":
    if sys.argv[1:2] == ["read"]:
        tensors, state = read(sys.argv[2])
        for (name, role), raw in tensors.items():
            print(name, role, int(raw.astype(np.int64).sum()))
        print(json.dumps(state))
    else:
        root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../tests/goldens/checkpoint/step_41")
        write(root)
        print(*read(root)[0])
