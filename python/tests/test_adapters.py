"""Fine-tuning, and LoRA adapters that calls choose."""

import functools
import tempfile
import unittest
from pathlib import Path

import quern
from support import MODEL, Scratch, model

SUMS = [(2 + i * 7 % 40, 3 + i * 13 % 50) for i in range(80)]
ROWS = [{"prompt": f"What is {a} + {b}?", "completion": f"Together that makes {a + b}."} for a, b in SUMS]
ASKED = "What is 4 + 9?"


@functools.lru_cache(maxsize=None)
def trained():
    """The folder of an adapter that answers in a sentence of its own, and what the run said."""
    folder = tempfile.TemporaryDirectory()
    trained.folder = folder  # until the process ends
    out = Path(folder.name) / "adapter"
    with quern.finetune(MODEL, ROWS, out=out, steps=40, batch_size=4, evaluations=2, samples=0) as run:
        lines = list(run)
        return out, lines, run.result


class Finetunes(Scratch):
    def test_metrics_come_while_it_runs(self):
        out, lines, result = trained()
        self.assertEqual([line["step"] for line in lines if "loss" in line], list(range(1, 41)))
        held_out = [line["eval_loss"] for line in lines if "eval_loss" in line]
        self.assertAlmostEqual(held_out[0], result["loss_before"], places=6)
        self.assertAlmostEqual(min(held_out), result["loss"], places=6)
        self.assertLess(result["loss"], result["loss_before"])
        self.assertEqual(result["adapter"], str(out))

    def test_a_run_is_ended_and_resumed(self):
        files = [self.write("a.jsonl", "".join(__import__("json").dumps(r) + "\n" for r in ROWS))]
        options = {"steps": 30, "batch_size": 2, "samples": 0, "evaluations": 1}
        with quern.finetune(MODEL, files, out=self.folder / "mine", **options) as run:
            for line in run:
                if line.get("step") == 2 and "loss" in line:
                    break
        with quern.finetune(MODEL, files, out=self.folder / "mine", resume=True, **options) as run:
            steps = [line["step"] for line in run if "loss" in line]
        self.assertTrue(2 < steps[0] <= steps[-1] == 30, steps)

    def test_what_is_refused(self):
        with quern.finetune(MODEL, [{"nothing": 1}], out=self.folder / "a") as run:
            with self.assertRaises(quern.Error):
                list(run)
        with quern.finetune(MODEL, self.folder / "nosuch.jsonl", out=self.folder / "b") as run:
            with self.assertRaisesRegex(quern.Error, "nosuch"):
                run.result
        with self.assertRaises(TypeError):
            quern.finetune(MODEL, [5], out=self.folder / "c")


class Adapters(unittest.TestCase):
    def test_calls_choose_one(self):
        folder, _, _ = trained()
        plain = model().chat(ASKED, max_tokens=40)
        self.assertNotIn("Together", plain.text)
        with_one = model().chat(ASKED, max_tokens=40, lora=folder)
        self.assertIn("Together that makes", with_one.text)
        with quern.Model(MODEL, adapter=folder) as merged:
            self.assertEqual(merged.chat(ASKED, max_tokens=40).text[:19], with_one.text[:19])
            with self.assertRaisesRegex(quern.Error, "an adapter of its own"):
                merged.adapter(folder)
        self.assertEqual(model().chat(ASKED, max_tokens=40).text, plain.text)
        self.assertEqual(model().chat(ASKED, max_tokens=40, lora={str(folder): 0}).text, plain.text)
        adapter = model().adapter(folder)
        self.assertEqual(model().chat(ASKED, max_tokens=40, lora=[adapter]).text, with_one.text)
        # In one batch, each row its own.
        streams = [model().chat(ASKED, stream=True, max_tokens=40, lora=lora) for lora in (None, adapter, None)]
        self.assertEqual([s.result.text for s in streams], [plain.text, with_one.text, plain.text])
        # A session keeps what was read under the adapter apart.
        with model().session() as chat:
            self.assertIn("Together", chat.reply(ASKED, max_tokens=40, lora=adapter).text)
            again = chat.reply(ASKED, max_tokens=40, lora=adapter)
            self.assertGreater(again.cached_tokens, 0)
        adapter.close()
        with self.assertRaisesRegex(quern.Error, "adapter is closed"):
            model().chat(ASKED, lora=adapter)

    def test_what_is_refused(self):
        folder, _, _ = trained()
        with self.assertRaises(quern.Error):
            model().chat(ASKED, lora=folder / "nosuch")
        with self.assertRaises(TypeError):
            model().chat(ASKED, lora=5)
        with quern.Model(MODEL) as other:
            adapter = other.adapter(folder)
            with self.assertRaisesRegex(quern.Error, "another model"):
                model().chat(ASKED, lora=adapter)
            with self.assertRaises(quern.Error):
                model().chat(ASKED, lora={adapter: float("nan")})
        self.assertTrue(adapter.closed)  # with its model
