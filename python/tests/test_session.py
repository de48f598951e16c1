"""Sessions: what they keep, and what several threads, an interrupt and a fork do to them."""

import gc
import threading
import time
import unittest

import quern
from support import MODEL, QUESTION, Scratch, child, model


class Keeps(Scratch):
    def test_only_what_is_new_is_read(self):
        with quern.Model(MODEL) as fresh, fresh.session() as session:
            session.append("Once upon a time there was a mill. " * 4)
            n = len(session)
            self.assertEqual(session.prefill(), n)
            self.assertEqual(session.prefill(), 0)
            made = session.generate(" And", max_tokens=4)
            self.assertGreaterEqual(made.cached_tokens, n - 1)
            self.assertEqual(len(session), n + 1 + 4)
            self.assertEqual(session.tokens[-4:], made.tokens)

    def test_a_conversation(self):
        with model().session() as session:
            session.add("user", QUESTION)
            first = session.reply()
            second = session.reply("What is 3 + 4?")
            self.assertEqual([m["role"] for m in session.messages], ["user", "assistant"] * 2)
            self.assertEqual(session.messages[1]["content"], first.text)
            self.assertGreater(second.cached_tokens, 0)
            session.save(self.folder / "saved")
            with model().session() as again:
                again.load(self.folder / "saved")
                self.assertEqual(again.messages, session.messages)
                self.assertEqual(again.tokens, session.tokens)
            session.reset()
            self.assertEqual((len(session), session.messages), (0, []))

    def test_a_fork_goes_on_alone(self):
        with model().session() as session:
            session.append("Once upon a time")
            with session.fork() as fork:
                self.assertEqual(fork.tokens, session.tokens)
                fork.append(" there")
                self.assertGreater(len(fork), len(session))
                self.assertEqual(fork.generate(max_tokens=3).finish, "length")

    def test_logits_are_the_model_s(self):
        ids = model().tokenize("Once upon a time", add_special=True)
        with model().session() as session:
            session.append(ids)
            ours = memoryview(session.logits()).tolist()
        theirs = memoryview(model().logits(ids)).tolist()[-1]
        self.assertEqual(ours.index(max(ours)), theirs.index(max(theirs)))

    def test_what_is_refused(self):
        with model().session() as session:
            for call in (session.prefill, session.logits, session.generate, session.reply):
                with self.assertRaises(quern.Error):
                    call()
            with self.assertRaises(quern.Error):
                session.load(self.folder / "nosuch")
            session.append("Once")
            stream = session.stream(max_tokens=50)
            next(stream)
            for call in (lambda: session.append("x"), session.prefill, session.generate):
                with self.assertRaisesRegex(quern.Error, "is generating"):
                    call()
            stream.close()
            self.assertEqual(session.generate(max_tokens=2).finish, "length")


class Threads(unittest.TestCase):
    def test_calls_at_once(self):
        prompts = [f"There were {n} mills" for n in range(8)]
        exact = quern.Model(model().path, exact=True)
        self.addCleanup(exact.close)
        alone = [exact.generate(p, max_tokens=10).text for p in prompts]
        together, errors = [None] * 8, []

        def work(i):
            try:
                for _ in range(3):
                    together[i] = exact.generate(prompts[i], max_tokens=10).text
                    exact.embed(prompts[i])
                    exact.tokenize(prompts[i])
            except Exception as e:
                errors.append(e)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(errors, [])
        self.assertEqual(together, alone)

    def test_other_threads_run_meanwhile(self):
        """A call of the library releases the GIL: in the middle half of a long one, this thread is not stopped."""
        times, began_ended = [], []

        def work():
            began_ended.append(time.perf_counter())
            model().score("word " * 2000)
            began_ended.append(time.perf_counter())

        thread = threading.Thread(target=work)
        thread.start()
        while thread.is_alive():
            times.append(time.perf_counter())
        began, ended = began_ended
        quarter = (ended - began) / 4
        self.assertTrue(any(began + quarter < t < ended - quarter for t in times))

    def test_cancel_from_another_thread(self):
        with model().session() as session:
            session.append("Once")
            stream = session.stream(max_tokens=3000, ignore_eos=True)
            next(stream)
            threading.Timer(0.05, session.cancel).start()
            self.assertEqual(stream.result.finish, "cancelled")

    def test_a_stream_that_is_dropped_is_not_computed_on(self):
        with model().session() as other:
            other.append("Once")
            dropped = model().generate("There was", max_tokens=3000, ignore_eos=True, stream=True)
            next(dropped)
            del dropped
            gc.collect()
            self.assertEqual(len(model()._left), 1)
            other.generate(max_tokens=2)
            self.assertEqual(model()._left, [])

    def test_closing_while_another_thread_generates(self):
        short = quern.Model(MODEL)
        said = []

        def work():
            try:
                short.generate("Once", max_tokens=3000, ignore_eos=True)
            except quern.Error as e:
                said.append(str(e))

        thread = threading.Thread(target=work)
        thread.start()
        threading.Event().wait(0.1)
        short.close()
        thread.join()
        self.assertEqual(len(said), 1)
        self.assertIn("is closed", said[0])


class Processes(unittest.TestCase):
    def test_an_interrupt_ends_a_generation(self):
        code = f"""
import os, signal, threading, quern
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
model = quern.Model({MODEL!r})
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    for _ in range(1000):
        model.generate("Once", max_tokens=3000, ignore_eos=True)
except KeyboardInterrupt:
    print("interrupted", len(model.generate("Once", max_tokens=3).tokens))
"""
        self.assertEqual(child(code), ("interrupted 3\n", 0))

    def test_a_forked_process_goes_on(self):
        code = f"""
import os, quern, warnings
warnings.simplefilter("ignore")
quern.set_threads(2)
model = quern.Model({MODEL!r})
before = model.chat({QUESTION!r})
child = os.fork()
if child == 0:
    same = str(model.chat({QUESTION!r})) == str(before)
    same = same and str(quern.Model({MODEL!r}).chat({QUESTION!r})) == str(before)
    os._exit(0 if same else 1)
print(os.waitpid(child, 0)[1], model.chat({QUESTION!r}))
"""
        self.assertEqual(child(code), ("0 Answer: 396\n", 0))

    def test_a_fork_in_the_middle_of_a_step(self):
        code = f"""
import os, quern, threading, time, warnings
warnings.simplefilter("ignore")
model = quern.Model({MODEL!r})
thread = threading.Thread(target=lambda: [model.score("word " * 800) for _ in range(20)], daemon=True)
thread.start()
while not model._lock.locked():
    time.sleep(0.01)
child = os.fork()
if child == 0:
    try:
        model.chat("Hello")
    except quern.Error as e:
        print(e, flush=True)
    print(quern.Model({MODEL!r}).chat({QUESTION!r}), flush=True)
    os._exit(0)
os._exit(os.waitpid(child, 0)[1])
"""
        said, status = child(code)
        self.assertEqual((said.splitlines()[-1:], status), (["Answer: 396"], 0))
        self.assertIn("closed", said)

    def test_without_numpy(self):
        code = f"""
import sys
sys.modules["numpy"] = None
import quern
with quern.Model({MODEL!r}) as model:
    rows = model.logits([5, 6])
    print(type(rows).__name__, rows.shape[0], len(model.embed("a")), len(model.score([5, 6, 7])))
"""
        self.assertEqual(child(code), ("memoryview 2 256 2\n", 0))

    def test_numpy_sees_the_same_memory(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("NumPy is not installed")
        rows = model().logits([5, 6])
        self.assertIsInstance(rows, numpy.ndarray)
        self.assertEqual((rows.shape, rows.dtype), ((2, model().vocab_size), numpy.float32))
        self.assertIsNotNone(rows.base)
