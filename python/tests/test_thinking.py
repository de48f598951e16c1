"""Thinking: on and off, with a budget, and by plans of test-time compute; and streams in asyncio."""

import asyncio
import gc
import time
import unittest
import unittest.mock

import quern
from support import MODEL, QUESTION, model


class Thinks(unittest.TestCase):
    def test_a_plan_votes(self):
        reply = model().chat(QUESTION, think="vote:4", temperature=0.7, seed=3)
        self.assertIn("396", reply.content)
        self.assertTrue(0.25 <= reply.agreement <= 1)
        self.assertIn("396", reply.reasoning)
        self.assertIsNone(model().chat(QUESTION).agreement)
        with model().session() as chat, model().session() as plain:  # the chat goes on as from any reply
            self.assertEqual(chat.reply(QUESTION, think="vote:2").text, plain.reply(QUESTION).text)
            self.assertEqual(chat.messages, plain.messages)
            self.assertEqual(chat.reply("What is 30 + 12?").text, plain.reply("What is 30 + 12?").text)

    def test_a_budget_closes_the_thinking(self):
        free = model().chat(QUESTION)
        short = model().chat(QUESTION, think=3)
        self.assertLess(len(model().tokenize(short.reasoning)), len(model().tokenize(free.reasoning)))
        self.assertEqual(model().chat(QUESTION, thinking_budget=3).text, short.text)
        self.assertEqual(model().chat(QUESTION, think=True).text, free.text)

    def test_what_is_refused(self):
        refused = {"vote:0": "vote", "voting": "voting"}
        for plan, message in refused.items():
            with self.assertRaisesRegex(quern.Error, message):
                model().chat(QUESTION, think=plan)
        with self.assertRaisesRegex(quern.Error, "cannot be streamed"):
            model().chat(QUESTION, think="vote:2", stream=True)
        with self.assertRaisesRegex(quern.Error, "constraint"):
            model().chat(QUESTION, think="vote:2", regex="a")
        with self.assertRaises(quern.Error):
            model().chat(QUESTION, think=-1)
        with self.assertRaises(TypeError):
            model().chat(QUESTION, think=1.5)


class Async(unittest.TestCase):
    def test_pieces_come_to_a_coroutine(self):
        async def pieces():
            return [piece async for piece in model().generate("Once upon a time", max_tokens=12, stream=True)]

        self.assertEqual("".join(asyncio.run(pieces())), model().generate("Once upon a time", max_tokens=12).text)

    def test_several_at_once(self):
        questions = [f"What is {n} * 12?" for n in range(2, 6)]
        alone = [str(model().chat(q)) for q in questions]

        async def ask():
            return await asyncio.gather(*(whole(q) for q in questions))

        async def whole(question):
            return str(await model().chat(question, stream=True))

        self.assertEqual(asyncio.run(ask()), alone)

    def test_the_loop_goes_on_meanwhile(self):
        async def ticks():
            count = 0
            task = asyncio.ensure_future(finished())
            while not task.done():
                count += 1
                await asyncio.sleep(0)
            return count, (await task).tokens

        async def finished():
            return await model().generate("Once", max_tokens=60, ignore_eos=True, stream=True)

        count, tokens = asyncio.run(ticks())
        self.assertEqual(len(tokens), 60)
        self.assertGreater(count, 10)

    def test_it_can_be_left(self):
        async def left():
            async with model().generate("Once", max_tokens=500, ignore_eos=True, stream=True) as stream:
                async for piece in stream:
                    return stream, piece

        stream, piece = asyncio.run(left())
        self.assertEqual(stream.result.finish, "cancelled")
        self.assertTrue(stream.result.text.startswith(piece))

    def test_a_task_is_cancelled_while_it_waits_for_a_piece(self):
        """The thread that waits goes on, beside the one that closes the stream: they must not end it twice."""
        step = quern.Session._step

        def slow(session, pieces, chat):
            time.sleep(0.02 if pieces is not None else 0.06)  # the waiting thread sees the cancellation first
            return step(session, pieces, chat)

        async def pieces(came):
            async with model().generate("Once", max_tokens=500, ignore_eos=True, stream=True) as stream:
                async for _ in stream:
                    came.set()

        async def cancelled():
            said = []
            asyncio.get_running_loop().set_exception_handler(lambda loop, what: said.append(what))
            for _ in range(5):
                came = asyncio.Event()
                task = asyncio.ensure_future(pieces(came))
                await came.wait()
                task.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await task
            gc.collect()  # an exception that nobody fetched is reported then
            await asyncio.sleep(0)
            return said

        with unittest.mock.patch.object(quern.Session, "_step", slow):
            self.assertEqual(asyncio.run(cancelled()), [])

    def test_a_cancelled_task_ends_the_generation(self):
        with quern.Model(MODEL) as own:

            async def cancelled():
                stream = own.generate("Once", max_tokens=3000, ignore_eos=True, stream=True)
                with self.assertRaises(asyncio.TimeoutError):
                    await asyncio.wait_for(stream, 0.2)
                return stream

            stream = asyncio.run(cancelled())
            self.assertEqual(stream.result.finish, "cancelled")
            self.assertLess(len(stream.result.tokens), 3000)
