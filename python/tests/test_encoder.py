"""Encoder, against what transformers and sentence-transformers say of the same folders (tools/oracles/encoders)."""

import json
import struct
import unittest
from pathlib import Path

import quern
from support import Scratch

DATA = Path(__file__).resolve().parents[2] / "quern/encoders/testdata"


def expected(name, what):
    """A tensor of the goldens, as rows."""
    data = (DATA / name / "expected.safetensors").read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    entry = json.loads(data[8 : 8 + size])[what]
    assert entry["dtype"] == "F32"
    begin, end = entry["data_offsets"]
    rows, width = entry["shape"]
    flat = struct.unpack(f"<{rows * width}f", data[8 + size + begin : 8 + size + end])
    return [flat[i * width : (i + 1) * width] for i in range(rows)]


GOLDEN = json.loads((DATA / "texts.json").read_text(encoding="utf-8")) if DATA.exists() else {}


@unittest.skipUnless(GOLDEN, "the goldens are in the sources only")
class Encodes(Scratch):
    def assert_close(self, got, want, what):
        got = memoryview(got).tolist()
        self.assertEqual(len(got), len(want), what)
        top = max(abs(w) for row in want for w in row)
        worst = max(abs(g - w) for a, b in zip(got, want) for g, w in zip(a, b))
        self.assertLess(worst, 1e-4 * top, what)

    def test_embeddings(self):
        for name in ("bert-mean", "bert-cased-max", "deberta-v2", "modernbert-cls"):
            with quern.Encoder(DATA / name) as encoder:
                want = expected(name, "embeddings")
                self.assertEqual(encoder.width, len(want[0]))
                self.assert_close(encoder.embed(GOLDEN["texts"]), want, name)
                self.assertGreater(encoder.truncated, 0)
                one = memoryview(encoder.embed(GOLDEN["texts"][1]))
                self.assertEqual(one.shape, (encoder.width,))
                self.assert_close(encoder.embed(GOLDEN["texts"][1:2]), want[1:2], name)

    def test_scores(self):
        for name in ("bert-rerank", "deberta-v3", "modernbert-labels"):
            with quern.Encoder(DATA / name) as encoder:
                want = expected(name, "scores")
                n = len(GOLDEN["texts"])
                self.assertEqual(len(encoder.labels), len(want[0]))
                self.assert_close(encoder.classify(GOLDEN["texts"]), want[:n], name)
                self.assert_close(encoder.score_pairs(GOLDEN["pairs"]), want[n:], name)
                self.assertEqual(memoryview(encoder.classify("mill")).shape, (len(encoder.labels),))

    def test_documents_are_ranked(self):
        pairs, scores = GOLDEN["pairs"], expected("bert-rerank", "scores")[len(GOLDEN["texts"]) :]
        query = pairs[0][0]
        same = [i for i, pair in enumerate(pairs) if pair[0] == query]
        documents = [pairs[i][1] for i in same]
        with quern.Encoder(DATA / "bert-rerank") as encoder:
            ranked = encoder.rerank(query, documents)
            wanted = sorted(range(len(same)), key=lambda i: -scores[same[i]][0])
            self.assertEqual([r.number for r in ranked], wanted)
            self.assertAlmostEqual(ranked[0].score, scores[same[wanted[0]]][0], places=4)
            self.assertEqual([r.text for r in ranked], [documents[i] for i in wanted])
            many = encoder.rerank("mill", [f"the mill number {i}" for i in range(30)], k=3)
            self.assertEqual(len(many), 3)
            self.assertGreaterEqual(many[0].score, many[1].score)
            self.assertEqual(encoder.rerank("mill", []), [])
        with quern.Encoder(DATA / "bert-mean") as encoder:
            texts = GOLDEN["texts"][:5]
            ranked = encoder.rerank(texts[2], texts)
            self.assertEqual(ranked[0].number, 2)  # the cosine with itself
            self.assertAlmostEqual(ranked[0].score, 1, places=4)

    def test_more_texts_than_a_call_takes(self):
        with quern.Encoder(DATA / "bert-mean", format="q8") as encoder:
            texts = [f"the mill number {i % 7}" for i in range(2100)]
            rows = memoryview(encoder.embed(texts))
            self.assertEqual(rows.shape, (2100, encoder.width))
            for k in range(encoder.width):
                self.assertAlmostEqual(rows[2093, k], rows[0, k], places=4)

    def test_an_index_with_an_encoder(self):
        notes = [("mill", "The mill stands still on Sundays."), ("sea", "Waves break on the long beach.")]
        with quern.Index(self.folder / "index", encoder=DATA / "bert-mean") as index:
            self.assertEqual(index.add(notes), 2)
            self.assertEqual(index.search("When does the mill stand still?", k=1)[0].path, "mill")
        with self.assertRaises(quern.Error):
            quern.Index(self.folder / "index", encoder=DATA / "modernbert-cls")
        with self.assertRaises(quern.Error):
            quern.Index(self.folder / "other", encoder=self.folder)

    def test_what_is_refused(self):
        with self.assertRaisesRegex(quern.Error, "no folder of an encoder"):
            quern.Encoder(self.folder)
        with self.assertRaises(quern.Error):
            quern.Encoder(DATA / "bert-mean", format="q5")
        with quern.Encoder(DATA / "bert-mean") as encoder:
            with self.assertRaisesRegex(quern.Error, "no head"):
                encoder.classify("mill")
            with self.assertRaisesRegex(quern.Error, "plain, query or document"):
                encoder.embed("mill", role="querry")
            with self.assertRaises(TypeError):
                encoder.embed(["mill", 5])
            with self.assertRaises(TypeError):
                encoder.score_pairs(["ab"])
            self.assertEqual(memoryview(encoder.embed("a\0b")).shape, (encoder.width,))
        with self.assertRaisesRegex(quern.Error, "closed"):
            encoder.embed("mill")
