"""Search, memory, corpora, training, environments and the sandbox."""

import datetime
import gzip
import json
import tempfile
import unittest
from pathlib import Path

import quern
from quern import _command, corpus, gym, sandbox
from support import MODEL, Scratch, child

TEXTS = ["The mill stands still on Sundays.", "Waves break on the long beach.", "Rye ripens in July."]


class Search(Scratch):
    def test_a_question_finds_its_text(self):
        with quern.Index(self.folder / "index") as index:
            for i, text in enumerate(TEXTS):
                index.put(f"note-{i}", text)
            found = index.search("When does the mill stand still?", k=1)
            self.assertEqual([(c.path, c.text) for c in found], [("note-0", TEXTS[0])])
            self.assertEqual((found[0].begin, found[0].end), (0, len(TEXTS[0])))
            with self.assertRaisesRegex(quern.Error, "k 0"):
                index.search("mill", k=0)
            for wrong in (["ab"], [5], [("name",)], {"name": "text"}):
                with self.assertRaisesRegex(TypeError, "pairs"):
                    index.add(wrong)
            with self.assertRaisesRegex(quern.Error, "has no name"):
                index.put("", "A text.")
            with self.assertRaisesRegex(ValueError, "64 bits"):
                index.search("mill", k=2**70)
        with self.assertRaisesRegex(quern.Error, "this index is closed"):
            index.search("mill")
        with quern.Index(self.folder / "index") as again:
            self.assertEqual(again.search("mill", k=1)[0].path, "note-0")

    def test_a_folder_is_indexed(self):
        notes = self.folder / "notes"
        notes.mkdir()
        for i, text in enumerate(TEXTS):
            (notes / f"{i}.txt").write_text(text)
        with quern.Index(self.folder / "index") as index:
            self.assertEqual(index.add(notes), 3)
            (notes / "0.txt").unlink()
            self.assertEqual(index.add(notes), 2)
        with self.assertRaises(quern.Error):
            quern.Index(self.write("file", "x"))
        with self.assertRaisesRegex(quern.Error, "holds '.*' and no index"):
            quern.Index(notes)


class Remembers(Scratch):
    def test_turns_by_their_time(self):
        monday = datetime.datetime(2023, 5, 8, 12, tzinfo=datetime.timezone.utc)
        with quern.Memory(self.folder / "talks.db", "kitchen", zone="Europe/Berlin") as memory:
            ada = memory.add("Ada", "The mill is broken.", monday)
            self.assertGreater(memory.add("Ben", "The mill runs again.", monday + datetime.timedelta(days=1)), ada)
            turns = memory.ask("What was said on May 8?", monday + datetime.timedelta(days=3))
            self.assertEqual([(t.number, t.speaker, t.time) for t in turns], [(ada, "Ada", "2023-05-08 14:00:00")])
            memory.add("Ada", "It is now.")
            self.assertEqual(len(memory.ask("What was said today?")), 1)
            self.assertTrue(turns.plan)
            self.assertEqual(turns.notes, [])
            odd = memory.ask("What did Zoe say about the mill?", monday + datetime.timedelta(days=3))
            self.assertIsInstance(odd.notes, list)
            memory.add("Ben", "I live in Ghent now.", "2023-05-10 20:00")  # on the conversation's wall
            memory.add("Ben", "The choir sings on Fridays.", datetime.datetime(2023, 5, 10, 21))
            self.assertEqual([t.time for t in memory.turns()][3:5], ["2023-05-10 20:00:00", "2023-05-10 21:00:00"])
            later = "2023-06-01T12:00:00Z"
            self.assertEqual(memory.ask("Where do I live now?", later, asker="Ben")[0].text, "I live in Ghent now.")
            self.assertIn("who asks was not said", " ".join(memory.ask("Where do I live now?", later).notes))
            for wrong in ("some day", 1_795_751_887_000, -1e12, 1e20, 2**70):
                with self.assertRaises((quern.Error, ValueError)):
                    memory.add("Ben", "No.", wrong)
        with self.assertRaises(quern.Error):
            quern.Memory(self.folder / "other.db", zone="Nowhere/Land")

    def test_turns_are_listed_exported_and_deleted(self):
        said = [f"Turn {i} of the mill" for i in range(2500)]
        with quern.Memory(self.folder / "talks.db", "kitchen", zone="Europe/Berlin") as memory:
            monday = datetime.datetime(2023, 5, 8, 12, tzinfo=datetime.timezone.utc)
            numbers = [memory.add("Ada", text, monday) for text in said]
            turns = list(memory.turns())
            self.assertEqual([(t.number, t.text) for t in turns], list(zip(numbers, said)))
            self.assertEqual((turns[0].time, turns[0].speaker), ("2023-05-08 14:00:00", "Ada"))
            self.assertEqual([t.text for t in memory.turns(numbers[2498])], said[2498:])
            self.assertEqual(memory.delete(turns[0], numbers[5]), 2)
            self.assertEqual(memory.delete(), 0)
            self.assertEqual(memory.export(self.folder / "talks.jsonl"), 2498)
            self.assertEqual([t.text for t in memory.ask("What was said about turn 0?") if t.text == said[0]], [])
        _command.run(["memory", "import", str(self.folder / "talks.jsonl"), "--db", str(self.folder / "again.db")])
        with quern.Memory(self.folder / "again.db") as again:
            left = said[1:5] + said[6:]
            self.assertEqual([t.text for t in again.turns()], left)
            self.assertEqual(next(again.turns()).time, "2023-05-08 14:00:00")


class Corpora(Scratch):
    def rows_file(self, rows):
        path = self.folder / "rows.jsonl.gz"
        path.write_bytes(gzip.compress("".join(json.dumps(r) + "\n" for r in rows).encode()))
        return path

    def test_rows(self):
        rows = [{"text": text, "url": f"http://a/{i}", "n": i} for i, text in enumerate(TEXTS)]
        path = self.rows_file(rows)
        with corpus.rows(f"notes={path}", url_field="url") as found:
            listed = list(found)
        self.assertEqual([r.text for r in listed], TEXTS)
        self.assertEqual([r.json() for r in listed], rows)
        self.assertEqual([(r.source, r.url) for r in listed], [("notes", r["url"]) for r in rows])
        self.assertEqual(list(corpus.rows(path).texts()), TEXTS)

    def test_bad_rows_are_counted(self):
        path = self.write("bad.jsonl", '{"text": "one"}\n{"text": \n{"no": "text"}\n{"text": "two"}\n')
        rows = corpus.rows(path)
        self.assertEqual([r.text for r in rows], ["one", "two"])
        self.assertEqual(rows.skipped, 2)
        with self.assertRaises(quern.Error):
            list(corpus.rows(path, on_bad="stop"))
        with self.assertRaises(quern.Error):
            list(corpus.rows(path, text_field="nosuch"))
        for options in ({"form": "xls"}, {"on_bad": "weep"}):
            with self.assertRaises(quern.Error):
                corpus.rows(path, **options)
        with self.assertRaises(quern.Error):
            corpus.rows(self.folder / "nosuch.jsonl")

    def test_many_rows(self):
        texts = [f"Row {i}: " + "ä" * (i % 500) for i in range(5000)]
        path = self.rows_file([{"text": t} for t in texts])
        self.assertEqual(list(corpus.rows(path).texts()), texts)

    def test_stages_take_rows_and_files(self):
        rows = [{"text": text * 20} for text in TEXTS + TEXTS[:1]]
        manifest = corpus.dedup(rows, out=self.folder / "kept")
        self.assertEqual(manifest["kept"], 3)
        kept = [r.text for r in corpus.rows(self.folder / "kept")]
        self.assertEqual(sorted(kept), sorted(text * 20 for text in TEXTS))
        self.assertEqual(corpus.stats(self.folder / "kept")["all"]["documents"], 3)
        with self.assertRaisesRegex(quern.Error, "threshold"):
            corpus.dedup(rows, out=self.folder / "other", threshold=5)
        with self.assertRaises(TypeError):
            corpus.stats([5])

    def test_a_build_reports_progress(self):
        path = self.rows_file([{"text": text * 20} for text in TEXTS + TEXTS])
        recipe = self.write("corpus.toml", f'[[source]]\nname = "notes"\npaths = ["{path}"]\n')
        seen = []
        kept = corpus.build(recipe, out=self.folder / "built", progress=lambda stage, share: seen.append(share))
        self.assertEqual(kept, 3)
        self.assertTrue(seen and all(0 <= s <= 1 for s in seen))

        def fails(stage, share):
            raise KeyError(stage)

        with self.assertRaises(KeyError):
            corpus.build(recipe, out=self.folder / "again", progress=fails)
        with self.assertRaises(quern.Error):
            corpus.build(self.folder / "nosuch.toml", out=self.folder / "built")


class Trains(Scratch):
    def test_from_text_to_a_model(self):
        rows = [{"text": "The mill by the sea ground salt all night."}, {"text": "Nobody asked it to stop, so it went on."}]
        lines = self.write("docs.jsonl", "".join(json.dumps(r) + "\n" for r in rows))
        small = self.folder / "small"
        _command.run(["new", "--family", "llama", "--size", "tiny", str(small)])
        tokenized = self.write(
            "corpus.toml",
            f'source = [{{ name = "mill", paths = ["{lines}"] }}]\ntokenize = {{ tokenizer = "{small}" }}\n',
        )
        self.assertEqual(corpus.build(tokenized, out=self.folder / "corpus"), 2)
        recipe = self.write(
            "train.toml",
            f"""name = "mill"
dtype = "f32"
model = {{ from = "{small}", fresh = true }}
[[phase]]
steps = 9
sequence_length = 8
batch_size = 1
schedule = {{ peak = 1e-3 }}
data = [{{ path = "{self.folder}/corpus/tokens" }}]
""",
        )
        with quern.train(recipe, out=self.folder / "run", set={"phase.0.steps": 3}) as trainer:
            self.assertEqual((trainer.steps, trainer.finished), (3, 0))
            first = next(iter(trainer))
            self.assertEqual((first["step"], first["lr"] > 0), (1, True))
            self.assertTrue(3 < first["loss"] < 8)
            trainer.checkpoint()
            with self.assertRaisesRegex(quern.Error, "did you mean 'loss'"):
                trainer.metric("losss")
        with quern.train(recipe, out=self.folder / "run", set=["phase.0.steps=3"], resume=True) as trainer:
            self.assertEqual([step["step"] for step in trainer], [2, 3])
            self.assertFalse(trainer.step())
            trainer.export(self.folder / "trained", "f32")
        with quern.Model(self.folder / "trained", format="f32") as trained:
            self.assertEqual(trained.generate("The mill", max_tokens=4).finish, "length")
        with self.assertRaises(quern.Error):
            quern.train(self.folder / "nosuch.toml", out=self.folder / "run")
        with self.assertRaisesRegex(quern.Error, "without rewards"):
            quern.rl(recipe, out=self.folder / "rl")

    def test_learning_from_rewards(self):
        model = self.folder / "model"
        quern.command(["new", str(model), "--family", "zaya", "--size", "tiny"])
        recipe = self.write(
            "rl.toml",
            f"""name = "gym"
[model]
from = "{model}"
[[phase]]
steps = 5
sequence_length = 256
batch_size = 4
schedule = {{ peak = 1e-5 }}
[phase.rl]
environments = ["arithmetic"]
group = 2
max_tokens = 64
""",
        )
        with quern.rl(recipe, out=self.folder / "run", set={"phase.0.steps": 2}) as trainer:
            steps = list(trainer)
            trainer.export(self.folder / "trained")
        self.assertEqual([s["step"] for s in steps], [1, 2])
        for step in steps:
            self.assertTrue(0 <= step["reward"] <= 1)
            self.assertGreater(step["answer_tokens"], 0)
            self.assertNotIn("margin", step)
        self.assertTrue((self.folder / "run" / "rollouts.jsonl").stat().st_size > 0)
        self.assertTrue((self.folder / "trained" / "config.json").exists())


class Environments(unittest.TestCase):
    def test_a_problem_and_its_verdict(self):
        posed = gym.problem("arithmetic", difficulty=0, seed=3)
        self.assertEqual(posed, gym.problem("arithmetic", difficulty=0, seed=3))
        expect = {"verifier": "number", "answer": posed["answer"]}
        self.assertEqual(gym.verify(expect, f"Answer: {posed['answer']}").reward, 1)
        self.assertEqual(gym.verify(expect, "Answer: 1000000").reward, 0)
        with self.assertRaises(quern.Error):
            gym.verify({"verifier": "nosuch"}, "5")
        with self.assertRaisesRegex(quern.Error, "aritmetic"):
            gym.problem("aritmetic")

    def test_samples_and_evaluation(self):
        self.assertIn("arithmetic", [e["name"] for e in gym.environments()])
        samples = gym.sample("arithmetic", count=4, difficulty=0)
        self.assertEqual([s["environment"] for s in samples], ["arithmetic"] * 4)
        report = gym.evaluate(MODEL, "arithmetic", difficulty=0, count=4)
        self.assertEqual(report["all"]["problems"], 4)


class Isolates(unittest.TestCase):
    def test_a_command_and_its_limits(self):
        try:
            done = sandbox.run(["sh", "-c", "cat; echo oops >&2; exit 3"], stdin="hello")
        except quern.Error as e:
            self.skipTest(f"this system does not permit isolation: {e}")
        self.assertEqual((done.ended, done.status, done.stdout, done.stderr), ("exit", 3, "hello", "oops\n"))
        slow = sandbox.run(["sleep", "5"], seconds=0.5)
        self.assertEqual((slow.ended, slow.status), ("time", None))
        with self.assertRaises(TypeError):
            sandbox.run("echo hello")


class Package(unittest.TestCase):
    def test_every_name_is_there(self):
        for name in quern.__all__:
            self.assertIsNotNone(getattr(quern, name), name)
            self.assertIn(name, dir(quern))
        self.assertIs(quern.model.Model, quern.Model)
        with self.assertRaisesRegex(AttributeError, "no attribute 'Modell'"):
            quern.Modell

    def test_modules_are_loaded_when_their_names_are_used(self):
        code = """import quern, sys
for use in ("", "Model", "corpus"):
    if use: getattr(quern, use)
    print(*sorted(m[6:] for m in sys.modules if m.startswith("quern.")))
from quern import *
print(Index.__name__, gym.__name__)"""
        said, status = child(code)
        lines = said.splitlines()
        self.assertEqual(status, 0)
        self.assertEqual(lines[0], "_library")
        self.assertIn("session", lines[1].split())
        self.assertNotIn("search", lines[1].split())
        self.assertIn("corpus", lines[2].split())
        self.assertEqual(lines[3], "Index quern.gym")


class Command(unittest.TestCase):
    def test_it_is_this_version(self):
        self.assertEqual(_command.run(["--version"]).split()[1], quern.__version__)
        said, status = child("import runpy, sys; sys.argv = ['quern', '--version']; runpy.run_module('quern', run_name='__main__')")
        self.assertEqual((said.split()[1], status), (quern.__version__, 0))

    def test_another_library_of_that_name_is_not_taken(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "libquern.so.0").write_bytes(b"no library")
            code = "import quern; print(quern.command(['--version']))"
            said, status = child(code, LD_LIBRARY_PATH=folder)
        self.assertEqual((said.split()[1], status), (quern.__version__, 0))

    def test_an_error_is_what_it_says(self):
        with self.assertRaisesRegex(quern.Error, "unknown verb 'rnu'; did you mean 'run'"):
            _command.run(["rnu"])

    def test_licenses_come_along(self):
        found = sorted(Path(quern.__file__).parent.parent.glob("quern-*.dist-info/licenses/third-party/*"))
        self.assertIn("libpcre2-dev", [p.name for p in found])
        self.assertTrue(all(p.stat().st_size > 100 for p in found))
