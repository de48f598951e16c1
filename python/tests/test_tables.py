"""Tables over the Arrow C data interface, against the libraries that read and write them; what needs none runs without."""

import importlib.util
import json
import threading
import unittest

import quern
from quern import corpus
from support import Scratch, child, model

TEXTS = ["The mill stands still on Sundays.", "Waves break on the long beach.", "", "Rye ripens in July. Ähren nicken."]


def needs(*names):
    missing = [n for n in names if importlib.util.find_spec(n) is None]
    return unittest.skipIf(missing, f"not installed: {', '.join(missing)}")


class Files(Scratch):
    def setUp(self):
        super().setUp()
        self.rows = [{"text": text, "n": i, "x": i / 2, "ok": i % 2 == 0} for i, text in enumerate(TEXTS) if text]
        self.path = self.write("docs.jsonl", "".join(json.dumps(r) + "\n" for r in self.rows))
        self.table = corpus.table(f"notes={self.path}", columns=["text", "source", "n:integer", "x:number", "ok:truth"])
        self.wanted = [{**r, "source": "notes"} for r in self.rows]


class GoesOut(Files):
    @needs("pyarrow")
    def test_to_pyarrow(self):
        import pyarrow as pa

        for _ in range(2):  # read anew whenever it is asked for
            table = pa.table(self.table)
            table.validate(full=True)
            self.assertEqual(table.schema.names, ["text", "source", "n", "x", "ok"])
            self.assertEqual([str(t) for t in table.schema.types], ["string", "string", "int64", "double", "bool"])
            self.assertEqual(table.to_pylist(), self.wanted)
        batches = [pa.record_batch(b) for b in self.table]
        self.assertEqual([r for b in batches for r in b.to_pylist()], self.wanted)
        with self.assertRaisesRegex(quern.Error, "taken already"):
            batch = next(iter(self.table))
            pa.record_batch(batch)
            pa.record_batch(batch)

    @needs("pyarrow")
    def test_many_batches(self):
        import pyarrow as pa

        texts = [f"Row {i}: " + "ä" * (i % 500) for i in range(30_000)]
        path = self.write("many.jsonl", "".join(json.dumps({"text": t}) + "\n" for t in texts))
        reader = pa.RecordBatchReader.from_stream(corpus.table(path, columns=["text"]))
        sizes, found = [], []
        for batch in reader:
            batch.validate(full=True)
            sizes.append(batch.num_rows)
            found += batch.column(0).to_pylist()
        self.assertGreater(len(sizes), 1)
        self.assertEqual(found, texts)

    @needs("polars")
    def test_to_polars(self):
        import polars

        self.assertEqual(polars.DataFrame(self.table).select("text", "n", "x", "ok", "source").to_dicts(), self.wanted)

    @needs("duckdb")
    def test_to_duckdb(self):
        import duckdb

        docs = self.table  # noqa: F841: named in the query
        self.assertEqual(duckdb.sql("select sum(n), max(x), count(*) from docs").fetchall(), [(4, 1.5, 3)])

    @needs("pandas", "pyarrow")
    def test_to_pandas(self):
        import pandas
        import pyarrow as pa

        make = getattr(pandas.DataFrame, "from_arrow", None) or (lambda t: pa.table(t).to_pandas())
        self.assertEqual(make(self.table).to_dict("records"), self.wanted)

    @needs("pyarrow")
    def test_errors_reach_the_reader(self):
        import pyarrow as pa

        bad = self.write("bad.jsonl", '{"text": "one"}\n{"text": \n')
        with self.assertRaisesRegex(Exception, "bad.jsonl"):
            pa.table(corpus.table(bad, on_bad="stop"))
        with self.assertRaisesRegex(quern.Error, "bad.jsonl"):
            list(corpus.table(bad, on_bad="stop"))
        with self.assertRaisesRegex(quern.Error, "did you mean 'text'"):
            pa.table(corpus.table(bad, columns=["txet"]))
        with self.assertRaises(quern.Error):
            pa.table(corpus.table(self.folder / "nosuch.jsonl"))
        with self.assertRaises(ValueError):
            corpus.table()

    def test_what_nobody_takes_is_freed(self):
        code = f"""
import resource
from quern import corpus
table = corpus.table({str(self.path)!r})
def use():
    for batch in table:
        batch.__arrow_c_array__()
    for batch in table:
        break
    table.__arrow_c_stream__()
for _ in range(200):
    use()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for _ in range(3000):
    use()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 4096)
def fails():
    capsule = table.__arrow_c_stream__()
    raise KeyError("the capsule ends while this is on its way")
try:
    fails()
except KeyError as e:
    print(e.args[0])
kept = table.__arrow_c_stream__()  # until the interpreter ends
"""
        self.assertEqual(child(code), ("True\nthe capsule ends while this is on its way\n", 0))


def tables(texts, **columns):
    """The same table by every library that is here."""
    if importlib.util.find_spec("pyarrow"):
        import pyarrow as pa

        plain = pa.table({"text": texts, **columns})
        yield "pyarrow", plain
        yield "chunks", pa.concat_tables([plain.slice(0, 1), plain.slice(1)])
        yield "batches", pa.RecordBatchReader.from_batches(plain.schema, plain.to_batches())
        yield "dictionary", pa.table({"text": pa.array(texts).dictionary_encode(), **columns})
        yield "large", pa.table({"text": pa.array(texts, pa.large_string()), **columns})
        yield "views", pa.table({"text": pa.array(texts, pa.string_view()), **columns})
        yield "record batch", plain.combine_chunks().to_batches()[0]
    if importlib.util.find_spec("polars"):
        import polars

        yield "polars", polars.DataFrame({"text": texts, **columns})
    if importlib.util.find_spec("duckdb") and importlib.util.find_spec("pyarrow"):
        import duckdb

        given = pa.table({"text": texts, **columns})  # noqa: F841
        yield "duckdb", duckdb.sql("select * from given")
    if importlib.util.find_spec("pandas") and importlib.util.find_spec("pyarrow"):
        import pandas

        yield "pandas", pandas.DataFrame({"text": texts, **columns})


class Column:
    """What has __arrow_c_array__ alone."""

    def __init__(self, array):
        self.array = array

    def __arrow_c_array__(self, requested_schema=None):
        return self.array.__arrow_c_array__(requested_schema)


class ComesIn(Scratch):
    def test_a_table_of_our_own(self):
        lines = "".join(json.dumps({"text": t * 20}) + "\n" for t in [TEXTS[0], TEXTS[1], TEXTS[0]])
        table = corpus.table(self.write("docs.jsonl", lines))
        self.assertEqual(memoryview(corpus.exact(table).rows).tolist(), [0, 1])
        with quern.Index(self.folder / "index") as index:
            self.assertEqual(index.add(table, name="text"), 3)

    def test_stages_say_which_rows_stay(self):
        texts = [t * 20 for t in [TEXTS[0], TEXTS[1], TEXTS[0], TEXTS[3], TEXTS[1]]]
        for name, table in tables(texts, n=[10, 11, 12, 13, 14]):
            with self.subTest(name):
                kept = corpus.dedup(table)
                self.assertEqual(memoryview(kept.rows).tolist(), [0, 1, 3])
                self.assertEqual((len(kept), kept.manifest["kept"]), (3, 3))

    @needs("pyarrow", "polars", "numpy")
    def test_rows_choose_from_the_table(self):
        import polars
        import pyarrow as pa

        texts = [t * 20 for t in [TEXTS[0], TEXTS[0], TEXTS[3]]]
        table = pa.table({"body": texts, "n": [10, 11, 12]})
        kept = corpus.exact(table, column="body")
        self.assertEqual(table.take(kept.rows)["n"].to_pylist(), [10, 12])
        self.assertEqual(pa.table(kept).to_pydict(), {"row": [0, 2], "text": [texts[0], texts[2]]})
        frame = polars.from_arrow(table)
        self.assertEqual(frame[kept.rows]["n"].to_list(), [10, 12])
        nothing = corpus.filter(pa.table({"text": ["x", "y"]}), filter="gopher-quality")
        self.assertEqual(len(nothing), 0)
        self.assertEqual(pa.table(nothing).to_pydict(), {"row": [], "text": []})

    @needs("pyarrow")
    def test_verdicts_of_filters(self):
        import pyarrow as pa

        texts = ["{ a line of code }", "Write to ada@example.org. " * 9, None] * 50
        table = pa.concat_tables([pa.table({"text": texts[:70]}), pa.table({"text": texts[70:]})])
        said = pa.table(corpus.annotate(table, "c4+pii"))
        said.validate(full=True)
        self.assertEqual([str(t) for t in said.schema.types], ["bool", "list<item: string>", "string"])
        self.assertEqual(said.num_rows, 150)
        self.assertEqual([c.length() if hasattr(c, "length") else len(c) for c in said["keep"].chunks], [70, 80])
        rows = said.to_pylist()
        for row in rows:
            self.assertEqual(row["keep"], not row["failing"])
        self.assertFalse(rows[0]["keep"])
        self.assertNotIn("ada@", rows[1]["text"])
        kept = corpus.filter(table, filter="c4+pii")
        self.assertEqual(memoryview(kept.rows).tolist(), [i for i, row in enumerate(rows) if row["keep"] and texts[i]])
        with self.assertRaisesRegex(quern.Error, "did you mean 'c4'"):
            pa.table(corpus.annotate(table, "c5"))

    @needs("pyarrow")
    def test_columns_and_arrays(self):
        import pyarrow as pa

        texts = ["one", "two", None]
        wanted = memoryview(model().embed("one")).tolist()
        for column in (pa.array(texts[:2]), pa.chunked_array([texts[:1], texts[1:2]]), Column(pa.array(texts[:2]))):
            rows = memoryview(model().embed(column))
            self.assertEqual(rows.shape[0], 2)
            for got, want in zip(rows.tolist()[0], wanted):
                self.assertAlmostEqual(got, want, places=5)
        table = pa.table({"a": ["one"], "b": ["two"]})
        self.assertEqual(memoryview(model().embed(table, column="a")).shape[0], 1)
        with self.assertRaisesRegex(quern.Error, "whose columns are a, b"):
            model().embed(table)

    @needs("pyarrow")
    def test_what_is_refused(self):
        import pyarrow as pa

        for column, message in (
            (pa.array([1.5]), "holds no text"),
            (pa.array([["a"]]), "holds no text"),
            (pa.array([b"a"]), "holds no text"),
        ):
            with self.assertRaisesRegex(quern.Error, message):
                corpus.exact(pa.table({"text": column}))
        with self.assertRaisesRegex(quern.Error, "did you mean 'text'"):
            corpus.exact(pa.table({"text": ["a"], "b": ["c"]}), column="txt")
        with self.assertRaisesRegex(ValueError, "no rows"):
            corpus.exact(pa.table({"text": pa.array([], pa.string())}))
        with self.assertRaisesRegex(TypeError, "out: missing"):
            corpus.exact(["a.jsonl"])
        with self.assertRaisesRegex(TypeError, "column"):
            corpus.exact([{"text": "a"}], out=self.folder / "out", column="text")
        with self.assertRaisesRegex(TypeError, "__arrow_c_stream__"):
            corpus.annotate([{"text": "a"}], "c4")

        def fails():
            yield pa.record_batch({"text": ["a"]})
            raise ValueError("the source broke")

        broken = pa.RecordBatchReader.from_batches(pa.schema([("text", pa.string())]), fails())
        with self.assertRaisesRegex(quern.Error, "the source broke"):
            corpus.exact(broken)

    def test_an_index_takes_tables_and_pairs(self):
        names = ["mill", "sea", "nothing", "rye"]
        for kind, table in [*tables(TEXTS, name=names), ("pairs", list(zip(names, TEXTS)))]:
            with self.subTest(kind), quern.Index(self.folder / kind) as index:
                self.assertEqual(index.add(table), 4)
                self.assertEqual(index.search("When does the mill stand still?", k=1)[0].path, "mill")
                self.assertEqual(index.delete("mill"), 1)
                self.assertEqual(index.search("mill"), [])
                with self.assertRaisesRegex(quern.Error, "nosuch"):
                    index.delete("sea", "nosuch")
        with quern.Index(self.folder / "numbers") as index:
            self.assertEqual(index.add([("1", "Rye")]), 1)
            with self.assertRaises(TypeError):
                index.add([("1", 5)])
            with self.assertRaisesRegex(quern.Error, "empty name"):
                index.add([("", "Rye")])
            self.assertEqual(index.add([]), 0)

    @needs("pyarrow")
    def test_numbers_name_texts(self):
        import pyarrow as pa

        with quern.Index(self.folder / "index") as index:
            self.assertEqual(index.add(pa.table({"id": [7, 8], "body": ["Rye", "Oats"]}), name="id", text="body"), 2)
            self.assertEqual(index.search("oats")[0].path, "8")


class AtOnce(Files):
    @needs("pyarrow")
    def test_threads_read_one_table(self):
        import pyarrow as pa

        found = [None] * 8

        def work(i):
            found[i] = [pa.table(self.table).num_rows for _ in range(20)]

        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(found, [[3] * 20] * 8)
